"""What one process recorded, on disk at once: whatever ends the process, nothing is lost.

A record is one line of JSON. How often it came is a counter in a shared mapping, which the system
keeps even of a process that is killed. Each process has files of its own: none waits for another.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import uuid
from pathlib import Path
from typing import Any

MOST_RECORDS = 8192
_COUNTER = struct.Struct("<Q")


class Part:
    """The two files of one process; not for use after a fork."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        base = folder / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._lines = base.with_suffix(".jsonl").open("ab", buffering=0)
        with base.with_suffix(".counts").open("w+b") as file:
            file.truncate(MOST_RECORDS * _COUNTER.size)
            self._counts = mmap.mmap(file.fileno(), 0)
        self._next = 0

    def add(self, record: dict[str, Any]) -> int | None:
        """The counter of a new record; None where there are too many."""
        if self._next == MOST_RECORDS:
            return None
        slot = self._next
        self._next += 1
        self.tell({"slot": slot, **record})
        return slot

    def tell(self, line: dict[str, Any]) -> None:
        """Write a line in one go; a full disk is no reason to stop somebody's script."""
        with contextlib.suppress(OSError):
            self._lines.write((json.dumps(line) + "\n").encode())

    def count(self, slot: int) -> None:
        """It came once more."""
        at = slot * _COUNTER.size
        (before,) = _COUNTER.unpack_from(self._counts, at)
        _COUNTER.pack_into(self._counts, at, before + 1)
