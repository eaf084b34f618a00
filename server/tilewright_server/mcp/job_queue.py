"""Queue of calls: so many at once, the others wait in order and are given their place."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable

from tilewright_server.mcp.refusal import RefusedError

OnMove = Callable[[int], None]


class JobQueue:
    """Lets ``at_once`` calls run; at most ``most_waiting`` wait."""

    def __init__(self, at_once: int, most_waiting: int) -> None:
        self._free = at_once
        self._most = most_waiting
        self._waiting: deque[tuple[asyncio.Future[None], OnMove]] = deque()

    @contextlib.asynccontextmanager
    async def turn(self, on_move: OnMove) -> AsyncIterator[None]:
        """Wait for a turn and hold it; ``on_move`` is given the number of calls ahead.

        Raises:
            RefusedError: too many wait already.
        """
        await self._enter(on_move)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, on_move: OnMove) -> None:
        if self._free > 0:
            self._free -= 1
            return
        if len(self._waiting) >= self._most:
            raise RefusedError(
                f"{self._most} calls are waiting already; wait for their results, then call again"
            )
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (place, on_move)
        self._waiting.append(entry)
        on_move(len(self._waiting))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()
            else:
                with contextlib.suppress(ValueError):
                    self._waiting.remove(entry)
                self._announce()
            raise

    def _leave(self) -> None:
        while self._waiting:
            place, _ = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                self._announce()
                return
        self._free += 1

    def _announce(self) -> None:
        for ahead, (_, on_move) in enumerate(self._waiting, 1):
            on_move(ahead)
