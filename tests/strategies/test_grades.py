"""Grades by static estimates: what may be returned, and that ties decide nothing."""

import math
from typing import Any

import pytest

from tilewright.evaluation.model import (
    Candidate,
    Evaluation,
    Level,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.knowledge.stages import Stage
from tilewright.search.node import Idea, IdeaKind, Node, Slot, State
from tilewright.strategies import grades
from tilewright.strategies.grades import EstimateGrader

REPORT = {
    "target": {"backend": "cuda", "arch": "90"}, "kernel": "k", "ok": True, "registers": 32,
    "launch": {"kernel": "k", "arguments": [], "options": {}, "grid": [1]},
}  # fmt: skip


def evaluation(text: str, *, level: Level = Level.CORRECT) -> Evaluation:
    compiled = StepResult(StepName.COMPILE, StepStatus.PASSED, data={"reports": [REPORT]})
    return Evaluation(text_hash(text), text_hash("root"), level, (compiled,))


ROOT = Node(
    text_hash("root"), "root", None, None, "0", 0, 0, evaluation("root"), 0.0, 0.0, (0,),
    State.ALIVE, may_return=True, measured=False,
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "us", "may_return", "log_speed", "words"),
    [
        (IdeaKind.REWRITE, 50.0, True, math.log(2), "estimated 2.00x"),
        (IdeaKind.REWRITE, 99.0, True, 0.0, "estimated to be as fast"),
        (IdeaKind.REWRITE, 200.0, True, -math.log(2), "estimated 0.50x"),
        (IdeaKind.REWRITE, None, True, 0.0, "no static estimate"),
        (IdeaKind.LAUNCH, 50.0, True, math.log(2), "estimated 2.00x"),
        (IdeaKind.LAUNCH, 97.0, False, 0.0, "estimated to be as fast"),
        (IdeaKind.LAUNCH, None, False, 0.0, "no static estimate"),
    ],
)
def test_what_may_be_returned_by_an_estimate(
    monkeypatch: pytest.MonkeyPatch,
    kind: IdeaKind,
    us: float | None,
    may_return: bool,
    log_speed: float,
    words: str,
) -> None:
    def estimated(module: Any, found: Evaluation) -> float | None:
        return 100.0 if found.candidate == ROOT.hash else us

    monkeypatch.setattr(grades, "estimated_us", estimated)
    text = "changed"
    stage = Stage.AUTOTUNING if kind is IdeaKind.LAUNCH else Stage.FUSION
    idea = Idea("a", "a", kind, stage, candidate=Candidate(text, ROOT.hash, "a", "a"))
    grade = EstimateGrader("kernel.py").grade(Slot(1, 1, ROOT, idea), text, evaluation(text))
    assert (grade.parent, grade.may_return, grade.measured) == (True, may_return, False)
    assert grade.log_speed == pytest.approx(log_speed)
    assert words in grade.reason


def test_what_failed_is_neither() -> None:
    wrong = StepResult(StepName.CORRECTNESS, StepStatus.FAILED, "output 0 differs")
    found = Evaluation(text_hash("x"), ROOT.hash, Level.REJECTED, (wrong,))
    grade = EstimateGrader("kernel.py").grade(
        Slot(1, 1, ROOT, Idea("a", "a", IdeaKind.REWRITE)), "x", found
    )
    assert (grade.parent, grade.may_return) == (False, False)
    assert grade.reason == "rejected at correctness: output 0 differs"
