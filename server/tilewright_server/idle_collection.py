"""When garbage is collected: in the pauses between edits.

A collection of everything goes through every syntax tree that is remembered, which takes longer
than an edit, and a person may go on typing meanwhile. So a short pause collects only what was made
since the last one, and a long one what older versions have left behind. A client that never pauses
waits for one collection of everything after some thousand edits, so that memory stays bounded.
"""

import asyncio
from collections.abc import Callable

from tilewright.collection import collect_all, collect_new

_PAUSE_S = 2.0
_LONG_PAUSE_S = 30.0
_MOST_CHANGES = 2_000
"""Without a long pause between them. An edit leaves some 3 objects in cycles, a KiB or less."""


class IdleCollection:
    """Collects garbage in the pauses between edits."""

    def __init__(self) -> None:
        self._pending: asyncio.TimerHandle | None = None
        self._changes = 0

    def changed(self) -> None:
        """A document changed: wait for a pause, but not for ever."""
        self._changes += 1
        if self._changes < _MOST_CHANGES:
            self._collect_after(_PAUSE_S, self._collect_new)
        else:
            self.close()
            self._collect_all()

    def close(self) -> None:
        """Collect nothing more."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _collect_after(self, seconds: float, collect: Callable[[], None]) -> None:
        self.close()
        self._pending = asyncio.get_running_loop().call_later(seconds, collect)

    def _collect_new(self) -> None:
        collect_new()
        self._collect_after(_LONG_PAUSE_S, self._collect_all)

    def _collect_all(self) -> None:
        self._pending = None
        self._changes = 0
        collect_all()
