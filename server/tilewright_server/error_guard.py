"""The one place in the server where an unexpected error ends: logged with its traceback.

A request is then answered with what "nothing" is for it; the server goes on.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from pygls.exceptions import JsonRpcException

from tilewright_server.timings import Timings

logger = logging.getLogger(__name__)

AsyncHandler = Callable[..., Awaitable[Any]]
SyncHandler = Callable[..., Any]


def nothing(*arguments: Any) -> None:
    """The answer of most requests when there is none."""


def guard_async(
    method: str, handler: AsyncHandler, timings: Timings, empty: SyncHandler = nothing
) -> AsyncHandler:
    """An async handler that is timed and fails only by a JSON-RPC error meant for the client."""

    async def run(*arguments: Any) -> Any:
        start = time.perf_counter()
        outcome = "failed"
        try:
            answer = await handler(*arguments)
            outcome = "ok"
            return answer
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except JsonRpcException:
            raise
        except Exception:
            logger.exception("%s failed", method)
            return empty(*arguments)
        finally:
            timings.add(method, time.perf_counter() - start, outcome)

    return run


def guard_sync(method: str, handler: SyncHandler, timings: Timings) -> SyncHandler:
    """A notification's handler that is timed and cannot fail."""

    def run(*arguments: Any) -> None:
        start = time.perf_counter()
        outcome = "failed"
        try:
            handler(*arguments)
            outcome = "ok"
        except Exception:
            logger.exception("%s failed", method)
        finally:
            timings.add(method, time.perf_counter() - start, outcome)

    return run
