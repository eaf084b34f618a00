"""What compilers said, on disk: one JSON file each, the oldest dropped when there are too many."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

from tilewright.devices.package import unchanged, write_atomically
from tilewright.home import home

MAX_REPORTS = 8192
MAX_TEXTS = 512
MAX_TEXT_BYTES = 256_000_000
_PRUNE_EVERY = 64
_MARGIN = 0.9


class ReportCache:
    """Reports by key, below ``$TILEWRIGHT_HOME/compile``; safe for several processes at once.

    A report whose ``depends`` (files and their stamps) names a file that is another one by now is
    not given back: what a module imports from elsewhere is in no key.

    Args:
        max_bytes: bounds all files together.
        prune_every: how many writes lie, on average, between two looks at all the files, whichever
            processes they come from.
    """

    def __init__(
        self,
        folder: Path | None = None,
        limit: int = MAX_REPORTS,
        max_bytes: int | None = None,
        prune_every: int = _PRUNE_EVERY,
    ) -> None:
        self._folder = folder or home() / "compile"
        self._limit = limit
        self._max_bytes = max_bytes
        self._prune_every = prune_every
        # Somewhere in the round: most processes write a few reports and end.
        self._writes = random.randrange(prune_every)

    def get(self, key: str) -> dict[str, Any] | None:
        """The report stored under ``key``; None if there is none, or it cannot be used."""
        try:
            value = json.loads(self._path(key).read_bytes())
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) and _still_holds(value) else None

    def put(self, key: str, report: dict[str, Any]) -> None:
        """Store a report."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(report).encode())
        self._writes += 1
        if self._writes % self._prune_every == 0:
            self._prune()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"

    def _prune(self) -> None:
        """Keep the newest; once a bound is passed, somewhat less than it allows."""
        files = list(_files(self._folder))
        total = sum(size for _, _, size in files)
        most = total + 1 if self._max_bytes is None else self._max_bytes
        if len(files) <= self._limit and total <= most:
            return
        limit, most, total = int(self._limit * _MARGIN), int(most * _MARGIN), 0
        for number, (path, _, size) in enumerate(sorted(files, key=itemgetter(1), reverse=True)):
            total += size
            if number >= limit or total > most:
                Path(path).unlink(missing_ok=True)


def text_cache(folder: Path | None = None) -> ReportCache:
    """Where the stages' texts are kept, which are much larger than reports."""
    return ReportCache(folder or home() / "stages", MAX_TEXTS, MAX_TEXT_BYTES, prune_every=8)


def _still_holds(value: dict[str, Any]) -> bool:
    depends = value.get("depends") or {}
    return isinstance(depends, dict) and unchanged(depends)


def _files(folder: Path) -> Iterator[tuple[str, float, int]]:
    """(path, when it was written, its size) of each report."""
    for part in _entries(folder):
        for entry in _entries(part.path):
            if entry.name.endswith(".json"):
                try:
                    found = entry.stat()
                except OSError:
                    continue
                yield entry.path, found.st_mtime, found.st_size


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []
