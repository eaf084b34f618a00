"""Grades by all measured cases: the geometric mean decides, and no case may lose much."""

import math
from collections.abc import Mapping
from typing import Any

from tilewright.evaluation.model import Evaluation, Level, StepName
from tilewright.search.grade import Grade, refused
from tilewright.search.node import Node, Slot

MOST_LOSS = 0.03
"""Of any case, that a parent may have."""


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
        return _unfit(why)
    gains = {case["case"]: math.log(case["value"]) for case in cases}
    worst = min(gains, key=lambda name: gains[name])
    if gains[worst] < math.log(1 - MOST_LOSS):
        return _unfit(f"on {worst} it loses {100 * (1 - math.exp(gains[worst])):.0f} %")
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


def _unfit(reason: str) -> Grade:
    return Grade(False, False, -math.inf, 0.0, measured=False, reason=reason)
