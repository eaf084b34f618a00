"""Readers-writer lock for a device: checks share it, timing is exclusive."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class Turns:
    """Those who compute share the device; who times has it alone, and goes first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._beside = 0
        self._alone = 0
        self._timing = False

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Compute, perhaps while others do."""
        with self._changed:
            self._changed.wait_for(lambda: not self._timing and not self._alone)
            self._beside += 1
        try:
            yield
        finally:
            with self._changed:
                self._beside -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the device while no other process of this coordinator computes on it."""
        with self._changed:
            self._alone += 1
            self._changed.wait_for(lambda: not self._timing and not self._beside)
            self._alone -= 1
            self._timing = True
        try:
            yield
        finally:
            with self._changed:
                self._timing = False
                self._changed.notify_all()
