"""What a report says of one optimization, worked out from its result as JSON.

The JSON is what ``tilewright optimize --format json`` prints; nothing here measures or
decides, and what the result does not say is said to be missing.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from tilewright import __version__
from tilewright.evaluation.limits_of_evidence import INTERPRETER_LIMITS
from tilewright.evaluation.model import Level, StepName, StepStatus
from tilewright.figures import NOT_MEASURED, seconds_text, time_text
from tilewright.report.diff import DiffRow, diff_rows
from tilewright.report.run_view import RunView, run_view
from tilewright.report.steps import Json, StepRow, caveats, step_row, trial_word
from tilewright.store.records import RunState

LEVEL_MEANING: Mapping[Level, str] = {
    Level.REJECTED: "no edit was accepted",
    Level.PARSED: "it is Python, and no compiler has seen it",
    Level.COMPILED: "a real compiler for the target accepted it; it was not run",
    Level.CORRECT: "it gave the same results as the original within the tolerance",
    Level.FASTER: "it was measured against the original on a device and beat it",
}

OPEN_SPEED = "Whether the edit is faster is open; run the same command where the chip is."
TITLE = "Tilewright report"


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
    """One candidate.

    Attributes:
        outcome: why it was kept or dropped.
        word: "kept" or "refused"; in a tree "best", "parent" or "dropped".
        place: in a tree its slot and its speed over the original.
    """

    number: int
    stage: str
    proposer: str
    rationale: str
    level: str
    kept: bool
    outcome: str
    speedup: str
    word: str
    place: str = ""


@dataclass(frozen=True)
class Rung:
    """A level and whether the edit got there; ``word`` says why not."""

    name: str
    reached: bool
    word: str = ""


@dataclass(frozen=True)
class ResultView:
    """One file's optimization, ready to be shown.

    ``run``: what is on record beyond the result; None where only a result was given.
    """

    path: str
    target: str
    device: str
    changed: bool
    level: str
    meaning: str
    ladder: tuple[Rung, ...]
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
    state: str = RunState.FINISHED.value
    issues_known: bool = True
    run: RunView | None = None

    @property
    def by_number(self) -> Mapping[int, TrialRow]:
        return {trial.number: trial for trial in self.trials}

    @property
    def fixed(self) -> int:
        return sum(issue.fixed for issue in self.issues)

    @property
    def kept_trials(self) -> int:
        return sum(trial.kept for trial in self.trials)


def result_view(result: Json) -> ResultView:
    """The view of one optimize result; raises KeyError where a required key is missing."""
    certificate: Json = result.get("certificate") or {}
    level = Level(result.get("level") or certificate.get("level") or Level.REJECTED)
    steps = tuple(step_row(step) for step in certificate.get("steps", ()))
    speedup = result.get("speedup")
    # A run that has no result yet, or none at all, knows nothing of issues.
    issues, appeared = _issues(result["issues"] or (), result["remaining"] or ())
    return ResultView(
        path=result["path"],
        target=result.get("target") or "none chosen",
        device=result.get("device") or "none",
        changed=bool(result["changed"]),
        level=level.value,
        meaning=LEVEL_MEANING[level],
        ladder=_ladder(level, steps),
        speedup=speedup_text(speedup),
        speedup_terms=speedup_terms(speedup),
        issues=issues,
        appeared=appeared,
        trials=tuple(_trial(trial) for trial in result["trials"]),
        steps=steps,
        unverified=tuple(_unverified(result, certificate, level)),
        notes=tuple(result.get("notes", ())),
        plan=tuple(result.get("plan", ())),
        toolchain=tuple(_toolchain(certificate)),
        diff=diff_rows(result["diff"]),
        seconds=seconds_text(result.get("seconds")),
        state=result.get("state", RunState.FINISHED.value),
        issues_known=result["issues"] is not None,
        run=run_view(result) if "best" in result else None,
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
        word=trial_word(trial),
        place=_place(trial.get("node")),
    )


def _place(node: Json | None) -> str:
    """Where a trial stands in a tree, and how fast it is."""
    if node is None:
        return ""
    log_speed = node["log_speed"] if node["measured"] else None
    speed = "" if log_speed is None else f", {math.exp(log_speed):.2f}× over the original"
    return f"slot {node['slot']}{speed}"


def _ladder(level: Level, steps: Sequence[StepRow]) -> tuple[Rung, ...]:
    """The levels in order; one whose step was skipped is not claimed by those above it."""
    behind = {
        Level.PARSED: StepName.SYNTAX,
        Level.COMPILED: StepName.COMPILE,
        Level.CORRECT: StepName.CORRECTNESS,
        Level.FASTER: StepName.SPEED,
    }
    skipped = {step.name for step in steps if step.status == StepStatus.SKIPPED}
    rungs = []
    for rung, step in behind.items():
        left_out = step in skipped
        word = "not measured" if rung is Level.FASTER else "not checked"
        reached = level.reaches(rung) and not left_out
        rungs.append(Rung(rung.value, reached, "" if reached else word if left_out else "no"))
    return tuple(rungs)


def _unverified(result: Json, certificate: Json, level: Level) -> Iterator[str]:
    if not result["changed"]:
        return
    if certificate.get("unverified"):
        yield from certificate["unverified"]
        return
    steps: Sequence[Json] = certificate.get("steps", ())
    for step in steps:
        if step["status"] == StepStatus.SKIPPED and step["step"] != StepName.SPEED:
            yield f"{step['step'].capitalize()} was skipped: {step['message'] or 'no reason given'}"
        yield from (f"{text[:1].upper()}{text[1:]}" for text in caveats(step))
    if not level.reaches(Level.CORRECT):
        yield "Correctness was not established: the results were not compared on any device."
    elif (result.get("device") or "").rpartition("#")[2] in ("", "interpreter"):
        yield INTERPRETER_LIMITS
    if result.get("speedup") is None:
        told = next((s["message"] for s in steps if s["step"] == StepName.SPEED), "")
        reason = told.removeprefix("not measured: ") or "no device that can time took part"
        yield f"Speed was not measured: {reason}. {OPEN_SPEED}"


def _toolchain(certificate: Json) -> Iterator[tuple[str, str]]:
    yield from sorted((str(k), str(v)) for k, v in certificate.get("toolchain", {}).items())
    isolation: Json = certificate.get("isolation") or {}
    if isolation:
        yield "isolation", ": ".join(map(str, (isolation["level"], *isolation["reasons"])))
    for key in ("problem", "device", "seeds", "original", "candidate", "created", "tilewright"):
        value = certificate.get(key)
        if value not in (None, "", [], ()):
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            yield key, text


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("tilewright.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


def render(results: Iterable[Json], title: str = TITLE, created: str = "") -> str:
    """One self-contained HTML page over the JSON of optimize results.

    ``created`` is shown as it is; the same results and ``created`` give the same page.
    """
    views = [result_view(result) for result in results]
    return _template().render(title=title, created=created, results=views, version=__version__)


def write_report(
    results: Iterable[Json], path: Path, title: str = TITLE, created: str = ""
) -> Path:
    """Write the page of ``render`` to ``path``, making its folder; gives the path back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(results, title, created), encoding="utf-8")
    return path


def speedup_text(speedup: Mapping[str, Any] | None) -> str:
    """``2.31× (2.25 to 2.38)``, or that there is none."""
    if speedup is None:
        return NOT_MEASURED
    return f"{speedup['value']:.2f}× ({speedup['low']:.2f} to {speedup['high']:.2f})"


def speedup_terms(speedup: Mapping[str, Any] | None) -> str:
    """What the ratio rests on: times, device, inputs, pairs, confidence, noise, resolution."""
    if speedup is None:
        return ""
    parts = []
    if speedup.get("original_us") and speedup.get("candidate_us"):
        parts.append(f"{time_text(speedup['original_us'])} → {time_text(speedup['candidate_us'])}")
    if speedup.get("device"):
        parts.append(f"on {speedup['device']}")
    if speedup.get("case"):
        parts.append(f"case {speedup['case']}")
    if speedup.get("samples"):
        parts.append(f"{speedup['samples']} interleaved pairs")
    if speedup.get("confidence"):
        parts.append(f"{speedup['confidence']:.0%} interval")
    noise = speedup.get("noise")
    parts.append("noise not measured" if noise is None else f"noise ±{noise:.1%}")
    if speedup.get("detectable"):
        parts.append(f"minimum detectable speed-up: {speedup['detectable']:.1%}")
    return ", ".join(parts)
