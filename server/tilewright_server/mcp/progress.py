"""Progress of one call: the newest message, at most four times a second, and a sign of life."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable

logger = logging.getLogger(__name__)

_LEAST_S = 0.25
_LONGEST_S = 5.0
_STEP = 0.01

Send = Callable[[float, float, str], Awaitable[None]]


class Progress:
    """Keeps what a call is at; ``sending`` sends it to the client while the call runs."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._percent = 0.0
        self._message = ""
        self._changed = asyncio.Event()
        self._sent = -_STEP
        self._began = time.monotonic()

    def say(self, percent: float | None, message: str) -> None:
        """Send this soon; what comes too fast replaces what was not yet sent."""
        self._percent = max(self._percent, min(percent or 0.0, 100.0))
        self._message = message
        self._changed.set()

    @contextlib.asynccontextmanager
    async def sending(self) -> AsyncIterator["Progress"]:
        """Send in the background until the block is left."""
        task = asyncio.create_task(self._pump())
        try:
            yield self
        finally:
            task.cancel()

    async def _pump(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), _LONGEST_S)
            is_new = self._changed.is_set()
            self._changed.clear()
            seconds = time.monotonic() - self._began
            message = self._message if is_new else f"{self._message} ({seconds:.0f} s)"
            # The protocol wants each value above the one before.
            self._sent = max(self._sent + _STEP, self._percent)
            await self._send(self._sent, 100.0, message)
            await asyncio.sleep(_LEAST_S)
