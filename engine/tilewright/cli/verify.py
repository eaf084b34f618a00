"""``tilewright verify``: how far does a candidate hold against an original?"""

import secrets
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.cli.captured import CAPTURED_HELP, problem_for
from tilewright.cli.inputs import read_source, target_of
from tilewright.cli.output import OUT, Exit, Format, emit_json, working
from tilewright.cli.session import device_for
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.certificate import certify
from tilewright.evaluation.model import Evaluation, Level, StepName, StepStatus
from tilewright.evaluation.workbench import Workbench
from tilewright.scratch import scratch_folder
from tilewright.serialize import dump

_PROOF = {
    Level.COMPILED: StepName.COMPILE,
    Level.CORRECT: StepName.CORRECTNESS,
    Level.FASTER: StepName.SPEED,
}


class Require(StrEnum):
    """What acceptance needs."""

    COMPILED = "compiled"
    CORRECT = "correct"
    FASTER = "faster"


def verify(
    original: Annotated[Path, typer.Argument(help="The file as it was.")],
    candidate: Annotated[Path, typer.Argument(help="The file as it is to become.")],
    problem: Annotated[
        Path | None, typer.Option(help="Spec to run on; by default the one beside ORIGINAL.")
    ] = None,
    captured: Annotated[Path | None, typer.Option(help=CAPTURED_HELP)] = None,
    target: Annotated[str | None, typer.Option(help="Chip to compile for.")] = None,
    device: Annotated[str, typer.Option(help="auto, interpreter, cuda:0, ...")] = "auto",
    require: Annotated[
        Require | None,
        typer.Option(help="Level needed; by default faster where times can be had, else correct."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.TEXT,
) -> None:
    """Verify CANDIDATE against ORIGINAL. Exits with 1 if it is not accepted."""
    before, after = read_source(original), read_source(candidate)
    wanted, spec = target_of(target), problem_for(problem, captured, original, before)
    with (
        working(f"verifying {candidate.name} against {original.name}"),
        device_for(device, wanted) as opened,
        scratch_folder() as scratch,
    ):
        bench = Workbench(opened, spec, original, scratch, secrets.randbits(48)) if spec else None
        compile_for = wanted or opened.info.target
        evaluation = Cascade(before, str(original), bench, compile_for).judge(after, before)
        can_time = opened.info.can_time and bench is not None
        needed = Level(require.value if require else _default(can_time=can_time))
        certificate = certify(evaluation, bench, compile_for)
        notes = list(spec.warnings) if spec and spec.is_captured else []
        value = {**as_json(evaluation, needed), "certificate": dump(certificate), "notes": notes}
    if form is Format.JSON:
        emit_json(value)
    else:
        _print(value, evaluation, needed)
    raise typer.Exit(Exit.DONE if value["accepted"] else Exit.FINDINGS)


def _default(*, can_time: bool) -> Level:
    return Level.FASTER if can_time else Level.CORRECT


def accepted(evaluation: Evaluation, needed: Level) -> bool:
    """Whether what was needed was reached by a step that passed, not by one left out."""
    step = evaluation.step(_PROOF[needed])
    passed = step is not None and step.status is StepStatus.PASSED
    return passed and evaluation.level.reaches(needed)


def as_json(evaluation: Evaluation, needed: Level) -> dict[str, Any]:
    """The verdict; ``failed`` names the step that kept it from being accepted."""
    good = accepted(evaluation, needed)
    failed = evaluation.failed
    blocking = None if good else failed or evaluation.step(_PROOF[needed])
    speedup = evaluation.speedup
    return {
        "accepted": good,
        "level": evaluation.level.value,
        "required": needed.value,
        "failed": {"step": blocking.step.value, "message": blocking.message} if blocking else None,
        "speedup": {"value": speedup.value, "low": speedup.low, "high": speedup.high}
        if speedup
        else None,
    }


def _print(value: dict[str, Any], evaluation: Evaluation, needed: Level) -> None:
    for step in evaluation.steps:
        message = f": {step.message}" if step.message else ""
        OUT.print(f"{step.step.value:12s}{step.status.value}{message}", markup=False)
    for note in value["notes"]:
        OUT.print(f"note: {note}", markup=False)
    verdict = "accepted" if value["accepted"] else "not accepted"
    OUT.print(f"{verdict}: {evaluation.level.value}, {needed.value} was needed", markup=False)
