"""Whether a candidate stays: it must have beaten what went in, by evidence this run could get."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tilewright.evaluation.compile_step import spill_bytes
from tilewright.evaluation.model import Evaluation, Level, Promise, StepName, StepResult
from tilewright.knowledge.stages import Stage
from tilewright.serialize import load
from tilewright.targets.model import CompileReport


@dataclass(frozen=True)
class Verdict:
    """Kept or not, and why, in words for a person. ``fixes``: it is kept as the fix of a fault."""

    kept: bool
    reason: str
    fixes: bool = False


def reports_of(evaluation: Evaluation) -> tuple[CompileReport, ...]:
    """The compile reports on record in an evaluation; none if it was not compiled."""
    step = evaluation.step(StepName.COMPILE)
    found = step.data.get("reports", []) if step else []
    return tuple(load(CompileReport, report) for report in found)


def decide(
    stage: Stage,
    before: Evaluation,
    after: Evaluation,
    *,
    can_time: bool,
    fixes: bool = True,
    promise: Promise | None = None,
) -> Verdict:
    """Keep what is measurably faster; where nothing can be timed, what is correct and no worse, and
    of NKI kernels what the cost model tells to be faster.

    A fault that is fixed stays fixed even if the fix costs time, and the reason says what it costs.
    ``fixes``: False where the stage is about faults and the candidate is not known to fix one.
    ``promise``: of the candidate's screening; the reason names it, it decides nothing.
    """
    found = _decide(stage, before, after, can_time=can_time, fixes=fixes)
    if promise is None:
        return found
    return replace(found, reason=f"{found.reason}; screened at {promise.gain:.2f}x")


def _decide(
    stage: Stage, before: Evaluation, after: Evaluation, *, can_time: bool, fixes: bool
) -> Verdict:
    failed, error = after.failed, after.error
    if error is not None:
        return Verdict(False, error.message)
    if after.level is Level.REJECTED:
        assert failed is not None
        return Verdict(False, f"rejected at {failed.step.value}: {failed.message}")
    if not after.level.reaches(Level.CORRECT):
        return Verdict(False, "its results could not be checked, so it is not applied")
    if stage is Stage.CORRECTNESS and fixes:
        return Verdict(True, f"fixes a fault; {_speed_words(after)}", fixes=True)
    if can_time:
        return _by_time(after)
    if (estimated := after.step(StepName.ESTIMATE)) is not None:
        return _by_estimate(after, estimated)
    return _by_compiler(stage, before, after)


def _by_time(after: Evaluation) -> Verdict:
    if after.level is Level.FASTER:
        return Verdict(True, _speed_words(after))
    failed = after.failed
    return Verdict(False, failed.message if failed else "it was not measured")


def _by_estimate(after: Evaluation, step: StepResult) -> Verdict:
    """Faster by more than the cost model may be wrong; nothing was measured."""
    gain = after.estimate
    if gain is None:
        return Verdict(False, f"correct; {step.message or 'its time was not estimated'}")
    return Verdict(gain.is_faster, step.message)


def _by_compiler(stage: Stage, before: Evaluation, after: Evaluation) -> Verdict:
    old, new = reports_of(before), reports_of(after)
    if not new and stage is Stage.AUTOTUNING:
        step = after.step(StepName.COMPILE)
        why = step.message if step else "it was not compiled"
        return Verdict(
            False, f"launch configurations that no compiler and no device has seen: {why}"
        )
    if not new:
        return Verdict(True, "correct; neither compiled for the target nor timed")
    spilled = spill_bytes(old), spill_bytes(new)
    if old and spilled[1] > spilled[0]:
        return Verdict(
            False, f"spills {spilled[1]} bytes a thread where its input spills {spilled[0]}"
        )
    return Verdict(True, f"correct; compiled: {_compared(old, new)}; speed not measured")


def _compared(old: tuple[CompileReport, ...], new: tuple[CompileReport, ...]) -> str:
    """Figures of the compilers before and after, as ranges over configurations."""
    told = []
    for name, unit, of in (
        ("registers", "", lambda report: report.registers),
        ("spilled", " B", lambda report: report.spill_bytes),
        ("shared", " B", lambda report: report.shared_bytes),
    ):
        before, after = _range(old, of), _range(new, of)
        if after is not None:
            change = after if before in (None, after) else f"{before} -> {after}"
            told.append(f"{name} {change}{unit}")
    return ", ".join(told) or "no figures known"


def _range(
    reports: tuple[CompileReport, ...], of: Callable[[CompileReport], int | None]
) -> str | None:
    values = [value for report in reports if report.ok and (value := of(report)) is not None]
    if not values:
        return None
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}..{high}"


def _speed_words(after: Evaluation) -> str:
    speedup = after.speedup
    if after.estimate is not None:
        return f"estimated {after.estimate.words}"
    if speedup is None:
        return "speed not measured"
    return f"{speedup.words} on {speedup.device}"
