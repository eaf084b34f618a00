"""The cascade: steps in order of cost, stopped at the first that fails."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace

from tilewright.analysis import AnalysisContext, Issue, analyze
from tilewright.devices.model import is_neuron_target
from tilewright.evaluation.compile_step import check_compile
from tilewright.evaluation.constraints import constraint_violations
from tilewright.evaluation.correctness import (
    UNJUDGED,
    correctness_step,
    planned_checks,
    without_verdict,
)
from tilewright.evaluation.estimate_step import estimate_step
from tilewright.evaluation.model import (
    EstimatedGain,
    Evaluation,
    Level,
    Speedup,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.evaluation.pytest_run import tests_step
from tilewright.evaluation.replaying import launch_faults
from tilewright.evaluation.rules.comparison import rule_verdict
from tilewright.evaluation.speed import not_measured, planned_timing, speed_step
from tilewright.evaluation.syntax import check_syntax
from tilewright.evaluation.trial_client import Heard, Timing, hear
from tilewright.evaluation.workbench import Workbench
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.model import ADVICE, POSSIBLE
from tilewright.problems.model import Entry
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.targets.model import Target

NO_PROBLEM = (
    "there is no spec to run it on; put a spec next to the kernel ({stem}.yaml), pass --problem "
    "(a spec, a module with Model and get_inputs, a task's folder), or capture launches "
    "(`tilewright capture -- COMMAND`)"
)


NOT_COMPILED = (
    "Tilewright runs no compiler for {target}; the kernel was parsed and simulated instead"
)
OnStep = Callable[[StepName], None]


def silent(step: StepName) -> None:
    """Say nothing of the steps."""


class Cascade:
    """Judges candidates against one original.

    Args:
        original: the user's text; correctness is always judged against it, never against an
            intermediate result, so that errors cannot add up.
        path: its file name, for messages.
        bench: None when there is no problem: candidates then get no further than structure.
        target: what to compile for; None skips compilation.
    """

    def __init__(
        self,
        original: str,
        path: str,
        bench: Workbench | None,
        target: Target | None,
    ) -> None:
        self.original = original
        self.path = path
        self.bench = bench
        self.target = target

    def judge(
        self, text: str, baseline: str, *, thorough: bool = True, on_step: OnStep = silent
    ) -> Evaluation:
        """Take a candidate's text through the steps; speed is measured against ``baseline``.

        Args:
            thorough: make every check even of what is measured not to be faster.
            on_step: is given the name of each step as it begins.
        """
        steps: list[StepResult] = []
        aside = ThreadPoolExecutor(1)
        trial = _Trial(self, text, baseline, aside, thorough)
        try:
            speedup, gain = self._judge(text, trial, steps, on_step)
        finally:
            aside.shutdown(wait=False)  # of what does not compile nobody needs the trial
        return Evaluation(
            text_hash(text), text_hash(baseline), level_of(steps), tuple(steps), speedup, gain
        )

    def _judge(
        self, text: str, trial: "_Trial", steps: list[StepResult], on_step: OnStep
    ) -> tuple[Speedup | None, EstimatedGain | None]:
        """Fill ``steps`` up to the first that fails; what the last ones measured or estimated."""
        for name, step in (
            (StepName.SYNTAX, lambda: check_syntax(text)),
            (StepName.STRUCTURE, lambda: self._structure(text)),
            (StepName.COMPILE, lambda: trial.meanwhile(lambda: self._compile(text))),
            (StepName.CORRECTNESS, trial.correctness),
        ):
            on_step(name)
            steps.append(_clocked(name, step))
            if steps[-1].status in (StepStatus.FAILED, StepStatus.ERROR):
                return None, None
        gain = None
        if self._is_neuron:
            on_step(StepName.ESTIMATE)
            started = time.perf_counter()
            estimated, gain = trial.estimate(steps[-1])
            steps.append(replace(estimated, seconds=time.perf_counter() - started))
        on_step(StepName.SPEED)
        started = time.perf_counter()
        last, speedup = trial.speed(steps)
        steps.append(replace(last, seconds=time.perf_counter() - started))
        return speedup, gain

    @property
    def _is_neuron(self) -> bool:
        """Whether what is judged are NKI kernels, whose time is estimated from their text."""
        return self.target is not None and is_neuron_target(self.target)

    def _structure(self, text: str) -> StepResult:
        checked = check_structure(
            parse_module(self.original, self.path),
            parse_module(text, self.path),
            self._entry(),
            self.target,
            self.triton_version,
            self.bench.problem.allow if self.bench else (),
        )
        if self.bench is None or not self.bench.problem.is_captured:
            return checked
        told = launch_faults(self.bench.problem, self.path, text)
        faults = [fault for fault in told if fault not in checked.message]
        if not faults:
            return checked
        message = "; ".join(filter(None, (checked.message, *faults)))
        return StepResult(StepName.STRUCTURE, StepStatus.FAILED, message)

    @property
    def triton_version(self) -> tuple[int, int] | None:
        """(major, minor) of the Triton that runs candidates; None where nothing runs."""
        if self.bench is None or not self.bench.device.info.triton or self._is_neuron:
            return None
        major, minor, *_ = self.bench.device.info.triton.split(".")
        return int(major), int(minor)

    def _entry(self) -> Entry | None:
        return self.bench.problem.entry if self.bench else None

    def _compile(self, text: str) -> StepResult:
        if self.target is None:
            return _skipped(StepName.COMPILE, "no target was named")
        if self._is_neuron:
            return _skipped(StepName.COMPILE, NOT_COMPILED.format(target=self.target))
        if self.bench is None:
            return _skipped(StepName.COMPILE, self.no_problem())
        problem = self.bench.problem
        cases = problem.compiled_cases()
        if not cases:
            return _skipped(StepName.COMPILE, f"{problem.path} has no case to compile for")
        return check_compile(self.bench, text, cases, self.target)

    def no_problem(self) -> str:
        """What to do where there is nothing to run it on."""
        return NO_PROBLEM.format(stem=self.path.rsplit("/", 1)[-1].removesuffix(".py"))


class _Trial:
    """Correctness and speed of one candidate, by the device's coordinator, in one job."""

    def __init__(
        self, cascade: Cascade, text: str, baseline: str, aside: Executor, thorough: bool
    ) -> None:
        self._thorough = thorough
        self._cascade = cascade
        self._aside = aside
        self._begun: Future[Heard | None] | None = None
        self._text = text
        self._baseline = baseline
        self._timing: Timing | None = None
        self._heard: Heard | None = None

    def meanwhile(self, compile_it: Callable[[], StepResult]) -> StepResult:
        """Compile for the report while the device judges the candidate."""
        if self._cascade.bench is not None:
            self._begun = self._aside.submit(self._hear)
        return compile_it()

    def correctness(self) -> StepResult:
        """The correctness step, from the coordinator's answer."""
        bench = self._cascade.bench
        if bench is None:
            return _skipped(StepName.CORRECTNESS, self._cascade.no_problem())
        self._heard = self._begun.result() if self._begun is not None else self._hear()
        checked = correctness_step(bench, self._heard, self._text)
        return (
            checked
            if self._text == self._cascade.original
            else tests_step(bench, self._text, checked)
        )

    def _hear(self) -> Heard | None:
        """Run the trial with all checks; None if there is no check to make."""
        bench, original, text = self._cascade.bench, self._cascade.original, self._text
        assert bench is not None
        if text != self._baseline:
            self._timing = planned_timing(bench, self._baseline, text)
        checks = planned_checks(bench, original, text)
        if not checks:
            return None
        return hear(bench, original, text, checks, self._timing, thorough=self._thorough)

    def estimate(self, checked: StepResult) -> tuple[StepResult, EstimatedGain | None]:
        """What the cost model says of the candidate and its baseline."""
        bench, target = self._cascade.bench, self._cascade.target
        assert target is not None
        if bench is None:
            return _skipped(StepName.ESTIMATE, self._cascade.no_problem()), None
        if checked.status is not StepStatus.PASSED:
            return _skipped(StepName.ESTIMATE, "not estimated: its results were not checked"), None
        if self._text == self._baseline:
            return _skipped(StepName.ESTIMATE, "not estimated: it is the same text"), None
        return estimate_step(bench, self._baseline, self._text, target)

    def speed(self, steps: list[StepResult]) -> tuple[StepResult, Speedup | None]:
        """What it said of speed, or why there is nothing to say."""
        bench = self._cascade.bench
        if bench is None:
            return _skipped(StepName.SPEED, self._cascade.no_problem()), None
        checked = next(step for step in steps if step.step is StepName.CORRECTNESS)
        if checked.status is not StepStatus.PASSED:
            return _skipped(StepName.SPEED, "not measured: its results were not checked"), None
        if self._text == self._baseline:
            return _skipped(StepName.SPEED, "not measured: it is the same text"), None
        if self._timing is None or self._heard is None:
            return not_measured(bench.device.info).step, None
        timed = speed_step(bench, self._timing, self._heard)
        return timed.step, timed.speedup


def level_of(steps: list[StepResult]) -> Level:
    """How far the steps carry.

    ``correct`` does not need ``compiled``: a kernel checked in the interpreter for a chip whose
    compiler is missing is correct according to the interpreter, and the skipped step says the
    rest. A failed speed step leaves ``correct``: it is right, only not faster.
    """
    status = {step.step: step.status for step in steps}
    if StepStatus.FAILED in (
        status.get(name, StepStatus.FAILED)
        for name in (StepName.SYNTAX, StepName.STRUCTURE, StepName.COMPILE, StepName.CORRECTNESS)
    ):
        return Level.REJECTED
    level = Level.PARSED
    for name, reached in (
        (StepName.COMPILE, Level.COMPILED),
        (StepName.CORRECTNESS, Level.CORRECT),
        (StepName.SPEED, Level.FASTER),
    ):
        if status.get(name) is StepStatus.PASSED:
            level = reached
    return level


def _clocked(name: StepName, step: Callable[[], StepResult]) -> StepResult:
    started = time.perf_counter()
    try:
        result = step()
    except UNJUDGED as error:
        result = without_verdict(name, error)
    assert result.step is name
    return replace(result, seconds=time.perf_counter() - started)


def _skipped(name: StepName, why: str) -> StepResult:
    return StepResult(name, StepStatus.SKIPPED, why)


def check_structure(
    original: Module,
    candidate: Module,
    entry: Entry | None,
    target: Target | None,
    triton_version: tuple[int, int] | None = None,
    allow: Collection[str] = (),
) -> StepResult:
    """Compare the candidate's structure with the original's; every violation is named.

    ``data["evidence_needed"]`` lists what only running the candidate can settle, and
    ``data["permitted"]`` what it does by leave of the project's ``allow``.
    """
    if candidate.text == original.text:
        return StepResult(StepName.STRUCTURE, StepStatus.PASSED)
    verdict = rule_verdict(original, candidate, entry, allow)
    faults = (
        *verdict.faults,
        *constraint_violations(original, candidate, target, triton_version),
        *certain_faults(original, candidate, AnalysisContext(target, triton_version)),
    )
    told = {"evidence_needed": list(verdict.questions), "permitted": list(verdict.permitted)}
    data = {name: texts for name, texts in told.items() if texts}
    status = StepStatus.FAILED if faults else StepStatus.PASSED
    return StepResult(StepName.STRUCTURE, status, "; ".join(faults), data=data)


def certain_faults(
    original: Module, candidate: Module, context: AnalysisContext
) -> tuple[str, ...]:
    """Each new one with its line. Comments that suppress it in the candidate change nothing."""
    before = Counter(issue.id for issue in _certain(original, context))
    after = tuple(_certain(candidate, context))
    counts = Counter(issue.id for issue in after)
    return tuple(
        f"line {issue.range.line}: {issue.message} ({issue.id}; the original has no such "
        f"fault, see `tilewright explain {issue.id}`)"
        for issue in after
        if counts[issue.id] > before[issue.id]
    )


def _certain(module: Module, context: AnalysisContext) -> Iterator[Issue]:
    """Issues that are faults for sure; none that is less severe than others of its kind."""
    types = taxonomy()
    for one in analyze(module, context, suppressed=True):
        kind = types[one.id]
        least = ADVICE if kind.some_calls else POSSIBLE
        if kind.certain and one.severity >= min(kind.severity, least):
            yield one
