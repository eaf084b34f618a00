"""Transitions and entries as short as a test can write them."""

from typing import Any

from tilewright.evaluation.model import (
    Candidate,
    Evaluation,
    Level,
    Speedup,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.memory.model import (
    Experience,
    Measured,
    Origin,
    Outcome,
    Provenance,
    Query,
    Signature,
    Transition,
)
from tilewright.search.node import Idea, IdeaKind

ROWS = Signature("triton", reductions=("sum:axis",), dtypes=("fp16",), rank=2, chip="cuda:90",
                 tiles=("row",), extents=(4096, 1024))  # fmt: skip


def speedup(ratio: float, wide: float = 0.01, noise: float = 0.005) -> Speedup:
    return Speedup(
        ratio, ratio - wide, ratio + wide, 0.99, noise, 100.0, 100.0 / ratio, "0" * 32, "a GPU",
        "ci[0]", 20,
    )  # fmt: skip


def evaluation(before: str, after: str, ratio: float | None, wide: float = 0.01) -> Evaluation:
    """A contest with this ratio; None: the results are wrong."""
    names = text_hash(after), text_hash(before)
    if ratio is None:
        wrong = StepResult(StepName.CORRECTNESS, StepStatus.FAILED, "output 0 differs")
        return Evaluation(*names, Level.REJECTED, (wrong,))
    found = speedup(ratio, wide)
    return Evaluation(*names, Level.FASTER if found.is_faster else Level.CORRECT, (), found)


def idea(key: str, issue: str | None = None, text: str | None = None) -> Idea:
    candidate = Candidate(text, None, key, key, None, (issue,) if issue else ()) if text else None
    return Idea(f"{key}@kernel:7", f"do {key}", IdeaKind.REWRITE, None, (), candidate)


def transition(
    key: str,
    ratio: float | None,
    before: str = "x = tl.load(p)\n",
    after: str = "",
    **given: Any,
) -> Transition:
    after = after or f"{before}# {key} {ratio}\n"
    source = Provenance(
        given.pop("project", "/p"), "kernel.py", text_hash(before), given.pop("run", "run"),
        Origin.CONTEST, given.pop("generation", 1),
    )  # fmt: skip
    done = idea(key, given.pop("issue", None), after)
    judged = evaluation(before, after, ratio, given.pop("wide", 0.01))
    return Transition(before, after, done, judged, given.pop("signature", ROWS), source, **given)


def entry(
    key: str = "rewrite:hoist_load",
    issue: str | None = "loop_invariant_code",
    ratio: float = 1.3,
    **given: Any,
) -> Experience:
    source = Provenance(
        given.pop("project", "/p"), "kernel.py", given.pop("kernel", "f" * 32), "run",
        Origin.CONTEST,
    )  # fmt: skip
    outcome = Outcome.HELPED if ratio > 1 else Outcome.HURT
    measured = Measured(ratio, ratio - 0.01, ratio + 0.01, "a GPU", "secret_case[0]")
    given = {"title": "Hoist the load", "mechanism": "It is loaded once.", **given}
    return Experience(
        outcome, key, issue, None, signature=given.pop("signature", ROWS), measured=measured,
        source=source, **given,
    )  # fmt: skip


def query(*issues: str, **given: Any) -> Query:
    given = {"project": "/p", "kernel": "/p:kernel.py", "signature": ROWS, **given}
    return Query(issues=issues, **given)
