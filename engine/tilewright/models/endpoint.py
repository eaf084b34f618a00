"""One exchange with an OpenAI-compatible endpoint, over the ``openai`` package."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from tilewright.errors import InputError
from tilewright.models.faults import Fault, FaultError, PassingError, fault, retry_after, shown
from tilewright.models.keys import Key, key_advice
from tilewright.models.model import KeyRefusedError, ModelUnavailableError, ReplyError
from tilewright.models.prices import is_local
from tilewright.models.settings import default_base_url
from tilewright.models.wire import Answer, Events, encodable
from tilewright.priority import give_way

if TYPE_CHECKING:
    import httpx2
    import openai

T = TypeVar("T")
OnText = Callable[[int], None]
_CONNECT_SECONDS = 30.0
_LARGEST_ERROR = 1_000_000
_SMALLEST_BOUND = 1_000_000
_BYTES_PER_TOKEN_AT_MOST = 1_000
_RAW = "x-stainless-raw-response"  # by which the package itself knows that it shall not read
_NEEDED_HEADERS = {
    "host", "content-type", "content-length", "accept", "accept-encoding", "connection",
    "transfer-encoding", "user-agent", "authorization", _RAW,
}  # fmt: skip


def missing_package(error: ImportError) -> InputError:
    """That the client is not installed, and the way out."""
    return InputError(
        f"language models need packages that are not installed ({error.name}); "
        "pip install 'tilewright[models]'"
    )


class Loop:
    """A thread that runs what waits for the network; calls come from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._futures: set[Future[Any]] = set()
        self._cancelled = False

    def run(self, work: Coroutine[Any, Any, T], *, after_cancel: bool = False) -> T:
        """The result of ``work``; raises ``CancelledError`` once ``cancel`` was called.

        Args:
            after_cancel: run it nevertheless, to clean up.
        """
        with self._lock:
            if self._cancelled and not after_cancel:
                work.close()
                raise CancelledError
            if self._loop is None:
                self._loop = loop = asyncio.new_event_loop()
                name = "tilewright-models"
                threading.Thread(target=_serve, args=(loop,), name=name, daemon=True).start()
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._futures.add(future)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
        finally:
            with self._lock:
                self._futures.discard(future)

    def cancel(self) -> None:
        """Cancel everything under way."""
        with self._lock:
            self._cancelled = True
            under_way = list(self._futures)
        for future in under_way:
            future.cancel()

    def close(self) -> None:
        """End the thread."""
        self.cancel()
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, and end what is under way in it."""
    give_way()
    loop.run_forever()
    loop.run_until_complete(_end_tasks())
    loop.close()


async def _end_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Endpoint:
    """One base URL; every method runs in a ``Loop``.

    Args:
        silence_s: the longest wait for a next byte, the first one included.
    """

    def __init__(self, base_url: str, key: Key | None, silence_s: float) -> None:
        self._base_url = base_url
        self._key = key
        self._largest = _SMALLEST_BOUND
        self._client = self._open(silence_s)

    async def complete(self, body: Mapping[str, Any], most_tokens: int, on_text: OnText) -> Answer:
        """Send a request and read its reply.

        Raises:
            FaultError: the endpoint refused it.
            PassingError: the connection ended early, or the endpoint was silent for too long.
            ReplyError, ModelUnavailableError: a later attempt would not do.
        """
        self._largest = max(self._largest, most_tokens * _BYTES_PER_TOKEN_AT_MOST)
        answer = Answer()
        with self._failures():
            completions: Any = self._client.chat.completions.with_streaming_response
            async with completions.create(**body) as response:
                await _read(response, answer, on_text)
        if answer.error:
            raise FaultError(self._clean(fault(0, {"error": answer.error})))
        if not answer.complete and not answer.finish:
            raise PassingError("the reply ended early", charged=True)
        answer.texts = [encodable(self._removed(answer.text))]
        answer.refusals = [encodable(self._removed(answer.refusal))]
        answer.finish, answer.model = shown(answer.finish), self._removed(shown(answer.model))
        return answer

    async def models(self) -> tuple[str, ...]:
        """The models that the endpoint lists."""
        with self._failures():
            async with self._client.models.with_streaming_response.list() as response:
                listed = _json(b"".join([part async for part in response.iter_bytes()]))
        entries = listed.get("data") if isinstance(listed, dict) else None
        names = [entry.get("id") for entry in entries or () if isinstance(entry, dict)]
        return tuple(name for name in names if isinstance(name, str) and name)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _open(self, silence_s: float) -> openai.AsyncOpenAI:
        try:
            import httpx2
            import openai
        except ImportError as error:
            raise missing_package(error) from None
        timeout = httpx2.Timeout(silence_s, connect=_CONNECT_SECONDS, pool=None)
        hooks: dict[str, list[Any]] = {"request": [self._reduce], "response": [self._check]}
        # A proxy of the environment cannot reach this machine, and has no business with its calls.
        no_proxy = dict.fromkeys(("http://", "https://", "all://"))
        http = openai.DefaultAsyncHttpxClient(
            follow_redirects=False, timeout=timeout, event_hooks=hooks,
            mounts=no_proxy if is_local(self._base_url) else None,
        )  # fmt: skip
        # A key that is empty would be looked up in the environment, another endpoint's perhaps.
        key = self._key.reveal() if self._key else "none"
        client = openai.AsyncOpenAI(
            api_key=key, admin_api_key="", base_url=self._base_url, max_retries=0,
            timeout=timeout, http_client=http,
        )  # fmt: skip
        # The package asks the platform module for a header that is not sent, and that starts
        # `uname -p` with this process's environment: the key would be in another process.
        client._platform = "Unknown"
        return client

    async def _reduce(self, request: httpx2.Request) -> None:
        """Send no more headers than the endpoint needs or the environment names for it."""
        own = self._base_url == default_base_url()
        for name in list(request.headers):
            telemetry = name.startswith("x-stainless") and name != _RAW
            if telemetry or (not own and name not in _NEEDED_HEADERS):
                del request.headers[name]
        request.headers["accept-encoding"] = "identity"
        if self._key is None:
            request.headers.pop("authorization", None)

    async def _check(self, response: httpx2.Response) -> None:
        """Before anything is read: no redirect, no compression, no endless body."""
        if 300 <= response.status_code < 400:
            target = urlsplit(response.headers.get("location", "")).hostname or "another address"
            raise ModelUnavailableError(
                f"{self._base_url} redirects to {shown(target)}, which is not followed because the "
                "key would go there; correct the base URL"
            )
        if response.headers.get("content-encoding", "identity") not in ("", "identity"):
            raise ReplyError(
                f"{self._base_url} compresses its replies although it was asked not to"
            )
        most = _LARGEST_ERROR if response.status_code >= 400 else self._largest
        response.stream = _bounded(response.stream, most, self._base_url)

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn what the packages raise into the errors of this package, without the key."""
        import httpx2
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            wait = retry_after(error.response.headers, datetime.now(UTC))
            body = error.body if error.body is not None else error.message
            found = self._clean(fault(error.status_code, body, wait))
            if error.status_code in (401, 403):
                raise self._refused_key(found.text) from None
            raise FaultError(found) from None
        except (openai.APITimeoutError, httpx2.TimeoutException) as error:
            late = "could not be reached in time" if _connecting(error) else "was silent too long"
            message = f"{self._base_url} {late}"
            raise PassingError(message, charged=not _connecting(error)) from None
        except (openai.APIConnectionError, httpx2.RequestError) as error:
            raise self._connection(error) from None
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            detail = self._removed(shown(str(error)))
            raise ModelUnavailableError(f"{self._base_url}: {detail}") from None

    def _connection(self, error: Exception) -> PassingError | ModelUnavailableError:
        causes = list(_causes(error))
        if certificate := next((c for c in causes if isinstance(c, ssl.SSLError)), None):
            return ModelUnavailableError(
                f"no safe connection to {self._base_url}: {self._removed(shown(str(certificate)))}"
            )
        why = self._removed(shown(str(causes[-1]) or type(causes[-1]).__name__))
        connecting = _connecting(error)
        what = "cannot be reached" if connecting else "ended the connection early"
        return PassingError(f"{self._base_url} {what} ({why})", charged=not connecting)

    def _refused_key(self, text: str) -> KeyRefusedError:
        sent = "refuses the key" if self._key else "asks for a key"
        return KeyRefusedError(f"{self._base_url} {sent} ({text}); {key_advice(self._base_url)}")

    def _clean(self, found: Fault) -> Fault:
        removed = self._removed
        return replace(
            found, text=removed(found.text), code=removed(found.code), param=removed(found.param)
        )

    def _removed(self, text: str) -> str:
        return self._key.remove_from(text) if self._key else text


async def _read(response: Any, answer: Answer, on_text: OnText) -> None:
    """Read a reply: a stream of events, or one document from a server that does not stream."""
    if "text/event-stream" not in response.headers.get("content-type", ""):
        answer.add(_json(b"".join([part async for part in response.iter_bytes()])))
        answer.complete = True
        return
    events = Events()
    async for part in response.iter_bytes():
        _add(answer, events.feed(part))
        on_text(answer.characters)
        if answer.complete:
            return
    _add(answer, events.end())


def _add(answer: Answer, events: Iterator[str]) -> None:
    for data in events:
        if data.strip() == "[DONE]":
            answer.complete = True
        else:
            answer.add(_json(data))


def _json(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ReplyError("the endpoint answered with something that is not JSON") from None


def _bounded(stream: Any, most: int, base_url: str) -> Any:
    """A body that ends in an error once it has more than ``most`` bytes."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for part in stream:
                size += len(part)
                if size > most:
                    raise ReplyError(
                        f"{base_url} sent more than {most / 1e6:.0f} MB; it was cut off"
                    )
                yield part

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _connecting(error: BaseException) -> bool:
    """Whether it failed before anything was sent."""
    import httpx2

    return any(isinstance(c, httpx2.ConnectError | httpx2.ConnectTimeout) for c in _causes(error))
