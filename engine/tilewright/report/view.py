"""What a report says of one optimization, worked out from its result as JSON.

The JSON is what ``tilewright optimize --format json`` prints; nothing here measures or
decides, and what the result does not say is said to be missing.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.evaluation.model import Level, StepStatus
from tilewright.report.diff import DiffRow, diff_rows
from tilewright.report.numbers import seconds_text, speedup_terms, speedup_text

Json = Mapping[str, Any]

LEVEL_MEANING: Mapping[Level, str] = {
    Level.REJECTED: "no edit was accepted",
    Level.PARSED: "it is Python, and no compiler has seen it",
    Level.COMPILED: "a real compiler for the target accepted it; it was not run",
    Level.CORRECT: "it gave the same results as the original within the tolerance",
    Level.FASTER: "it was measured against the original on a device and beat it",
}

INTERPRETER_LIMITS = (
    "Correctness was checked in Triton's interpreter on a CPU. Programs run there one after "
    "another and without the compiler: a race between programs, and what the chip's own "
    "instructions round differently, would not show."
)
NO_SPEED = (
    "Speed was not measured: no device that can time took part. Whether the edit is faster is "
    "open; run the same command on a machine with the chip."
)


@dataclass(frozen=True)
class IssueRow:
    """An issue of the original, and whether the final source still has it."""

    id: str
    stage: str
    severity: int
    message: str
    kernel: str
    line: int
    fixed: bool


@dataclass(frozen=True)
class TrialRow:
    """One candidate. ``outcome`` is why it was kept or dropped."""

    number: int
    stage: str
    proposer: str
    rationale: str
    level: str
    kept: bool
    outcome: str
    speedup: str


@dataclass(frozen=True)
class StepRow:
    """One step of the cascade for the accepted edit."""

    name: str
    status: str
    message: str
    seconds: str


@dataclass(frozen=True)
class ResultView:
    """One file's optimization, ready to be shown."""

    path: str
    target: str
    device: str
    changed: bool
    level: str
    meaning: str
    ladder: tuple[tuple[str, bool], ...]
    speedup: str
    speedup_terms: str
    issues: tuple[IssueRow, ...]
    appeared: tuple[IssueRow, ...]
    trials: tuple[TrialRow, ...]
    steps: tuple[StepRow, ...]
    unverified: tuple[str, ...]
    notes: tuple[str, ...]
    plan: tuple[str, ...]
    toolchain: tuple[tuple[str, str], ...]
    diff: tuple[DiffRow, ...]
    seconds: str

    @property
    def fixed(self) -> int:
        return sum(issue.fixed for issue in self.issues)

    @property
    def kept(self) -> int:
        return sum(trial.kept for trial in self.trials)


def result_view(result: Json) -> ResultView:
    """The view of one optimize result; raises KeyError where a required key is missing."""
    certificate: Json = result.get("certificate") or {}
    level = Level(result.get("level") or certificate.get("level") or Level.REJECTED)
    steps = tuple(_step(step) for step in certificate.get("steps", ()))
    speedup = result.get("speedup") or certificate.get("speedup")
    issues, appeared = _issues(result["issues"], result["remaining"])
    return ResultView(
        path=result["path"],
        target=result.get("target") or "none chosen",
        device=result.get("device") or "none",
        changed=bool(result["changed"]),
        level=level.value,
        meaning=LEVEL_MEANING[level],
        ladder=tuple((rung.value, level.reaches(rung)) for rung in tuple(Level)[1:]),
        speedup=speedup_text(speedup),
        speedup_terms=speedup_terms(speedup),
        issues=issues,
        appeared=appeared,
        trials=tuple(_trial(trial) for trial in result["trials"]),
        steps=steps,
        unverified=tuple(_unverified(result, steps, level, speedup)),
        notes=tuple(result.get("notes", ())),
        plan=tuple(result.get("plan", ())),
        toolchain=tuple(_toolchain(certificate)),
        diff=diff_rows(result["diff"]),
        seconds=seconds_text(result.get("seconds")),
    )


def _issues(
    before: Sequence[Json], after: Sequence[Json]
) -> tuple[tuple[IssueRow, ...], tuple[IssueRow, ...]]:
    """Issues of the original in order, each fixed or not; and those that came with the edit.

    Lines move as a file is edited, so issues are matched by id and kernel, and counted.
    """
    left = Counter(_identity(issue) for issue in after)
    rows = []
    for issue in before:
        remains = left[_identity(issue)] > 0
        left[_identity(issue)] -= remains
        rows.append(_issue(issue, fixed=not remains))
    appeared = []
    for issue in reversed(after):
        if left[_identity(issue)] > 0:
            left[_identity(issue)] -= 1
            appeared.append(_issue(issue, fixed=False))
    return tuple(rows), tuple(reversed(appeared))


def _identity(issue: Json) -> tuple[str, str | None]:
    return issue["id"], issue.get("kernel")


def _issue(issue: Json, *, fixed: bool) -> IssueRow:
    return IssueRow(
        id=issue["id"],
        stage=issue["stage"],
        severity=issue["severity"],
        message=issue["message"],
        kernel=issue.get("kernel") or "",
        line=issue["line"],
        fixed=fixed,
    )


def _trial(trial: Json) -> TrialRow:
    failed: Json | None = trial.get("failed")
    outcome = trial.get("reason") or ""
    if failed and failed["message"] not in outcome:
        outcome = f"{outcome}: {failed['message']}" if outcome else failed["message"]
    return TrialRow(
        number=trial["number"],
        stage=trial["stage"],
        proposer=trial["proposer"],
        rationale=trial["rationale"],
        level=trial["level"],
        kept=trial["kept"],
        outcome=outcome,
        speedup=speedup_text(trial.get("speedup")),
    )


def _step(step: Json) -> StepRow:
    return StepRow(
        name=step["step"],
        status=step["status"],
        message=step.get("message", ""),
        seconds=seconds_text(step.get("seconds")),
    )


def _unverified(
    result: Json, steps: Sequence[StepRow], level: Level, speedup: Json | None
) -> Iterator[str]:
    if not result["changed"]:
        return
    for step in steps:
        if step.status == StepStatus.SKIPPED:
            yield f"{step.name.capitalize()} was skipped: {step.message or 'no reason given'}"
    if level.reaches(Level.CORRECT) and result.get("device") in (None, "interpreter"):
        yield INTERPRETER_LIMITS
    elif not level.reaches(Level.CORRECT):
        yield "Correctness was not established: the results were not compared on any device."
    if speedup is None:
        yield NO_SPEED


def _toolchain(certificate: Json) -> Iterator[tuple[str, str]]:
    yield from sorted((str(k), str(v)) for k, v in certificate.get("toolchain", {}).items())
    for key in ("problem", "device", "seeds", "original", "candidate", "created", "tilewright"):
        value = certificate.get(key)
        if value not in (None, "", [], ()):
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            yield key, text
