"""What the prompts of a run may say, from the source, the problem and what is on record."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.agents.briefing import Briefing
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.costs.nki.model import NkiEstimate
from tilewright.devices.model import is_neuron_target
from tilewright.evaluation.estimate_step import static_estimate
from tilewright.evaluation.model import Evaluation, Speedup, text_hash
from tilewright.evaluation.workbench import BrokenOffError, Workbench
from tilewright.figures import scaled, time
from tilewright.hardware.chips import neuron_chip
from tilewright.harness_fault import HarnessFaultError
from tilewright.problems.model import Case, Input, Problem
from tilewright.profiling.run import profile_source
from tilewright.source.model import Module
from tilewright.store.ledger import Ledger
from tilewright.strategies.model import Trial
from tilewright.strategies.verdict import reports_of
from tilewright.targets.model import CompileReport, Target

_MOST_WORDS = 240
"""Characters of a trial's line: what failed stands first in a reason."""
_MOST_FINDINGS = 2
_SHOWN_FACTS = (
    "roof.percent", "bandwidth.percent", "rate.percent", "occupancy.compiled", "intensity", "host",
)  # fmt: skip


@dataclass(frozen=True)
class Position:
    """Where the search is: the text it has reached and what is known of it."""

    module: Module
    context: AnalysisContext
    issues: tuple[Issue, ...]
    trials: Sequence[Trial]
    present: Callable[[], Evaluation] | None


class Briefer:
    """Writes the briefings of one run.

    A briefing follows from the text and from what the ledger holds, so that a run that is resumed
    or replayed sends the same prompts.
    """

    def __init__(
        self,
        original: str,
        path: Path,
        bench: Workbench,
        target: Target | None,
        ledger: Ledger,
        note: Callable[[str], None],
    ) -> None:
        self._original = original
        self._path = path
        self._bench = bench
        self._target = target
        self._ledger = ledger
        self._note = note

    @property
    def measured(self) -> bool:
        """Whether candidates are timed."""
        return self._bench.device.info.can_time

    def briefing(self, position: Position, suspected: Sequence[Issue] = ()) -> Briefing:
        """What is known of a position. ``suspected``: issues that a model reported."""
        problem, text = self._bench.problem, position.module.text
        present = position.present() if position.present is not None else None
        return Briefing(
            path=str(self._path),
            original=self._original,
            text=text,
            context=position.context,
            entry=problem.entry,
            problem="\n".join(problem_words(problem)),
            issues=(*position.issues, *suspected),
            facts=(
                *_times(text_hash(text), position.trials),
                *self._estimated(text),
                *self._profiled(text),
                *_compiled(reports_of(present) if present else ()),
            ),
            schedule=tuple(trial_words(trial) for trial in position.trials if trial.kept),
            tried=tuple(trial_words(trial) for trial in reversed(position.trials)),
            permissions=frozenset(problem.allow),
            measured=self.measured,
        )

    def bottlenecks(self, text: str) -> tuple[str, ...]:
        """What a profile finds to hold the text back, the heaviest first."""
        return self._profiled(text)

    def summary(self, text: str) -> tuple[str, ...]:
        """The heaviest findings of a profile, for a candidate that is correct and not faster."""
        return self._profiled(text)[:_MOST_FINDINGS]

    def _estimated(self, text: str) -> tuple[str, ...]:
        """What the cost model says of an NKI kernel, under the profiler's names."""
        if self._target is None or not is_neuron_target(self._target):
            return ()
        problem = self._bench.problem
        cases = (*problem.measured_cases(), *problem.check_cases())
        chip = neuron_chip(self._target)
        found = static_estimate(text, str(self._path), problem.entry, cases[0], chip)
        return () if isinstance(found, str) else tuple(estimate_words(found, cases[0].name))

    def _profiled(self, text: str) -> tuple[str, ...]:
        """What a profile of the text says, where the device can time; on record once made.

        The problem's checks are left out: the cascade has made them for each text that comes here.
        Hardware counters are read of the original alone: a profiler cannot confine what it starts.
        """
        if not self.measured:
            return ()

        def profiled() -> Any:
            try:
                return profile_source(
                    text,
                    str(self._path),
                    self._bench,
                    self._target,
                    lambda percent, message: None,
                    counters=text == self._original,
                    verify=False,
                )
            except (BrokenOffError, HarnessFaultError) as error:
                return {"kernels": [], "call": None, "failure": str(error)}

        key = f"profile:{text_hash(text)}"
        value = self._ledger.once("profile", key, {"candidate": text_hash(text)}, profiled)
        if failure := value.get("failure"):
            self._note(f"prompts are without a profile: {failure}")
        return tuple(profile_words(value))


def estimate_words(found: NkiEstimate, case: str) -> Iterator[str]:
    """An estimate as sentences: times, engines, heaviest lines, terms of the profiler."""
    low, usual, high = (f"{seconds * 1e6:.3g}" for seconds in (found.low, found.usual, found.high))
    yield (
        f"Estimated for {found.target}, not measured: {usual} us [{low}, {high}] ({case}), "
        f"{found.roofline_percent:.0f} % of the roofline; the {found.bottleneck.value} engine is "
        f"busy longest."
    )
    busy = sorted(found.busy.items(), key=lambda item: -item[1])
    yield "Busy: " + ", ".join(f"{engine.value} {s * 1e6:.3g} us" for engine, s in busy if s) + "."
    for line in sorted(found.lines, key=lambda one: -max(one.busy.values(), default=0.0))[:3]:
        engine, seconds = max(line.busy.items(), key=lambda item: item[1])
        yield f"Line {line.line} keeps the {engine.value} engine busy for {seconds * 1e6:.3g} us."
    terms = [f"{name} {value:.4g}" for name, value in found.terms.items() if value is not None]
    yield f"Terms of neuron-profile, estimated: {', '.join(terms)}."


def problem_words(problem: Problem) -> Iterator[str]:
    """Entry point, reference, shapes, types and tolerance of a problem."""
    entry = problem.entry
    yield f"Entry point: {entry.kind.value} {entry.preferred or entry.name}."
    if problem.reference is not None:
        yield f"Results are compared with a reference, {problem.reference.name}."
    for what, cases in (
        ("Timed", problem.measured_cases()),
        ("Checked as well", problem.check_cases()),
    ):
        yield from (f"{what}: {case_words(case)}" for case in cases)
    yield from problem.facts


def case_words(case: Case) -> str:
    """One case: its inputs and tolerances."""
    inputs = ", ".join(map(_input_words, case.inputs))
    dims = ", ".join(f"{name} = {value}" for name, value in case.dims.items())
    told = [f"{case.name}: {inputs or dims or 'inputs that the module makes'}"]
    if inputs and dims:
        told.append(f"with {dims}")
    if case.launch is not None:
        told.append(f"launching {case.launch.kernel} on the grid {case.launch.grid}")
    told.append(f"rtol {case.rtol:g}, atol {case.atol:g}")
    return "; ".join(told)


def _input_words(one: Input) -> str:
    if one.value is not None:
        return f"{one.name} = {one.value!r}"
    extents = " x ".join(map(str, one.shape)) or "0-d"
    return f"{one.name} {one.dtype} [{extents}]"


def _times(current: str, trials: Sequence[Trial]) -> Iterator[str]:
    """How long the text takes, where it was timed."""
    found = timed(current, trials)
    if found is not None:
        us, speedup = found
        yield f"The present text takes {time(us)} on {speedup.device} ({speedup.case})."


def timed(current: str, trials: Sequence[Trial]) -> tuple[float, Speedup] | None:
    """The microseconds of a text, by the last trial that timed it, and that contest."""
    for trial in reversed(trials):
        found = trial.evaluation.speedup
        if found is not None and current == found.baseline:
            return found.original_us, found
        if found is not None and current == trial.evaluation.candidate:
            return found.candidate_us, found
    return None


def profile_words(value: Any) -> Iterator[str]:
    """The findings of a profile, the heaviest first, then each subject's bottleneck and shares."""
    subjects = [*value["kernels"], *([value["call"]] if value["call"] else [])]
    findings = {
        finding["text"]: (finding["weight"], finding["line"])
        for subject in subjects
        for finding in subject["findings"]
    }
    for text, (_, line) in sorted(findings.items(), key=lambda item: -item[1][0]):
        yield f"{text} (line {line})" if line else str(text)
    for subject in subjects:
        name = subject.get("name", "The whole call")
        if subject["time"]:
            yield f"{name}: {time(subject['time']['median_us'])} measured."
        if subject["bottleneck"]:
            yield f"{name}: bottleneck {subject['bottleneck']}."
        yield from (
            f"{name}: {fact['name']} {scaled(fact['value'], fact['unit'])}, {fact['source']}."
            for fact in subject["facts"]
            if fact["name"] in _SHOWN_FACTS
        )


def _compiled(reports: Sequence[CompileReport]) -> Iterator[str]:
    """A row for each kernel and configuration that was compiled."""
    yield from dict.fromkeys(map(report_words, reports))


def report_words(report: CompileReport) -> str:
    """A report as one row."""
    options = ", ".join(f"{name}={value}" for name, value in sorted(report.launch.options.items()))
    name = f"{report.kernel} ({options})" if options else report.kernel
    if not report.ok:
        said = report.messages[0].text if report.messages else "no message"
        return f"{name} does not compile for {report.target}: {said}"
    figures = [
        f"{value} {unit}"
        for value, unit in (
            (report.registers, "registers a thread"),
            (report.spill_bytes, "bytes spilled a thread"),
            (report.shared_bytes, "bytes of shared memory"),
        )
        if value is not None
    ]
    return f"{name} compiled for {report.target}: {', '.join(figures) or 'no figures known'}."


def trial_words(trial: Trial) -> str:
    """One trial as a line."""
    verdict = "kept" if trial.kept else "not kept"
    line = (
        f"{trial.stage.value}: {_first_line(trial.candidate.rationale)}: "
        f"{verdict}: {_first_line(trial.reason)}"
    )
    return line if len(line) <= _MOST_WORDS else f"{line[: _MOST_WORDS - 3]}..."


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
