"""A lock on a device, so that one job at a time is timed on it."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def holding(lock: str | None) -> Iterator[float]:
    """Hold a lock file, so that one job at a time is on the GPU; yields the seconds waited."""
    if not lock:
        yield 0.0
        return
    with Path(lock).open("a") as file:
        start = time.perf_counter()
        fcntl.flock(file, fcntl.LOCK_EX)
        yield time.perf_counter() - start
