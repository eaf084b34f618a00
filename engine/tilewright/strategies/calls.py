"""Model calls as units on record: what was answered in a run is not asked again in it."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from threading import Lock
from typing import Any, Protocol

from tilewright.agents.prompt import Prompt
from tilewright.knowledge.stages import Stage
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
    Role,
    Spent,
)
from tilewright.models.settings import Ensemble
from tilewright.priority import give_way
from tilewright.serialize import dump, load
from tilewright.store.ledger import Ledger, NotRecordedError
from tilewright.strategies.model import CallRecord

_ERRORS: Mapping[str, type[ModelError]] = {
    kind.__name__: kind
    for kind in (
        ModelError,
        ContextLengthError,
        ModelUnavailableError,
        KeyRefusedError,
        ReplyError,
    )
}


class Completer(Protocol):
    """What answers requests: a client with a connection, or a record of what it answered."""

    @property
    def spent(self) -> Spent: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    def complete(self, request: CallRequest) -> Reply: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


CALLS_OF_A_SLOT = 2
"""Most calls of a slot: one, and one with a shorter prompt."""
Connect = Callable[[Ensemble, Spent], Completer]
"""Makes the client of a run, given what an interrupted part of the run has spent."""


@dataclass(frozen=True)
class Place:
    """Where in a run a call is made."""

    role: Role
    stage: Stage | None = None
    attempt: int | None = None


@dataclass(frozen=True, order=True)
class SlotNumber:
    """A slot of a search's generation, and the number of a call in it."""

    generation: int
    number: int
    call: int = 0


@dataclass(frozen=True)
class Answer:
    """What came of a call: a reply, or the error that took its place."""

    key: str
    choice: ModelChoice
    reply: Reply | None
    error: ModelError | None = None


class Calls:
    """Asks the models of a run, in an order that does not depend on how fast they answer.

    A call that ended in an error is on record as well, so that a run that is resumed or replayed
    takes the same path. The limits hold for the run as a whole, resumed or not.

    Args:
        connect: None in a replay, where every reply is on record.
        note: is given a sentence for each model that fails and for the limit that ends the calls.
    """

    def __init__(
        self,
        connect: Connect | None,
        ensemble: Ensemble,
        ledger: Ledger,
        note: Callable[[str], None],
    ) -> None:
        self.ensemble = ensemble
        self.records: list[CallRecord] = []
        self.ended: str | None = None
        self._client = connect(ensemble, spent_on_record(ledger)) if connect else None
        self._ledger = ledger
        self._note = note
        self._slots = dict.fromkeys(Role, 0)
        self._unavailable: set[str] = set()
        self._lock = Lock()
        self._unsettled: list[tuple[SlotNumber, Answer, Place, int]] = []

    @property
    def spent(self) -> Spent:
        """Of the run so far, an interrupted part included."""
        return self._client.spent if self._client is not None else Spent()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of how the calls were made."""
        return self._client.notes if self._client is not None else ()

    def ask(self, prompt: Prompt, place: Place, schema: Mapping[str, Any] | None = None) -> Answer:
        """Ask the role's next model; another one of the role where that one does not answer."""
        while True:
            request = self._request(prompt, place.role, 0, schema)
            answer = self._settled(self._answer(request, place), place, 0)
            if not isinstance(answer.error, ModelUnavailableError) or not self._others(place.role):
                return answer

    def ask_each(
        self,
        prompts: Sequence[Prompt],
        place: Place,
        samples: Sequence[int],
        schema: Mapping[str, Any] | None = None,
    ) -> list[Answer]:
        """Ask for a reply to each prompt at the same time; they come in their order.

        Where the limit on calls allows fewer, the first ones are asked and the others refused.
        """
        if not prompts:
            return []
        pairs = zip(prompts, samples, strict=True)
        requests = [self._request(prompt, place.role, n, schema) for prompt, n in pairs]
        most = min(self.ensemble.concurrency, len(requests))
        pool = ThreadPoolExecutor(most, initializer=give_way)
        try:
            allowed = self._calls_left(len(requests))
            futures: list[Future[Answer]] = [
                pool.submit(self._answer, request, place) for request in requests[:allowed]
            ]
            answers = [future.result() for future in futures]
            answers += [self._answer(request, place) for request in requests[allowed:]]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        settled = zip(answers, samples, strict=True)
        return [self._settled(answer, place, sample) for answer, sample in settled]

    def ask_slot(self, prompt: Prompt, place: Place, slot: SlotNumber, sample: int) -> Answer:
        """Ask the model of a slot of a generation; any thread may call it.

        Which model that is follows from the slot alone. What the answer means for later calls is
        taken in by ``settle``, so that it does not depend on the order in which answers come.
        """
        choices = len(self.ensemble.by_role[place.role])
        numbers = range(slot.number + slot.generation, slot.number + slot.generation + choices)
        wished = [self.ensemble.choose(place.role, number) for number in numbers]
        there = [choice for choice in wished if choice.name not in self._unavailable]
        choice = (there or wished)[0]
        request = CallRequest(place.role, choice, prompt.messages(), sample)
        answer = self._answer(request, place)
        with self._lock:
            self._unsettled.append((slot, answer, place, sample))
        return answer

    def settle(self) -> None:
        """Take in the answers of slots, in the order of the slots."""
        with self._lock:
            waiting, self._unsettled = self._unsettled, []
        for _, answer, place, sample in sorted(waiting, key=lambda one: one[0]):
            self._settled(answer, place, sample)

    def can_ask(self, role: Role) -> bool:
        """Whether no limit is reached and a model of the role answers."""
        return self.ended is None and self._others(role)

    def cancel(self) -> None:
        """End what is in flight."""
        if self._client is not None:
            self._client.cancel()

    def close(self) -> None:
        """Give back the connections."""
        if self._client is not None:
            self._client.close()

    def side_by_side(self, slots: int) -> int:
        """How many of so many slots may ask at a time.

        One after the other where the calls may not suffice for all: which of them is refused must
        not depend on which thread is faster. A slot takes two calls at most.
        """
        most = CALLS_OF_A_SLOT * slots
        return self.ensemble.concurrency if self._calls_left(most) == most else 1

    def _calls_left(self, wanted: int) -> int:
        most = self.ensemble.limits.calls
        return wanted if most is None else max(0, min(wanted, most - self.spent.calls))

    def _request(
        self, prompt: Prompt, role: Role, sample: int, schema: Mapping[str, Any] | None
    ) -> CallRequest:
        return CallRequest(role, self._next_choice(role), prompt.messages(), sample, schema)

    def _next_choice(self, role: Role) -> ModelChoice:
        """The model of the role's next slot, without those that do not answer."""
        while True:
            choice = self.ensemble.choose(role, self._slots[role])
            self._slots[role] += 1
            if choice.name not in self._unavailable or not self._others(role):
                return choice

    def _others(self, role: Role) -> bool:
        """Whether a model of the role is left to ask."""
        return any(c.name not in self._unavailable for c in self.ensemble.by_role[role])

    def _answer(self, request: CallRequest, place: Place) -> Answer:
        def send() -> Any:
            if self._client is None:
                raise NotRecordedError("a model call is not on record, and a replay calls no model")
            try:
                return dump(self._client.complete(request))
            except ModelError as error:
                return _dump_error(error)

        key = request.key()
        described = {
            "role": place.role.value,
            "model": request.choice.name,
            "stage": place.stage.value if place.stage else None,
            "try": place.attempt,
            "sample": request.sample,
            "messages": [[one.role, self._ledger.keep(one.text)] for one in request.messages],
        }
        return _answer(
            key, request.choice, self._ledger.once("call", f"call:{key}", described, send)
        )

    def _settled(self, answer: Answer, place: Place, sample: int) -> Answer:
        """Put an answer on the list of calls, in the order of the slots."""
        error = answer.error
        self.records.append(
            CallRecord(
                key=answer.key,
                role=place.role,
                model=answer.choice.name,
                stage=place.stage,
                attempt=place.attempt,
                sample=sample,
                reply=answer.reply,
                error=str(error) if error else "",
            )
        )
        if isinstance(error, BudgetSpentError) and self.ended is None:
            self.ended = error.limit
            self._note(f"no model is called any more: {error}")
        if isinstance(error, ModelUnavailableError):
            self._unavailable.add(answer.choice.name)
            self._note(f"{answer.choice.name} is not called any more: {error}")
        return answer


def added(one: Spent, other: Spent) -> Spent:
    """Both together; the price is not known where it is not known of one."""
    sums: dict[str, Any] = {}
    for field in fields(Spent):
        pair = getattr(one, field.name), getattr(other, field.name)
        sums[field.name] = None if None in pair else pair[0] + pair[1]
    return Spent(**sums)


def spent_on_record(ledger: Ledger) -> Spent:
    """What the calls of a run have spent so far; each that was begun and not finished is a call."""
    total = Spent()
    for attempts, value in ledger.units("call"):
        replied = value is not None and "error" not in value
        total = added(total, _spent_on(load(Reply, value)) if replied else Spent())
        total = added(total, Spent(calls=attempts - 1 if value is not None else attempts))
    return total


def _spent_on(reply: Reply) -> Spent:
    if reply.from_cache:
        return Spent(calls_cached=1)
    return Spent(
        calls=1,
        tokens_in=reply.tokens_in,
        tokens_cached=reply.tokens_cached,
        tokens_out=reply.tokens_out,
        dollars=reply.dollars,
        seconds=reply.seconds,
    )


def _dump_error(error: ModelError) -> dict[str, Any]:
    limit = error.limit if isinstance(error, BudgetSpentError) else None
    return {"error": type(error).__name__, "message": str(error), "limit": limit}


def _answer(key: str, choice: ModelChoice, value: Mapping[str, Any]) -> Answer:
    if "error" not in value:
        return Answer(key, choice, load(Reply, value))
    message = str(value["message"])
    if value["limit"] is not None:
        return Answer(key, choice, None, BudgetSpentError(message, str(value["limit"])))
    return Answer(key, choice, None, _ERRORS.get(value["error"], ModelError)(message))
