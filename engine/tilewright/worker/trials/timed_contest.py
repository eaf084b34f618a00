"""The candidate's time: a contest in its own process, conducted and checked from here."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from ..inputs import tensor_files
from ..protocol import ERROR
from ..timing import resampled_inputs
from ..timing.controller import Ask, conduct
from ..timing.noise_floor import clean_time, survey
from ..timing.sampling import sampled
from . import answers, results
from .baselines import Base, Originals, message_of, runner_of
from .runner_handle import CandidateEndedError, Handle, RunnerEndedError, judging, owned
from .version import place_of

if TYPE_CHECKING:
    from ..messages.parts import Case
    from ..messages.trial import Called, Check, Contest, Message, TimedCase, TrialJob

_OPEN_S = 120.0
_SPEC = ("noise", "budget_s", "graphs")


class Timing:
    """One case of a candidate, timed against the baseline.

    Args:
        told: a check (case, seed, launching), noise (floors by class of duration), budget_s.
    """

    def __init__(
        self, originals: Originals, candidate: Handle, job: TrialJob,
        told: TimedCase,
    ) -> None:  # fmt: skip
        self._originals = originals
        self._candidate = candidate
        self._job = job
        self._told = told
        self._check = _timed(told)
        self._base = originals.base(job, self._check)
        self._failed: dict[str, str] | None = None
        if self._base.failure:
            self._failed = _failure(RunnerEndedError(ERROR, self._base.failure))

    def open(self) -> None:
        """Have the candidate's process get both versions and their inputs ready."""
        if self._failed is not None:
            return
        base, check = self._base, self._check
        if base.plan is None:
            base.plan = resampled_inputs.plan_for(
                tensor_files.load(base.inputs, "cpu"), check["case"]
            )
        message = message_of(check, baseline=self._job["timing"]["baseline"])
        try:
            _open(self._originals, self._candidate, base, message)
        except RunnerEndedError as error:
            self._failed = _failure(error)
        finally:
            self._candidate.clear()

    def value(self) -> Contest:
        """What ``timing.conducting.conduct`` says; ``failed`` where it could not be timed: ``of``
        ("candidate" or "original"), status, message."""
        case = self._check["case"]
        if self._failed is not None or self._base.plan is None:
            return _untimed(case, self._failed)
        base, plan = self._base, self._base.plan
        spec = {
            **{key: value for key, value in self._told.items() if key in _SPEC},
            "plan": plan, "out": str(self._candidate.outbox / "timed"),
            "batches": True if self._job.get("thorough", True) else "gains",
            "seed": base.secrets[random.SystemRandom().randrange(len(base.secrets))],
        }  # fmt: skip
        alone = _Alone(self._originals, self._job, self._check, base, spec)
        verify = _Verify(self._originals, self._candidate, self._job, self._check, plan)
        try:
            spec["original_us"] = alone.clean()
            with self._candidate.answering():
                found = conduct(verify.ask, spec, verify, alone.measured, alone.survey)
        except RunnerEndedError as error:
            return _untimed(case, _failure(error))
        finally:
            self._candidate.clear()
        return cast("Contest", {"case": _name(case), **found})


def timed_checks(job: TrialJob) -> list[Check]:
    """The checks whose inputs and results a trial's timing begins with."""
    return [_timed(told) for told in job["timing"]["cases"]] if "timing" in job else []


def _timed(told: TimedCase) -> Check:
    return {**told["check"], "seed": 0}


def _open(originals: Originals, runner: Handle, base: Base, message: Message) -> None:
    originals.answer_about(runner, base, message_of(message, do="time.open"), _OPEN_S)


class _Alone:
    """The baseline with no candidate in its process."""

    def __init__(
        self, originals: Originals, job: TrialJob, check: Check, base: Base,
        spec: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self._originals = originals
        self._job = runner_of(job, job["timing"]["baseline"])
        self._check = check
        self._base = base
        self._spec = spec

    def clean(self) -> float:
        """Microseconds a call, measured once for each baseline and case."""
        known = self._base.clean_us
        if self._job["module"] not in known:
            known[self._job["module"]] = self.measured()
        return known[self._job["module"]]

    def measured(self) -> float:
        """The same, measured now."""
        with self._originals.lock, judging():
            return clean_time(self._opened(twice=False), self._spec)

    def survey(self) -> dict[str, Any]:
        """How far the baseline strays from itself."""
        with self._originals.lock, judging():
            return survey(self._opened(twice=True), self._spec)

    def _opened(self, *, twice: bool) -> Ask:
        runner = self._originals.runner(self._job)
        _open(self._originals, runner, self._base, message_of(self._check, twice=twice))
        runner.clear()
        return runner.ask


class _Verify:
    """Compares outputs of a timed call with results for the coordinator's own inputs."""

    def __init__(
        self, originals: Originals, candidate: Handle, job: TrialJob,
        check: Check, plan: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._originals = originals
        self._candidate = candidate
        self._job = job
        self._check = message_of(check, plan=dict(plan))
        self._seed = 0

    def ask(self, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Ask the candidate; which parts of a large result it shows is drawn when it has it."""
        if message["do"] == "time.retained":
            self._seed = random.SystemRandom().getrandbits(48)
            message = {**message, "sample": self._seed}
        reply: dict[str, Any] = self._candidate.ask(message, timeout_s)
        return reply

    def __call__(self, turn: int, outputs: list[dict[str, Any]]) -> str | None:
        """What is wrong with the outputs of a call on the contents of ``turn``."""
        check = message_of(self._check, turn=turn)
        with judging():
            # Precision was judged against the oracle: here the original's own result will do.
            base = self._originals.base({**self._job, "reference": None}, check)
            if base.oracle is None or base.original is None:
                raise RunnerEndedError(ERROR, base.failure)
            oracle = base.oracle.returned  # what a module keeps is not looked at while it is timed
            parts = tuple(sampled(value, self._seed) for value in oracle.values)
            expected = replace(oracle, values=parts)
        entries = owned(answers.manifest(outputs, "outputs"), self._candidate.outbox)
        told: Called = {
            "outputs": entries, "changed_inputs": [], "output_tree": base.original.tree
        }  # fmt: skip
        given = results.read(told, place_of(self._originals.device))
        with judging():
            return results.fault(expected, None, given, _twice_as_wide(check))


def _untimed(case: Case, failed: dict[str, str] | None) -> Contest:
    return {"case": _name(case), "failed": failed, "wrong": None, "faults": []}


def _name(case: Case) -> str:
    return f"{case['category']}[{case['index']}]"


def _failure(error: RunnerEndedError) -> dict[str, str]:
    """Why there is no time, and whose failure that is."""
    of = "candidate" if isinstance(error, CandidateEndedError) else "original"
    return {"of": of, "status": error.status, "message": str(error)}


def _twice_as_wide(check: Message) -> Message:
    """A check between two results that may each be off by the spec's tolerance."""
    case = check["case"]
    wide: Case = {**case, "rtol": 2 * case["rtol"], "atol": 2 * case["atol"]}
    return {**check, "case": wide}
