"""Grades where nothing can be timed: by today's rule, ranked by the static estimate of a launch."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.costs import Estimate, estimate
from tilewright.evaluation.model import EstimatedGain, Evaluation, Level, StepName
from tilewright.knowledge.stages import Stage
from tilewright.search.axes import reports_in
from tilewright.search.grade import Grade, refused, unfit
from tilewright.search.node import IdeaKind, Node, Slot
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.strategies.verdict import decide
from tilewright.targets.model import CompileReport

RESOLUTION = math.log(1.05)
"""Estimates that differ by less say nothing of which is faster."""
MOST_LOSS = 0.03
"""Of any case, that a parent may have."""


class EstimateGrader:
    """Grades by compile reports: what may be returned is what a staged search would keep."""

    def __init__(self, path: str) -> None:
        self._path = path

    def grade(self, slot: Slot, text: str, evaluation: Evaluation) -> Grade:
        """The speed over the root by the estimates of the text and of its parent."""
        failure = refused(evaluation)
        if failure is not None:
            return failure
        parent, stage = slot.parent, slot.idea.stage or Stage.DISCOVERY
        verdict = decide(stage, parent.evaluation, evaluation, can_time=False, fixes=False)
        if evaluation.estimate is not None:
            return _by_cost_model(parent, evaluation.estimate)
        gain = self._gain(parent, text, evaluation)
        told = _estimated(gain)
        kept = verdict.kept and (parent.parent is None or parent.may_return)
        if slot.idea.source is IdeaKind.LAUNCH:
            kept = kept and gain is not None and gain > 0
        return Grade(
            True, kept, parent.log_speed + (gain or 0.0), 0.0, measured=False,
            reason=f"{verdict.reason}; {told}",
        )  # fmt: skip

    def anchored(self, node: Node, evaluation: Evaluation) -> Grade:
        """Nothing is measured once more."""
        del node, evaluation
        return unfit("nothing can be timed")

    def _gain(self, parent: Node, text: str, evaluation: Evaluation) -> float | None:
        """The logarithm of the parent's estimated time over that of the text; 0 if they tie."""
        before = estimated_us(parse_module(parent.text, self._path), parent.evaluation)
        after = estimated_us(parse_module(text, self._path), evaluation)
        if before is None or after is None:
            return None
        gain = math.log(before / after)
        return gain if abs(gain) > RESOLUTION else 0.0


def _by_cost_model(parent: Node, gain: EstimatedGain) -> Grade:
    """Of an NKI kernel: the model's ratios multiply along the tree, so that small gains add up.

    What may be returned is faster than the root by more than the model may be wrong.
    """
    log_speed = parent.log_speed + math.log(gain.value)
    over_root = log_speed > math.log(gain.error)
    return Grade(
        True, over_root, log_speed, 0.0, measured=False,
        reason=f"correct in the simulator; {gain.words}, not measured",
    )  # fmt: skip


def _estimated(gain: float | None) -> str:
    if gain is None:
        return "no static estimate"
    return f"estimated {math.exp(gain):.2f}x" if gain else "estimated to be as fast"


def estimated_us(module: Module, evaluation: Evaluation) -> float | None:
    """Microseconds of all launches by estimate, each kernel with its best configuration.

    None where a launch that compiled has no estimate, or none was compiled.
    """
    return sum(one.us for one in best_estimates(module, reports_in(evaluation))) or None


def best_estimates(module: Module, reports: Sequence[CompileReport]) -> tuple[Estimate, ...]:
    """Of each launch the estimate of its fastest configuration; none if one has no estimate."""
    best: dict[object, Estimate] = {}
    for report in reports:
        found = estimate(module, report)
        if found is None:
            return ()
        place = _place(report)
        best[place] = min(found, best.get(place, found), key=lambda one: one.us)
    return tuple(best.values())


def _place(report: CompileReport) -> object:
    """What is launched on which tensors, whatever the configuration."""
    tensors = tuple((a.name, a.shape) for a in report.launch.arguments if a.kind == "tensor")
    return report.kernel, tensors


class CaseGrader:
    """Grades by the geometric mean of the contests on each case.

    What may be returned is what is faster in every case, as for any other edit.
    """

    def grade(self, slot: Slot, text: str, evaluation: Evaluation) -> Grade:
        """The speed over the root: the parent's, times the mean of the contests."""
        del text
        return _by_cases(evaluation, slot.parent.log_speed, slot.parent.half_width)

    def anchored(self, node: Node, evaluation: Evaluation) -> Grade:
        """The speed over the root as it was measured."""
        del node
        return _by_cases(evaluation, 0.0, 0.0)


def _by_cases(evaluation: Evaluation, log_speed: float, half_width: float) -> Grade:
    failure = refused(evaluation)
    if failure is not None:
        return failure
    step = evaluation.step(StepName.SPEED)
    cases = _contests(step.data if step is not None else {})
    if not cases:
        why = step.message if step and step.message else "it was not measured"
        return unfit(why)
    gains = {case["case"]: math.log(case["value"]) for case in cases}
    worst = min(gains, key=lambda name: gains[name])
    if gains[worst] < math.log(1 - MOST_LOSS):
        return unfit(f"on {worst} it loses {100 * (1 - math.exp(gains[worst])):.0f} %")
    mean = sum(gains.values()) / len(gains)
    widths = [(math.log(case["high"]) - math.log(case["low"])) / 2 for case in cases]
    width = math.hypot(*widths) / len(widths)
    words = (
        f"{math.exp(mean):.3f}x over {len(cases)} cases, {math.exp(gains[worst]):.3f}x on the worst"
    )
    return Grade(
        True, evaluation.level is Level.FASTER, log_speed + mean, math.hypot(half_width, width),
        measured=True, reason=words,
    )  # fmt: skip


def _contests(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What was measured on each case; one case alone has no list."""
    cases = data.get("cases") or ([data] if "value" in data else [])
    return [case for case in cases if "value" in case]
