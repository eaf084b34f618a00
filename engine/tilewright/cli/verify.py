"""``tilewright verify``: how far does a candidate hold against an original?"""

import secrets
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.certificates.files import as_json as file_json
from tilewright.cli.captured import problem_for
from tilewright.cli.certificate_output import keep
from tilewright.cli.inputs import read_source
from tilewright.cli.judging import Judged, Subject, judge
from tilewright.cli.options import Captured, DeviceName
from tilewright.cli.output import ERR, OUT, AsStream, Exit, StreamFormat, answer, working
from tilewright.cli.recheck import Wanted, recheck
from tilewright.cli.session import device_for, stop_on_signal
from tilewright.cli.show import speedup_line
from tilewright.cli.target import target_for
from tilewright.devices.discovery import start_worker
from tilewright.errors import InputError
from tilewright.evaluation.certificate_file import own_rule_text
from tilewright.evaluation.model import Evaluation, Level, StepName, StepStatus
from tilewright.evaluation.sizing import sized
from tilewright.problems.model import Problem
from tilewright.serialize import dump
from tilewright.strategies.present import error_json

_PROOF = {
    Level.COMPILED: StepName.COMPILE,
    Level.CORRECT: StepName.CORRECTNESS,
    Level.FASTER: StepName.SPEED,
}


NOTHING_TO_CERTIFY = (
    "no certificate: results were compared with nothing but the text's own; name the file as it "
    "was before the edit, or a `reference` in the spec"
)


class Require(StrEnum):
    """What acceptance needs."""

    COMPILED = "compiled"
    CORRECT = "correct"
    FASTER = "faster"


_Original = Annotated[Path | None, typer.Argument(help="File before the edit.")]
_Candidate = Annotated[
    Path | None, typer.Argument(help="File after the edit. Default: same as ORIGINAL.")
]
_Problem = Annotated[
    Path | None, typer.Option(help="Spec to run on. Default: the one next to ORIGINAL.")
]
_Target = Annotated[str | None, typer.Option(help="Chip to compile for.")]
_Require = Annotated[
    Require | None,
    typer.Option(help="Required level. Default: faster on a device that can time, else correct."),
]
_Certify = Annotated[bool, typer.Option("--certify", help="Write a certificate next to CANDIDATE.")]
_Place = Annotated[Path | None, typer.Option(help="Path for the certificate.")]
_Recheck = Annotated[
    Path | None,
    typer.Option(
        "--recheck",
        metavar="CERTIFICATE",
        help="Repeat the checks of a certificate. Exits with 0 if they pass, 1 if not, 3 if the "
        "certificate is stale, 4 if the checks cannot be repeated on this machine.",
    ),
]
_Renew = Annotated[
    Path | None,
    typer.Option(
        "--renew",
        metavar="CERTIFICATE",
        help="Verify the file's current text against the same original and replace the "
        "certificate.",
    ),
]
_Named = Annotated[
    Path | None,
    typer.Option(
        "--original",
        help="File before the edit: with --recheck, or where ORIGINAL only names the place of "
        "both texts.",
    ),
]
_Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="With --recheck: use new inputs instead of the certificate's."),
]
_Stdin = Annotated[
    bool,
    typer.Option(
        "--stdin", help="Read CANDIDATE's text, or that of --recheck, from standard input."
    ),
]


def verify(
    original: _Original = None,
    candidate: _Candidate = None,
    problem: _Problem = None,
    captured: Captured = None,
    target: _Target = None,
    device: DeviceName = "auto",
    require: _Require = None,
    certify: _Certify = False,
    certificate: _Place = None,
    recheck_of: _Recheck = None,
    renew: _Renew = None,
    named_original: _Named = None,
    fresh: _Fresh = False,
    stdin: _Stdin = False,
    form: AsStream = StreamFormat.TEXT,
) -> None:
    """Verify CANDIDATE against ORIGINAL.

    Exits with 1 if CANDIDATE is not accepted.
    """
    place = recheck_of or renew
    if place is not None:
        if original is not None:
            raise InputError("the certificate names the files; pass no ORIGINAL with it")
        recheck(Wanted(place, renew is not None, device, named_original, fresh, stdin), form)
    if original is None:
        raise InputError("pass ORIGINAL and CANDIDATE, or --recheck CERTIFICATE")
    after = candidate or original
    if stdin and certify:
        raise InputError("--certify needs CANDIDATE as a file; name a path with --certificate")
    texts = (read_source(named_original or original), read_source(after, from_stdin=stdin))
    spec = problem_for(problem, captured, original, texts[0])
    with working(f"verifying {after.name} against {original.name}"), stop_on_signal():
        start_worker(device, needed=spec is not None)
        wanted = target_for(target, device, original, texts[0], spec).target
        with device_for(device, wanted) as opened:
            spec = sized(spec, opened, original, texts[0])
            subject = Subject(*texts, original, after, spec, certificate)
            chip = wanted or opened.info.target
            judged = judge(subject, opened, chip, secrets.randbits(48), form)
            can_time = opened.info.can_time and spec is not None and texts[0] != texts[1]
    needed = Level(require.value if require else _default(can_time=can_time))
    value = _value(judged, needed, spec)
    kept = not (certify or certificate) or _write_certificate(value, judged, after, certificate)
    answer(value, form, lambda v: _print(v, judged, needed))
    if value["error"]:
        ERR.print(f"tilewright: {value['error']['message']}")
        raise typer.Exit(Exit.USAGE)
    raise typer.Exit(Exit.DONE if value["accepted"] and kept else Exit.FINDINGS)


def _write_certificate(
    value: dict[str, Any], judged: Judged, source: Path, place: Path | None
) -> bool:
    """Put the certificate in its place, with a note; False where there is none to put."""
    if not value["accepted"]:
        return False
    if judged.file is None:
        value["notes"].append(NOTHING_TO_CERTIFY)
        return False
    value["notes"].append(keep(judged.file, source, place)[1])
    return True


def _value(judged: Judged, needed: Level, spec: Problem | None) -> dict[str, Any]:
    return {
        **as_json(judged.evaluation, needed),
        "certificate": dump(judged.certificate),
        "certificate_file": file_json(judged.file) if judged.file else None,
        "notes": [*(spec.warnings if spec else ()), *_own_rule(judged.evaluation)],
    }


def _own_rule(evaluation: Evaluation) -> list[str]:
    """What a benchmark's own rule says, which decides nothing."""
    checked = evaluation.step(StepName.CORRECTNESS)
    found = checked.data.get("own_rule") if checked is not None else None
    return [own_rule_text(found)] if found else []


def _default(*, can_time: bool) -> Level:
    return Level.FASTER if can_time else Level.CORRECT


def accepted(evaluation: Evaluation, needed: Level) -> bool:
    """Whether what was needed was reached by a step that passed, not by one left out."""
    step = evaluation.step(_PROOF[needed])
    passed = step is not None and step.status is StepStatus.PASSED and evaluation.error is None
    return passed and evaluation.level.reaches(needed)


def as_json(evaluation: Evaluation, needed: Level) -> dict[str, Any]:
    """The verdict; ``failed`` names the step that kept it from being accepted, ``error`` the one
    that broke off for no reason of the candidate's, so that there is no verdict."""
    good = accepted(evaluation, needed)
    failed, error = evaluation.failed, evaluation.error
    blocking = None if good or error else failed or evaluation.step(_PROOF[needed])
    return {
        "accepted": good,
        "level": evaluation.level.value,
        "required": needed.value,
        "failed": {"step": blocking.step.value, "message": blocking.message} if blocking else None,
        "error": error_json(evaluation),
        "speedup": dump(evaluation.speedup) if evaluation.speedup else None,
    }


def _figures(step: StepName, evaluation: Evaluation) -> str:
    """What a passed speed step found; nothing of other steps."""
    speedup = evaluation.speedup
    return speedup_line(dump(speedup)) if step is StepName.SPEED and speedup else ""


def _print(value: dict[str, Any], judged: Judged, needed: Level) -> None:
    for step in judged.evaluation.steps:
        told = step.message or _figures(step.step, judged.evaluation)
        message = f": {told}" if told else ""
        OUT.print(f"{step.step.value:12s}{step.status.value}{message}")
    for note in value["notes"]:
        OUT.print(f"note: {note}")
    is_open = value["accepted"] or judged.evaluation.failed is None
    for text in judged.certificate.unverified if is_open else ():
        OUT.print(f"not verified: {text}")
    verdict = "accepted" if value["accepted"] else "not accepted"
    verdict = "not judged" if value["error"] else verdict
    OUT.print(f"{verdict}: {judged.evaluation.level.value}, {needed.value} was needed")
