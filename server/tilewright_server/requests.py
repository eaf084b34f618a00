"""Messages of the client: pygls's protocol with its corrections, and how long each took.

This is the one place in the server where an unexpected error ends: logged with its traceback. A
request is then answered with what "nothing" is for it; the server goes on.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol, lsp_method

from tilewright_server.workspace import SnapshotWorkspace

logger = logging.getLogger(__name__)

AsyncHandler = Callable[..., Awaitable[Any]]
SyncHandler = Callable[..., Any]
_KEPT_TIMES = 50


class TilewrightProtocol(LanguageServerProtocol):
    """The protocol with an own text model and an orderly end."""

    def adopt_workspace(self, params: types.InitializeParams) -> None:
        """Put the own text model in the place of pygls's. Called by the initialize handler."""
        made = self.workspace
        self._workspace = SnapshotWorkspace(
            made.root_uri,
            types.TextDocumentSyncKind.Incremental,
            params.workspace_folders or [],
            made.position_encoding,
        )

    @property
    def is_shut_down(self) -> bool:
        """Whether the client asked for an orderly end."""
        return self._shutdown

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Stop jobs, cancel what is still running, and take no more requests.

        pygls walks its table of running requests while cancelling them, which changes it.
        """
        if (handler := self.fm.features.get(types.SHUTDOWN)) is not None:
            yield handler, args, None
        this = self.msg_id
        for number, future in list(self._request_futures.items()):
            if number != this and not future.done():
                future.cancel()
        self._shutdown = True

    def _execute_handler(
        self, msg_id: Any, handler: Any, callback: Any, args: Any = None, kwargs: Any = None
    ) -> None:
        """As pygls does, which would keep the futures of notifications for good."""
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        running = self._request_futures.get(msg_id)
        if running is not None:
            running.add_done_callback(lambda future: self._forget(msg_id, future))

    def _forget(self, msg_id: Any, future: Any) -> None:
        if self._request_futures.get(msg_id) is future:
            del self._request_futures[msg_id]

    def handle_message(self, message: Any) -> None:
        """As pygls does; a request after shutdown is refused instead of left without an answer."""
        method = getattr(message, "method", None)
        if self._shutdown and method and hasattr(message, "id"):
            error = JsonRpcInvalidRequest("the server is shutting down").to_response_error()
            self._send_response(message.id, error=error)
            return
        super().handle_message(message)


@dataclass(frozen=True)
class Timing:
    """One handled message. ``outcome`` is "ok", "failed" or "cancelled"."""

    method: str
    milliseconds: float
    outcome: str


class Timings:
    """How long the last messages took, oldest first, for the debug command."""

    def __init__(self) -> None:
        self._kept: deque[Timing] = deque(maxlen=_KEPT_TIMES)

    def add(self, method: str, seconds: float, outcome: str) -> None:
        self._kept.append(Timing(method, round(seconds * 1000, 2), outcome))

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(timing) for timing in self._kept]


def lazy(module: str, name: str) -> AsyncHandler:
    """A handler whose module is imported when a client first asks: the server starts sooner.

    Args:
        module: within this package, such as ``features.hover``.
    """
    _MODULES.append(f"tilewright_server.{module}")

    async def handler(*arguments: Any) -> Any:
        return await getattr(import_module(f"tilewright_server.{module}"), name)(*arguments)

    handler.__name__ = handler.__qualname__ = name
    return handler


_MODULES: list[str] = []


def lazy_modules() -> Iterable[str]:
    """The modules of all lazy handlers made so far."""
    return tuple(dict.fromkeys(_MODULES))


def nothing(*arguments: Any) -> None:
    """The answer of most requests when there is none."""


def guard_async(
    method: str, handler: AsyncHandler, timings: Timings, empty: SyncHandler = nothing
) -> Callable[..., Coroutine[Any, Any, Any]]:
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
