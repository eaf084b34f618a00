"""Retrieval: which entries fit a query, and why.

An entry has to share the issue, or the bottleneck where no detector finds its issue, or come from
a related problem; words alone never suffice. So a kernel without findings gets nothing.
"""

import logging
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from tilewright.knowledge.base import taxonomy
from tilewright.memory.evidence import LARGEST
from tilewright.memory.model import Experience, Outcome, Query, Recalled, Signature
from tilewright.memory.signature import related

_ISSUE, _BOTTLENECK, _CONDITIONS, _TILES, _TYPES, _CHIP = 3.0, 2.0, 1.5, 0.5, 0.5, 0.5
_LOG = logging.getLogger(__name__)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+")
_MOST = 64
"""Words of a query that are searched for."""


class Retrieval:
    """Ranks the entries of one snapshot.

    Args:
        entries: in the order in which they were learned.
    """

    def __init__(self, entries: Sequence[Experience]) -> None:
        self._entries = tuple(entries)
        self._words = WordIndex(self._entries)

    def recall(self, query: Query, k: int, hidden: frozenset[str] = frozenset()) -> list[Recalled]:
        """The ``k`` best entries of each outcome, one for each key; the helpful ones first.

        Args:
            hidden: ids that are not shown.
        """
        ranks = self._words.ranks(query.words)
        found = [
            (recalled, -number)
            for number, entry in enumerate(self._entries)
            if entry.id not in hidden
            and (recalled := fit(visible(entry, query), query, ranks.get(number, 0.0)))
        ]
        found.sort(key=lambda one: (-one[0].score, one[1]))
        ordered = [recalled for recalled, _ in found]
        return [one for outcome in Outcome for one in _first_of_each_key(ordered, outcome)[:k]]


def _first_of_each_key(found: Sequence[Recalled], outcome: Outcome) -> list[Recalled]:
    best: dict[tuple[str, str | None], Recalled] = {}
    for one in found:
        if one.entry.outcome is outcome:
            best.setdefault((one.entry.key, one.entry.issue), one)
    return list(best.values())


def visible(entry: Experience, query: Query) -> Experience | None:
    """The entry as the asking project may see it; None where it may not.

    Of another project's entry the names of rewrites and the ratios stay. Code, paths, names and
    shapes are removed, and an entry whose title may quote a file is left out.
    """
    if entry.source.project == query.project or entry.shared:
        return entry
    if entry.private:
        return None
    return replace(
        entry,
        bank_id=entry.id,
        diff="",
        identifiers=(),
        signature=replace(entry.signature, extents=()),
        measured=replace(entry.measured, case=""),
        source=replace(entry.source, project="", path="", kernel="", run=""),
    )


def fit(entry: Experience | None, query: Query, words: float) -> Recalled | None:
    """How well an entry fits; None where it does not."""
    if entry is None or not _is_comparable(entry.signature, query.signature):
        return None
    if not _is_admitted(entry, query):
        return None
    held = [query.asks(one) for one in (*entry.when, *entry.avoid) if one.name]
    if False in held:
        return None
    terms = list(_terms(entry, query, held))
    if words > 0:
        terms.append((words, "words of the kernel"))
    effect = entry.measured.ratio if entry.outcome is Outcome.HELPED else 1 / entry.measured.ratio
    score = sum(points for points, _ in terms) * min(effect, LARGEST)
    return Recalled(entry, round(score, 6), tuple(reason for _, reason in terms))


def _is_comparable(one: Signature, other: Signature) -> bool:
    """Whether both are of one language, and of one backend where both are known."""
    same = not one.backend or not other.backend or one.backend == other.backend
    return one.language == other.language and same


def _is_admitted(entry: Experience, query: Query) -> bool:
    if entry.issue is not None and entry.issue in query.issues:
        return True
    if related(entry.signature, query.signature) and entry.issue is None:
        return True
    kind = taxonomy().get(entry.issue or "")
    undetected = kind is not None and not kind.detector
    return undetected and entry.bottleneck is not None and entry.bottleneck == query.bottleneck


def _terms(
    entry: Experience, query: Query, held: Sequence[bool | None]
) -> Iterator[tuple[float, str]]:
    """Points, and the reason for each."""
    mine, other = entry.signature, query.signature
    if entry.issue is not None and entry.issue in query.issues:
        yield _ISSUE, f"the same issue ({entry.issue})"
    if entry.bottleneck is not None and entry.bottleneck == query.bottleneck:
        yield _BOTTLENECK, f"the same bottleneck ({entry.bottleneck})"
    if held and any(held):
        share = sum(one is True for one in held) / len(held)
        yield _CONDITIONS * share, f"{sum(map(bool, held))} of {len(held)} preconditions hold"
    if set(mine.tiles) & set(other.tiles):
        yield _TILES, f"the same kind of tiles ({', '.join(mine.tiles)})"
    if set(mine.dtypes) & set(other.dtypes):
        yield _TYPES, f"the same element types ({', '.join(mine.dtypes)})"
    if mine.chip and mine.chip == other.chip:
        yield _CHIP, f"the same chip ({mine.chip})"


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
