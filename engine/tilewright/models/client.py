"""Calls of language models: cache, budget, retries, a bound on calls in flight, cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace

from pydantic import ValidationError

from tilewright.errors import InputError, Stopped
from tilewright.home import home
from tilewright.models.budget import Budget, Permit
from tilewright.models.endpoint import Endpoint, Loop, OnText
from tilewright.models.faults import Fault, FaultError, PassingError, shown
from tilewright.models.keys import key_advice, key_for
from tilewright.models.model import (
    BudgetSpentError,
    CallRequest,
    ContextLengthError,
    KeyRefusedError,
    ModelChoice,
    ModelError,
    ModelUnavailableError,
    Reply,
    ReplyError,
    Spent,
)
from tilewright.models.prices import Price, is_local, price_of
from tilewright.models.settings import Ensemble, missing_price
from tilewright.models.wire import (
    OUTPUT_LIMITS,
    Answer,
    Usage,
    parameters,
    text_tokens_about,
    tokens_about,
    tokens_at_most,
)
from tilewright.serialize import dump, load
from tilewright.targets.cache import ReportCache

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_LONGEST_WISH = 120.0
_LONGEST_LIST = 10.0
_NOTHING = Usage(0, 0, 0)
_NOTHING_SPENT = Spent()
_MOST = 65_536
_MEGABYTE = 1_000_000
_PRIVATE = 0o700


@dataclass(frozen=True)
class Clock:
    """Time, as tests replace it.

    Attributes:
        now: seconds that never go back.
        wait: waits until the event is set, at most so many seconds.
    """

    now: Callable[[], float] = time.monotonic
    wait: Callable[[threading.Event, float], object] = threading.Event.wait


_CLOCK = Clock()


@dataclass
class _Call:
    """A request on its way: what its attempts have learned."""

    request: CallRequest
    price: Price | None
    deadline: float
    max_output: int
    attempts: int = 0
    characters: int = 0


class Client:
    """Asks the models of an ensemble; safe between threads.

    Args:
        before: what the run had spent when it was interrupted; it counts towards the limits.

    Raises:
        InputError: there is a limit in dollars and a model whose price is not known.
    """

    def __init__(
        self, ensemble: Ensemble, before: Spent = _NOTHING_SPENT, clock: Clock = _CLOCK
    ) -> None:
        self._ensemble = ensemble
        self._policy = ensemble.policy
        self._clock = clock
        self._prices = {choice: price_of(choice, ensemble.prices) for choice in ensemble.choices}
        for choice, price in self._prices.items():
            if price is None and ensemble.limits.dollars is not None:
                raise missing_price(choice)
        self._budget = Budget(ensemble.limits, before, clock.now)
        self._replies = Replies(self._policy.cache_megabytes) if self._policy.cache else None
        self._loop = Loop()
        self._endpoints: dict[str, Endpoint] = {}
        self._refused: dict[tuple[str, str], frozenset[str]] = {}
        self._not_before: dict[str, float] = {}
        self._notes: dict[str, None] = dict.fromkeys(ensemble.notes)
        self._opening = threading.Lock()
        self._keys_checked = False
        self._slots = threading.Condition()
        self._in_flight = 0
        self._stop = threading.Event()

    @property
    def spent(self) -> Spent:
        """What was spent so far, ``before`` included."""
        return self._budget.spent

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know about the calls: parameters that were left out, and so on."""
        return tuple(self._notes)

    def complete(self, request: CallRequest, on_text: OnText = lambda _: None) -> Reply:
        """The reply to a request, from disk if the same was asked before.

        Args:
            on_text: called with the number of characters that have arrived.

        Raises:
            ContextLengthError, ReplyError, ModelUnavailableError: there is no reply.
            BudgetSpentError: a limit does not allow the call.
            InputError: an endpoint demands a key, and there is none.
            Stopped: ``cancel`` was called.
        """
        self._check()
        kept = self._replies.get(request) if self._replies else None
        if kept is not None:
            self._budget.count_cached()
            return kept
        self._check_keys()
        with self._slot():
            reply = self._attempts(self._call(request), on_text)
        self._keep(request, reply)
        return reply

    def _check_keys(self) -> None:
        """Ask, once, whether the endpoints for which there is no key demand one.

        Raises:
            InputError: one does.
        """
        with self._opening:
            asked, self._keys_checked = self._keys_checked, True
        urls = dict.fromkeys(choice.base_url for choice in self._ensemble.choices)
        for url in () if asked else urls:
            if not is_local(url) and key_for(url) is None and self._demands_key(url):
                message = f"{url} demands a key, and there is none: {key_advice(url)}"
                raise InputError(message)

    def _demands_key(self, base_url: str) -> bool:
        """Whether its list of models is refused; the calls say what else there is to say."""

        async def listed() -> None:
            async with asyncio.timeout(_LONGEST_LIST):
                await self._endpoint(base_url).models()

        try:
            self._loop.run(listed())
        except KeyRefusedError:
            return True
        except CancelledError:
            raise Stopped from None
        except (ModelError, PassingError, FaultError, TimeoutError):
            return False
        return False

    def cancel(self) -> None:
        """Close what is in flight; later calls raise Stopped."""
        self._stop.set()
        self._budget.stop()
        self._loop.cancel()
        with self._slots:
            self._slots.notify_all()

    def close(self) -> None:
        """Cancel, and give back the connections and the thread."""
        self.cancel()
        for endpoint in self._endpoints.values():
            self._loop.run(endpoint.close(), after_cancel=True)
        self._endpoints.clear()
        self._loop.close()

    def _check(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def _call(self, request: CallRequest) -> _Call:
        price = self._prices.get(request.choice)
        if request.choice not in self._prices:
            price = price_of(request.choice, self._ensemble.prices)
            if price is None and self._ensemble.limits.dollars is not None:
                raise missing_price(request.choice)
        deadline = self._clock.now() + self._policy.call_seconds
        return _Call(request, price, deadline, request.choice.max_output_tokens)

    @contextlib.contextmanager
    def _slot(self) -> Iterator[None]:
        """One of the calls that may be in flight at a time."""
        with self._slots:
            self._slots.wait_for(
                lambda: self._stop.is_set() or self._in_flight < self._ensemble.concurrency
            )
            self._check()
            self._in_flight += 1
        try:
            yield
        finally:
            with self._slots:
                self._in_flight -= 1
                self._slots.notify()

    def _attempts(self, call: _Call, on_text: OnText) -> Reply:
        jitter = random.Random(call.request.key())
        while True:
            self._wait_for_turn(call)
            try:
                return self._attempt(call, on_text)
            except FaultError as error:
                if self._adapt(call, error.fault):
                    continue
                self._refuse(call, error.fault)
                failed, wish = error.fault.text, error.fault.wait
            except PassingError as error:
                failed, wish = str(error), error.wait
            except TimeoutError:
                raise self._late(call, "no complete reply") from None
            self._pause(call, failed, wish, jitter.random())

    def _attempt(self, call: _Call, on_text: OnText) -> Reply:
        permit = self._reserve(call)
        begun = self._clock.now()
        call.characters = 0

        def count(characters: int) -> None:
            call.characters = characters
            on_text(characters)

        usage = _NOTHING
        try:
            answer = self._send(call, count)
            usage = _usage(call.request, answer)
            return self._reply(call, answer, usage, self._clock.now() - begun)
        except BaseException as error:
            if usage is _NOTHING and _is_charged(error):
                written = text_tokens_about(" " * call.characters)
                usage = Usage(tokens_about(call.request), 0, written)
            raise
        finally:
            cost = _cost(call.price, usage)
            self._budget.settle(permit, usage, cost, self._clock.now() - begun)

    def _reserve(self, call: _Call) -> Permit:
        given = tokens_at_most(call.request)
        most = Usage(given, 0, call.max_output)
        return self._budget.reserve(given + call.max_output, _cost(call.price, most) or 0.0)

    def _send(self, call: _Call, on_text: OnText) -> Answer:
        choice = call.request.choice
        body = parameters(call.request, self._left_out(choice), call.max_output)
        left, limited = self._seconds(call)

        endpoint = self._endpoint(choice.base_url)

        async def exchange() -> Answer:
            async with asyncio.timeout(left):
                return await endpoint.complete(body, call.max_output, on_text)

        try:
            return self._loop.run(exchange())
        except CancelledError:
            raise Stopped from None
        except TimeoutError:
            if limited:
                message = "the limit on minutes ended a call to a model under way"
                raise BudgetSpentError(message, "minutes") from None
            raise

    def _seconds(self, call: _Call) -> tuple[float, bool]:
        """How long an attempt may take, and whether the budget says so."""
        left, minutes = call.deadline - self._clock.now(), self._budget.seconds_left()
        if minutes is not None and minutes < left:
            return max(0.0, minutes), True
        return max(0.0, left), False

    def _endpoint(self, base_url: str) -> Endpoint:
        with self._opening:
            if base_url not in self._endpoints:
                key, silence = key_for(base_url), self._policy.first_byte_seconds
                self._endpoints[base_url] = Endpoint(base_url, key, silence)
                if key and base_url.startswith("http:") and not is_local(base_url):
                    self._note(f"{base_url} is not encrypted: others may read the key on its way")
            return self._endpoints[base_url]

    def _reply(self, call: _Call, answer: Answer, usage: Usage, seconds: float) -> Reply:
        name = call.request.choice.name
        if answer.refusal or answer.finish == "content_filter":
            raise ReplyError(f"{name} refuses to answer: {shown(answer.refusal or answer.finish)}")
        if not answer.text.strip():
            cut = " after its limit of output tokens" if answer.finish == "length" else ""
            raise ReplyError(f"{name} answered with an empty text{cut}")
        if answer.usage is None:
            self._note(f"{name} reports no usage: its tokens are estimated")
        return Reply(
            answer.text, answer.finish or "stop", answer.model or name, usage.tokens_in,
            usage.tokens_cached, usage.tokens_out, _cost(call.price, usage), seconds,
            estimated=answer.usage is None,
        )  # fmt: skip

    def _adapt(self, call: _Call, fault: Fault) -> bool:
        """Whether another form of the request may do; what the endpoint refuses is remembered."""
        choice = call.request.choice
        if fault.room is not None and fault.room < call.max_output:
            call.max_output = fault.room
            self._note(
                f"{choice.name} has room for {fault.room} tokens of output, less than the "
                f"{choice.max_output_tokens} that it was asked for"
            )
            return True
        refused = self._left_out(choice)
        name = fault.parameter(parameters(call.request, refused))
        if name is None:
            return False
        self._refused[choice.base_url, choice.name] = refused | {name}
        if name != OUTPUT_LIMITS[0]:
            self._note(f"{choice.base_url} does not take {name} for {choice.name}: it is left out")
        return True

    def _left_out(self, choice: ModelChoice) -> frozenset[str]:
        return self._refused.get((choice.base_url, choice.name), frozenset())

    def _refuse(self, call: _Call, fault: Fault) -> None:
        """Raise if a later attempt would be refused as well."""
        choice = call.request.choice
        if fault.is_length:
            raise ContextLengthError(
                f"the prompt is too long for {choice.name}: {fault.text}"
            ) from None
        if not fault.passes:
            status = f" with status {fault.status}" if fault.status else ""
            raise ModelUnavailableError(
                f"{choice.base_url} refuses a request for {choice.name}{status}: {fault.text}"
            ) from None

    def _pause(self, call: _Call, failed: str, wish: float | None, chance: float) -> None:
        """Wait before the next attempt, or raise if there is none."""
        choice, now = call.request.choice, self._clock.now()
        if wish is not None and wish <= _LONGEST_WISH:  # it holds for all calls to the endpoint
            begin = max(now + wish, self._not_before.get(choice.base_url, 0.0))
            self._not_before[choice.base_url] = begin
        call.attempts += 1
        if call.attempts > self._policy.retries:
            raise ModelUnavailableError(
                f"{choice.name} gave no reply in {call.attempts} attempts; the last: {failed}"
            ) from None
        if wish is not None and (wish > _LONGEST_WISH or now + wish > call.deadline):
            raise ModelUnavailableError(
                f"{choice.base_url} asks to wait {wish:.0f} s before the next call ({failed}), "
                "which is longer than a call may take; try again later"
            ) from None
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (call.attempts - 1)) * (0.5 + chance / 2)
        pause = max(pause, wish or 0.0)
        if now + pause > call.deadline:
            raise self._late(call, failed) from None
        self._sleep(pause)

    def _late(self, call: _Call, failed: str) -> ModelUnavailableError:
        seconds = self._policy.call_seconds
        name = call.request.choice.name
        return ModelUnavailableError(f"{name} gave no reply in {seconds:g} s: {failed}")

    def _wait_for_turn(self, call: _Call) -> None:
        """Until the endpoint takes requests again."""
        begin = self._not_before.get(call.request.choice.base_url)
        if begin is not None and (left := min(begin, call.deadline) - self._clock.now()) > 0:
            self._sleep(left)

    def _sleep(self, seconds: float) -> None:
        left = self._budget.seconds_left()
        self._clock.wait(self._stop, seconds if left is None else max(0.0, min(seconds, left)))
        self._check()

    def _keep(self, request: CallRequest, reply: Reply) -> None:
        if self._replies is None:
            return
        try:
            self._replies.put(request, reply)
        except OSError as error:
            self._note(f"replies are not kept on disk: {error.strerror or error}")

    def _note(self, text: str) -> None:
        self._notes.setdefault(text)


def _usage(request: CallRequest, answer: Answer) -> Usage:
    written = text_tokens_about(answer.text)
    return answer.usage or Usage(tokens_about(request), 0, written)


def _cost(price: Price | None, usage: Usage) -> float | None:
    if price is None:
        return None
    return price.cost(usage.tokens_in, usage.tokens_cached, usage.tokens_out)


def _is_charged(error: BaseException) -> bool:
    """Whether an endpoint may charge for a call that failed: for what it wrote, arrived or not."""
    if isinstance(error, FaultError):
        return error.fault.status == 0
    if isinstance(error, PassingError):
        return error.charged
    return not isinstance(error, ModelUnavailableError | InputError)


class Replies:
    """Below ``$TILEWRIGHT_HOME/replies``; only the user can read them.

    Args:
        megabytes: of all files together; the oldest are dropped.
    """

    def __init__(self, megabytes: int) -> None:
        folder = home() / "replies"
        folder.mkdir(mode=_PRIVATE, exist_ok=True)
        folder.chmod(_PRIVATE)
        self._cache = ReportCache(folder, _MOST, megabytes * _MEGABYTE, prune_every=16)

    def get(self, request: CallRequest) -> Reply | None:
        """The reply to the same request at the same endpoint, marked as one from the cache."""
        kept = self._cache.get(_key(request))
        if kept is None:
            return None
        try:
            reply = load(Reply, kept.get("reply"))
        except ValidationError:
            return None
        return replace(reply, from_cache=True, dollars=0.0, seconds=0.0)

    def put(self, request: CallRequest, reply: Reply) -> None:
        """Keep a reply; raises OSError where there is no room."""
        self._cache.put(_key(request), {"reply": dump(reply)})


def _key(request: CallRequest) -> str:
    return hashlib.sha256(f"{request.choice.base_url}\n{request.key()}".encode()).hexdigest()
