"""Two verdicts on an evaluation: whether it may be returned, and whether it may be a parent."""

import math
from dataclasses import dataclass
from typing import Protocol

from tilewright.evaluation.model import Evaluation, Level, StepName
from tilewright.search.node import Node, Slot


@dataclass(frozen=True)
class Grade:
    """What an evaluation allows.

    Attributes:
        parent: every check that was made passed; the population decides whether it is quick enough.
        may_return: the evidence allows it as a result, before the final measurement.
        log_speed, half_width: over the root.
        measured: False where ``log_speed`` is a static estimate.
        reason: in words for a person.
    """

    parent: bool
    may_return: bool
    log_speed: float
    half_width: float
    measured: bool
    reason: str


class Grader(Protocol):
    """Turns evaluations into grades."""

    def grade(self, slot: Slot, text: str, evaluation: Evaluation) -> Grade:
        """Of a text that was judged against the slot's parent."""
        ...

    def anchored(self, node: Node, evaluation: Evaluation) -> Grade:
        """Of a node that was judged once more, against the root."""
        ...


class ContestGrader:
    """Grades by contests between a text and its parent, chained along the tree."""

    def grade(self, slot: Slot, text: str, evaluation: Evaluation) -> Grade:
        """The speed over the root: the parent's, times the ratio of the contest."""
        del text
        return _by_contest(evaluation, slot.parent.log_speed, slot.parent.half_width)

    def anchored(self, node: Node, evaluation: Evaluation) -> Grade:
        """The speed over the root as it was measured."""
        return _by_contest(evaluation, 0.0, 0.0)


def refused(evaluation: Evaluation) -> Grade | None:
    """The grade of what failed a check or could not be checked; None if every check passed."""
    if evaluation.error is not None:
        return unfit(evaluation.error.message)
    failed = evaluation.failed
    if evaluation.level is Level.REJECTED:
        where = f"rejected at {failed.step.value}: {failed.message}" if failed else "rejected"
        return unfit(where)
    if not evaluation.level.reaches(Level.CORRECT):
        return unfit("its results could not be checked, so it is not applied")
    return None


def unfit(reason: str) -> Grade:
    """The grade of what may be neither returned nor a parent."""
    return Grade(False, False, -math.inf, 0.0, measured=False, reason=reason)


def _by_contest(evaluation: Evaluation, log_speed: float, half_width: float) -> Grade:
    failure = refused(evaluation)
    if failure is not None:
        return failure
    speedup = evaluation.speedup
    if speedup is None:
        step = evaluation.step(StepName.SPEED)
        return unfit(step.message if step and step.message else "it was not measured")
    low, high = math.log(speedup.low), math.log(speedup.high)
    reached = log_speed + math.log(speedup.value)
    width = math.hypot(half_width, (high - low) / 2)
    faster = evaluation.level is Level.FASTER
    words = f"{speedup.words} on {speedup.device}"
    over_root = faster and reached - width > (speedup.noise or 0.0)
    return Grade(True, over_root, reached, width, measured=True, reason=words)
