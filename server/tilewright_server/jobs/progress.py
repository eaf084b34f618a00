"""Work-done progress of one job: begin once, report at most four times a second, end once."""

import asyncio
import logging
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.progress import Progress

logger = logging.getLogger(__name__)

_INTERVAL_S = 0.25
_CREATE_S = 5.0


class JobProgress:
    """Progress by a token this server makes; silent where the client cannot or will not show it."""

    def __init__(self, progress: Progress, title: str, on_cancel: Callable[[], None]) -> None:
        self._progress = progress
        self._title = title
        self._on_cancel = on_cancel
        self._token = f"tilewright-{uuid.uuid4()}"
        self._open = False
        self._latest: tuple[int | None, str] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._sent_at = 0.0

    async def begin(self, supported: bool) -> None:
        """Create the token and begin. A refused token must not be used, so all stays silent."""
        if not supported:
            return
        try:
            await asyncio.wait_for(self._progress.create_async(self._token), _CREATE_S)
        except (TimeoutError, JsonRpcException) as error:
            logger.info("no progress is shown: %s", error)
            return
        self._open = True
        self._progress.tokens[self._token].add_done_callback(self._cancelled)
        begin = types.WorkDoneProgressBegin(title=self._title, cancellable=True, percentage=0)
        self._progress.begin(self._token, begin)

    def _cancelled(self, future: "Future[Any] | asyncio.Future[Any]") -> None:
        if future.cancelled():
            self._on_cancel()

    def report(self, percent: int | None, message: str) -> None:
        """Show this soon; what comes too fast replaces what was not yet sent."""
        if not self._open:
            return
        self._latest = (percent, message)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            delay = max(0.0, self._sent_at + _INTERVAL_S - loop.time())
            self._timer = loop.call_later(delay, self._send)

    def _send(self) -> None:
        self._timer = None
        if not self._open or self._latest is None:
            return
        percent, message = self._latest
        self._sent_at = asyncio.get_running_loop().time()
        report = types.WorkDoneProgressReport(message=message, percentage=percent)
        self._progress.report(self._token, report)

    def end(self, message: str) -> None:
        """End it; later calls do nothing."""
        if not self._open:
            return
        self._open = False
        if self._timer is not None:
            self._timer.cancel()
        self._progress.tokens.pop(self._token, None)
        self._progress.end(self._token, types.WorkDoneProgressEnd(message=message))
