"""One trial: every check of a candidate against its measure, then its honesty, then its time."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, cast

from .. import tamper
from ..interpreter import batched_launch
from ..protocol import ERROR, TIMEOUT, UNSUPPORTED
from . import (
    answers,
    masked_nan,
    own_rule,
    records,
    repeated_calls,
    results,
    run_faults,
    timed_contest,
)
from .baselines import Base, Originals, message_of, with_config
from .device_lock import Turns
from .interpreter_pass import Watched, Watching
from .repeated_calls import Repeated
from .results import Results
from .runner_handle import BrokenOffError, CandidateEndedError, Handle, RunnerEndedError
from .version import INTERPRETER, is_on_host

if TYPE_CHECKING:
    from ..messages.trial import (
        Check,
        Contest,
        Facts,
        Found,
        Interpreted,
        Message,
        Prepared,
        Record,
        TrialJob,
    )  # fmt: skip

_PATIENCE_S = 15.0
_PATIENCE_RATIO = 10.0
_PATIENCE_TORCH_S = 60.0
"""In the interpreter, where the original launches no kernel, whose time would be a measure."""
# Of the checks, so many at the beginning; the last and the one after the timing as well.
_OBSERVED = 3
# With fewer processors the interpreter would take some from the host code that is timed.
_CPUS, _SEVERAL = os.cpu_count() or 1, 8
_WHERE_ANY = "where any"
_LONG = "a call takes long at the sizes of the benchmark"
_FORWARD_ONLY = (
    "forward only, under no_grad: the original's results have no gradients to compare with"
)
_NO_GRADIENTS = (
    "forward only, under no_grad: the candidate's results have no gradients, but the original's "
    "have; training needs them"
)


class NotJudgedError(Exception):
    """The interpreter cannot run a part of the original or of the candidate: no verdict."""


class Hearing:
    """One candidate's trial in the coordinator.

    Args:
        candidate: its runner, which is preparing.
        job: the ``trial`` job (``protocol``).
        deadline: of ``time.monotonic``, when no caller waits any longer.
        compile_rest: compiles for further checks, and waits until that is done.
        watching: looks at what a device does not show.
    """

    def __init__(
        self,
        originals: Originals,
        turns: Turns,
        candidate: Handle,
        job: TrialJob,
        deadline: float,
        compile_rest: Callable[[list[Check]], None],
        watching: Watching,
    ) -> None:
        self._compile_rest = compile_rest
        self._watching = watching
        self._originals = originals
        self._turns = turns
        self._candidate = candidate
        self._job = job
        self._deadline = deadline
        self._checks: list[Record] = []
        self._facts: tuple[list[Facts], list[Facts]] = ([], [])
        self._configs = 1
        self._phases: dict[str, float] = {}
        self._last = job["checks"][-1] if job["checks"] else None
        self._over = False
        self._given: Results | None = None
        self._ahead = ThreadPoolExecutor(1)
        self._aside = ThreadPoolExecutor(1)
        self._watch: Future[Watched] | None = None
        self._interpreted = batched_launch.Tally()

    def value(self, prepared: Prepared | None, failed: Exception | None) -> Found:
        """The trial's value: ``fault`` is the message for a person, None if there is none;
        ``unjudged`` is there where the interpreter cannot run it, and says why.

        Raises BrokenOffError, HarnessError or RunnerEndedError (of another runner than the
        candidate's) where nothing can be said of the candidate.
        """
        if failed is not None and not isinstance(failed, CandidateEndedError):
            raise failed
        failed = failed or self._forged(prepared)
        if prepared is None or failed is not None:
            told = f"the candidate failed: {failed or 'it could not be prepared'}"
            return {"checks": [], "fault": told, "prepared": None}
        found: Found = {"prepared": prepared, "checks": self._checks}
        start = time.monotonic()
        try:
            fault = self._go_through(found, start)
            if self._job.get("own_rule") and self._candidate.alive:
                first = self._originals.base(self._job, self._job["checks"][0])
                found["own_rule"] = own_rule.verdict(
                    self._originals, self._candidate, self._job, self._patience(first)
                )
        except NotJudgedError as error:
            fault, found["unjudged"] = None, str(error)
        finally:
            self._ahead.shutdown()
            # Of a candidate that is refused no caller waits for what the interpreter says.
            self._aside.shutdown(wait=False, cancel_futures=True)
        found["checked_s"] = time.monotonic() - start
        if self._job["device"] == INTERPRETER:
            found["interpreted"] = cast("Interpreted", dataclasses.asdict(self._interpreted))
        found["instructions"] = records.executed(self._originals, self._job, self._given)
        found["spent_s"] = {**self._candidate.spent_s, **self._phases}
        return {**found, "fault": fault, "honesty": self._honesty(prepared, found)}

    def _forged(self, prepared: Prepared | None) -> CandidateEndedError | None:
        """What is wrong with its first answer; None where that can be read, or there is none."""
        try:
            with self._candidate.answering():
                answers.facts((prepared or {}).get("facts") or {})
        except CandidateEndedError as error:
            return error
        return None

    def _go_through(self, found: Found, start: float) -> str | None:
        """The first checks, the time, and all the rest; what is wrong. Figures go into ``found``.

        What is not faster is not wanted in a search: then the rest is left out, and said to be.
        """
        first, rest = self._split()
        if self._job.get("thorough", True) and _CPUS >= _SEVERAL:
            self._begin_watch()
        fault = self._all(first)
        self._phases["first"] = time.monotonic() - start
        if fault is None and self._job.get("timing"):
            found["timing"] = self._timed()
            self._phases["timed"] = time.monotonic() - start
            if not self._job.get("thorough", True) and not all(map(_may_win, found["timing"])):
                found["left_out"] = [check["name"] for check in rest]
                return None
        if fault is None:
            self._begin_watch()
        if fault is None and rest and self._job.get("timing"):  # else all of it was compiled before
            self._compile_rest(rest)
            self._phases["compiled"] = time.monotonic() - start
        fault = fault or self._all(self._planned(rest))
        fault = fault or self._watched(found)
        if fault is not None or not self._checks:
            return fault
        with self._turns.shared():
            repeated = self._repeat(found["prepared"] or {})
            fault, found["repetition"] = repeated.fault, repeated.figures
            for facts, seen in zip(self._facts, repeated.facts, strict=True):
                facts.append(seen)
            if fault is None and self._candidate.alive:
                found["skipped_same"] = self._skipped()
                fault = self._repeated_check_fault() if self._job.get("timing") else None
        self._phases["rest"] = time.monotonic() - start
        return fault

    def _begin_watch(self) -> None:
        """Look in the interpreter, where that is asked for, while the device computes: it takes a
        processor and no device, so it waits for nobody's turn."""
        if self._job.get("watched") and self._watch is None:
            self._watch = self._aside.submit(self._watching.look, self._job, self._deadline)

    def _watched(self, found: Found) -> str | None:
        """What the interpreter has seen, where that is asked for."""
        if self._watch is None:
            return None
        start = time.monotonic()
        watched = self._watch.result()
        self._phases["watched"] = time.monotonic() - start
        found["watched"] = watched.checks
        return watched.fault

    def _split(self) -> tuple[list[Check], list[Check]]:
        """Checks that come before the time is taken, one of each case that there is; the rest."""
        checks = self._job["checks"]
        if not self._job.get("timing"):
            return [], checks
        first = first_checks(checks)
        repeated = [check for check in first if int(check.get("repeats") or 1) > 1]
        rest = [check for check in checks if all(check is not one for one in first)] + repeated
        return [{**check, "repeats": 1} for check in first], rest

    def _all(self, checks: Iterable[Check]) -> str | None:
        return next(filter(None, map(self._shared_check, checks)), None)

    def _planned(self, checks: Sequence[Check]) -> Iterator[Check]:
        """These checks; then each configuration that a tuner has not chosen for them, for with
        other shapes it may."""
        for check in checks:
            yield from self._or_simpler(check)
        again = self._job.get("each_config")
        if again is None:
            return
        if not is_on_host(self._job["device"]):  # there the first was taken all along
            yield with_config(again, 0)
        for config in range(1, self._configs):
            yield with_config(again, config)

    def _or_simpler(self, check: Check) -> Iterator[Check]:
        """A check; and where the original does not stand it, what is to be asked instead."""
        yield check
        if self._checks and "skipped" in self._checks[-1]:
            for simpler in check.get("simpler") or ():
                yield from self._or_simpler(simpler)

    def _shared_check(self, check: Check) -> str | None:
        with self._turns.shared():
            return self._check(check)

    def _ask_ahead(self, check: Check) -> None:
        """Run the original on the next check while the candidate runs this one, in another process.

        An error there is raised again when the next check is due.
        """
        checks = self._job["checks"]
        here = next((at for at, one in enumerate(checks) if one is check), len(checks))
        if here + 1 < len(checks):
            self._ahead.submit(self._base_beside, checks[here + 1])

    def _base_beside(self, check: Check) -> None:
        with self._turns.shared():
            self._originals.base(self._job, check)

    def _check(self, check: Check) -> str | None:
        """Hold the candidate against one measure; what is wrong, with the check's name."""
        asked = base = self._originals.base(self._job, check)
        self._ask_ahead(check)
        notes = [base.note] if base.note else []
        if base.unfit and not base.failure and check.get("required", True):
            check, base = self._plain(check, base, notes)
        record = records.of_check(check, base, notes)
        if asked.fault:
            record["fault"] = asked.fault
        self._checks.append(record)
        unfit = base.unfit or base.luck
        if unfit and not check.get("required", True):
            record["skipped"] = f"the candidate is not checked here: {unfit}"
            return None
        if base.is_unsupported:
            raise NotJudgedError(f"the original: {base.failure}")
        if check.get("gradients") and base.original is not None and not base.original.values:
            record["skipped"] = _FORWARD_ONLY
            return None
        fault = self._of_original(base)
        for _ in range(0 if fault else int(check.get("repeats") or 1)):
            fault = fault or self._call_fault(check, base, record)
        return (
            fault
            and f"{', '.join([check['name'], *records.drawn_number_texts(check, base)])}: {fault}"
        )

    def _of_original(self, base: Base) -> str | None:
        """That the original failed, which is the candidate's fault where it is the same text."""
        if base.failure and self._job["candidate"] != self._job["original"]:
            raise BrokenOffError(ERROR, base.failure)
        return base.failure or None

    def _plain(self, check: Check, base: Base, notes: list[str]) -> tuple[Check, Base]:
        """A required check whose order the original does not stand, in the order it does."""
        if check.get("order", "forward") == "forward" and not check.get("launch_options"):
            return check, base
        notes.append(base.unfit)
        plain: Check = {**check, "order": "forward", "launch_options": {}}
        return plain, self._originals.base(self._job, plain)

    def _call_fault(self, check: Check, base: Base, record: Record) -> str | None:
        assert base.original is not None
        assert base.oracle is not None
        observe = len(self._facts[1]) < _OBSERVED or self._over or check is self._last
        try:
            given = self._call(message_of(check, observe=observe), base)
        except CandidateEndedError as error:
            return self._ended(error, check, record)
        if check.get("gradients") == _WHERE_ANY and not given.values:
            record["skipped"] = _NO_GRADIENTS
            return None
        self._given = self._given or given
        self._configs = max(self._configs, given.configs)
        self._note_facts(base.original, given)
        self._interpreted.add(given.told.get("interpreted") or {})
        if given.told.get("caveats"):
            record["caveats"] = given.told["caveats"]
        wrong = next(run_faults.of_run(base.original.told, given.told), None)
        if check.get("gradients"):
            wrong = wrong or run_faults.of_gradients(base.original.names, given.names)
        if wrong is not None:
            record["fault"] = wrong
            return wrong
        wrong = results.fault(base.oracle, base.own, given, check, record, base.noisy)
        if wrong is None or self._is_masked(check, base, given, record):
            return None
        unsteady = self._originals.unsteady(self._job, check, base)
        if unsteady and check.get("training"):
            record["skipped"] = "the candidate is not checked here: " + unsteady
            return None
        if not unsteady:
            record["fault"] = self._said_of_order(check, base, wrong)
        return unsteady or record["fault"]

    def _said_of_order(self, check: Check, base: Base, wrong: str) -> str:
        """What is wrong, said of the order of programs where it is right in the usual one."""
        said = run_faults.in_other_order(check, wrong)
        if said == wrong or base.oracle is None:
            return said
        plain: Check = {**check, "order": "forward"}
        try:
            given = self._call(message_of(plain), base)
        except CandidateEndedError:
            return wrong
        is_right = results.fault(base.oracle, base.own, given, plain, None, base.noisy) is None
        return said if is_right else wrong

    def _is_masked(self, check: Check, base: Base, given: Results, record: Record) -> bool:
        """Whether all that is wrong is NaN which the candidate left out where it is masked out."""
        if check.get("values") != "nonfinite" or base.oracle is None:
            return False
        fill = partial(self._originals.filled, self._job, check, base)
        try:
            oracle, own, count = masked_nan.judged_without(
                base.oracle,
                base.own,
                given,
                partial(fill, oracle=True),
                partial(fill, oracle=False),
                [str(entry["name"]) for entry in base.inputs],
            )
        except RunnerEndedError:
            return False  # then what it left out counts
        if not count or results.fault(oracle, own, given, check, record, base.noisy) is not None:
            return False
        record["caveats"] = [
            *record.get("caveats", ()),
            f"{count} NaN of the original did not come back: they come from inputs that its "
            "result does not depend on as long as these are finite, such as what a mask "
            "multiplies by zero",
        ]
        return True

    def _ended(self, error: CandidateEndedError, check: Check, record: Record) -> str | None:
        """What a call that gave no result says of the candidate."""
        if error.status == UNSUPPORTED:
            raise NotJudgedError(f"the candidate: {error}") from error
        if error.status == TIMEOUT and time.monotonic() > self._deadline:
            told = "the whole trial took longer than it may, waiting for its turn included"
            raise BrokenOffError(TIMEOUT, told) from error
        if check.get("gradients") == _WHERE_ANY and error.status == ERROR:
            record["skipped"] = f"{_NO_GRADIENTS} ({error})"
            return None
        return f"the candidate failed: {error}"

    def _call(self, message: Message, base: Base) -> Results:
        return self._originals.results(self._candidate, base, message, self._patience(base))

    def _patience(self, base: Base) -> float:
        """Seconds to wait for a candidate, by what the original took."""
        taken = base.original.seconds_alone if base.original is not None else 0.0
        left = self._deadline - time.monotonic()
        least = _PATIENCE_TORCH_S if self._is_beside_torch(base) else _PATIENCE_S
        return max(1.0, min(least + _PATIENCE_RATIO * taken, left))

    def _is_beside_torch(self, base: Base) -> bool:
        """Whether the interpreter runs a candidate whose original was seen to launch nothing."""
        facts = None if base.original is None else base.original.told.get("facts")
        return self._job["device"] == INTERPRETER and facts is not None and not facts["launches"]

    def _note_facts(self, original: Results, given: Results) -> None:
        for facts, told in zip(self._facts, (original.told, given.told), strict=True):
            if found := told.get("facts"):
                facts.append(found)

    def _repeat(self, prepared: Prepared) -> Repeated:
        """Calls in a row."""
        if self._job.get("own_rule"):
            return Repeated(None, {"skipped": _LONG})
        pair = repeated_calls.pair_of(self._job["checks"])
        if pair is None:
            return Repeated(None, {"skipped": "no case has two seeds"})

        def is_new(facts: Facts) -> bool:
            known = self._observed_facts(0, self._original())
            return tamper.exceeds(self._observed_facts(1, prepared, facts), known)

        return repeated_calls.repetition_result(
            self._originals, self._candidate, self._job, pair, is_new
        )

    def _skipped(self) -> dict[str, float] | None:
        """How much of the results is still right with no launch made, by version: the original is
        asked where anything of the candidate's is."""
        if self._given is None or self._job.get("own_rule"):
            return None
        check = self._job["checks"][0]
        base = self._originals.base(self._job, check)
        own = self._share(self._candidate, base, check, self._given)
        if not own:
            return {"candidate": own}
        with self._originals.lock:
            if base.skipped is None:
                original = self._originals.original(self._job)
                base.skipped = self._share(original, base, check, base.original)
        return {"original": base.skipped, "candidate": own}

    def _share(self, runner: Handle, base: Base, check: Check, real: Results | None) -> float:
        """Of ``real``, what a call gives whose launches do nothing; 0 where it fails: host code
        that needs its kernels' results tells nothing."""
        message = message_of(check, skip_launches=True, guard=False)
        try:
            empty = self._originals.results(runner, base, message, _PATIENCE_S)
        except RunnerEndedError:
            return 0.0
        if real is None:
            return 0.0
        return tamper.unchanged_share(real.returned.tensors, empty.returned.tensors)

    def _timed(self) -> list[Contest]:
        found = []
        for told in self._job["timing"]["cases"]:
            timing = timed_contest.Timing(self._originals, self._candidate, self._job, told)
            with self._turns.shared():
                timing.open()
            with self._turns.alone():
                found.append(timing.value())
        return found

    def _repeated_check_fault(self) -> str | None:
        """The first check once more: what counts its calls has had many by now."""
        check = self._job["checks"][0]
        base = self._originals.base(self._job, check)
        if base.unfit or base.failure:
            return None
        self._over = True
        fault = self._call_fault(check, base, {})
        return fault and f"{check['name']}, after it was timed: {fault}"

    def _honesty(self, prepared: Prepared, told: Found) -> dict[str, Facts]:
        """Facts of both versions over the same calls."""
        skipped = told.get("skipped_same") or {}
        found = {
            "original": self._observed_facts(0, self._original()),
            "candidate": self._observed_facts(1, prepared),
        }
        for name, share in skipped.items():
            found[name]["skipped_same"] = share
        return found

    def _original(self) -> Prepared:
        """What the original's process said when it was ready."""
        with self._originals.lock:
            return self._originals.original(self._job).prepared or {}

    def _observed_facts(self, which: int, prepared: Prepared, *more: Facts) -> Facts:
        """Facts of a version's import and calls as one; 0 is the original, 1 the candidate."""
        facts = (prepared.get("facts") or {}, *self._facts[which], *more)
        return tamper.merged(one for one in facts if one)


def first_checks(checks: Sequence[Check]) -> list[Check]:
    """What comes before the time: a small check. Results of timed calls are judged as well."""
    return [check for check in checks if check.get("required", True)][:1]


def _may_win(timing: Contest) -> bool:
    """Whether nothing that was measured speaks against a candidate."""
    undecided = timing.get("verdict") is None and float(timing.get("low") or 0.0) > 1.0
    faster = timing.get("verdict") == "faster" or undecided
    return faster and not timing.get("wrong") and not timing.get("faults")
