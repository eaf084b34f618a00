"""Ranking of entries by words: BM25 over titles, mechanisms and identifiers."""

import logging
import re
import sqlite3
from collections.abc import Sequence
from functools import cached_property

from tilewright.memory.model import Experience

_LOG = logging.getLogger(__name__)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+")
_MOST = 64
"""Words of a query that are searched for."""


class WordIndex:
    """The words of entries in SQLite's full-text index, in memory.

    The ranks follow from these entries alone, so that a snapshot ranks the same however the bank
    grows meanwhile.
    """

    def __init__(self, entries: Sequence[Experience]) -> None:
        self._entries = entries

    @cached_property
    def _connection(self) -> sqlite3.Connection | None:
        """The index; None, with a warning, where SQLite has no full-text search."""
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            connection.execute(
                "CREATE VIRTUAL TABLE entry USING fts5 (title, mechanism, identifiers)"
            )
        except sqlite3.OperationalError:
            connection.close()
            _LOG.warning("this Python's SQLite has no full-text search: words are not compared")
            return None
        connection.executemany(
            "INSERT INTO entry (rowid, title, mechanism, identifiers) VALUES (?, ?, ?, ?)",
            (
                (number, one.title, f"{one.mechanism} {one.issue or ''}", " ".join(one.identifiers))
                for number, one in enumerate(self._entries, 1)
            ),
        )
        return connection

    def ranks(self, words: Sequence[str]) -> dict[int, float]:
        """By position of an entry, how well the words fit: 1 for the best, above 0 for others."""
        terms = list(dict.fromkeys(w.lower() for one in words for w in _WORD.findall(one)))[:_MOST]
        if not terms or self._connection is None:
            return {}
        rows = self._connection.execute(
            "SELECT rowid, -bm25(entry) FROM entry WHERE entry MATCH ?",
            (" OR ".join(f'"{term}"' for term in terms),),
        ).fetchall()
        best = max((score for _, score in rows), default=0.0)
        return {number - 1: score / best if best > 0 else 0.0 for number, score in rows}
