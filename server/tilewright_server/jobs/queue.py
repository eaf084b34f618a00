"""Queue of engine jobs: one runs at a time, jobs that the user started go first."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator


class Lane:
    """One engine run at a time: two would disturb each other's measurements.

    Urgent waiters go before others; among equals the first come is the first served.
    """

    def __init__(self) -> None:
        self._busy = False
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()

    @property
    def busy(self) -> bool:
        """Whether a new job has to wait."""
        return self._busy

    @contextlib.asynccontextmanager
    async def turn(self, urgent: bool) -> AsyncIterator[None]:
        """Wait for a turn and hold it."""
        await self._enter(urgent)
        while self._urgent and not urgent:
            self._hand_on()
            await self._enter(urgent)
        try:
            yield
        finally:
            self._hand_on()

    async def _enter(self, urgent: bool) -> None:
        if not self._busy:
            self._busy = True
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._urgent if urgent else self._others).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._hand_on()
            raise

    def _hand_on(self) -> None:
        """Give the turn to the next who still waits."""
        for queue in (self._urgent, self._others):
            while queue:
                place = queue.popleft()
                if not place.done():
                    place.set_result(None)
                    return
        self._busy = False
