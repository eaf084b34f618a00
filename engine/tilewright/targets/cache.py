"""What compilers said, on disk: one JSON file each, the oldest dropped when there are too many."""

from __future__ import annotations

import json
from operator import itemgetter
from pathlib import Path
from typing import Any

from tilewright.devices.package import write_atomically
from tilewright.home import home

MAX_REPORTS = 8192
MAX_TEXTS = 512
MAX_TEXT_BYTES = 256_000_000
_PRUNE_EVERY = 64


class ReportCache:
    """Reports by key, below ``$TILEWRIGHT_HOME/compile``; safe for several processes at once.

    ``max_bytes`` bounds all files together.
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
        self._writes = 0

    def get(self, key: str) -> dict[str, Any] | None:
        """The report stored under ``key``; None if there is none, or it cannot be read."""
        try:
            value: dict[str, Any] = json.loads(self._path(key).read_bytes())
        except (OSError, ValueError):
            return None
        return value

    def put(self, key: str, report: dict[str, Any]) -> None:
        """Store a report."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(report).encode())
        self._writes += 1
        if self._writes % self._prune_every == 1 % self._prune_every:
            self._prune()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"

    def _prune(self) -> None:
        """Keep the newest, as far as both bounds allow."""
        files = [(path, *_written(path)) for path in self._folder.glob("??/*.json")]
        total = 0
        for number, (path, _, size) in enumerate(sorted(files, key=itemgetter(1), reverse=True)):
            total += size
            if number >= self._limit or (self._max_bytes is not None and total > self._max_bytes):
                path.unlink(missing_ok=True)


def text_cache(folder: Path | None = None) -> ReportCache:
    """Where the stages' texts are kept, which are much larger than reports."""
    return ReportCache(folder or home() / "stages", MAX_TEXTS, MAX_TEXT_BYTES, prune_every=1)


def _written(path: Path) -> tuple[float, int]:
    try:
        found = path.stat()
    except OSError:
        return 0.0, 0
    return found.st_mtime, found.st_size
