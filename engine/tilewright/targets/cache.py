"""Compile reports on disk: one JSON file each, the oldest dropped when there are too many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tilewright.devices.package import write_atomically
from tilewright.home import home

MAX_REPORTS = 8192
_PRUNE_EVERY = 64


class ReportCache:
    """Reports by key, below ``$TILEWRIGHT_HOME/compile``; safe for several processes at once."""

    def __init__(self, folder: Path | None = None, limit: int = MAX_REPORTS) -> None:
        self._folder = folder or home() / "compile"
        self._limit = limit
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
        if self._writes % _PRUNE_EVERY == 1:
            self._prune()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"

    def _prune(self) -> None:
        files = sorted(self._folder.glob("??/*.json"), key=_written)
        for path in files[: max(0, len(files) - self._limit)]:
            path.unlink(missing_ok=True)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
