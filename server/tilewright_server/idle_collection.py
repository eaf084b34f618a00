"""When garbage is collected: in the pauses between edits.

A collection goes through every syntax tree that is remembered, which takes longer than an edit.
What an edit leaves behind is set aside at the next one, which takes no time, and collected in the
first pause; in a session without pauses, when it has become so much that memory must be bounded.
"""

import asyncio

from tilewright.collection import collect_all, set_aside

_PAUSE_S = 2.0
_MOST_OBJECTS = 500_000  # some 50 MB


class IdleCollection:
    """Collects garbage in the pauses between edits."""

    def __init__(self) -> None:
        self._objects = 0
        self._pending: asyncio.TimerHandle | None = None

    def changed(self) -> None:
        """A document changed: set aside what there is, and wait for a pause."""
        self.close()
        self._objects += set_aside()
        if self._objects > _MOST_OBJECTS:
            self._collect()
            return
        self._pending = asyncio.get_running_loop().call_later(_PAUSE_S, self._collect)

    def close(self) -> None:
        """Collect nothing more."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _collect(self) -> None:
        self._objects, self._pending = 0, None
        collect_all()
