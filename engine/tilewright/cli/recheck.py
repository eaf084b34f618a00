"""``tilewright verify --recheck``: repeat what a certificate says, and compare."""

import secrets
from dataclasses import dataclass
from pathlib import Path

import typer

from tilewright.certificates.files import (
    AlteredError,
    NoOriginalError,
    as_json,
    original_text,
    read_certificate,
)
from tilewright.certificates.model import CertificateFile
from tilewright.certificates.staleness import state_of
from tilewright.cli.captured import problem_for
from tilewright.cli.certificate_output import keep
from tilewright.cli.inputs import read_source
from tilewright.cli.judging import Subject, judge
from tilewright.cli.output import OUT, Exit, StreamFormat, answer, emit_event, working
from tilewright.cli.session import device_for, stop_on_signal
from tilewright.devices.discovery import list_devices
from tilewright.devices.model import INTERPRETER, NEURON_SIM, DeviceError, DeviceInfo
from tilewright.errors import InputError
from tilewright.evaluation.model import text_hash
from tilewright.evaluation.recheck import Outcome, Recheck, compared, renewed
from tilewright.evaluation.sizing import sized
from tilewright.harness_fault import HarnessFaultError
from tilewright.problems.loading import load_problem
from tilewright.problems.model import Problem
from tilewright.source import parse_module
from tilewright.targets.model import Target
from tilewright.targets.registry import parse_target

ANEW = "verify it again (`--renew` in place of `--recheck` does)"
EXITS = {
    Outcome.HOLDS: Exit.DONE,
    Outcome.ELSEWHERE: Exit.DONE,
    Outcome.RENEWED: Exit.DONE,
    Outcome.FAILS: Exit.FINDINGS,
    Outcome.STALE: Exit.STALE,
    Outcome.CANNOT: Exit.CANNOT,
}


@dataclass(frozen=True)
class Wanted:
    """What of a certificate is repeated, and how; ``renew`` puts another in its place."""

    place: Path
    renew: bool = False
    device: str = "auto"
    original: Path | None = None
    fresh: bool = False
    from_stdin: bool = False


class _EndedError(Exception):
    """There is an outcome before anything was run."""

    def __init__(self, outcome: Outcome, *reasons: str) -> None:
        self.recheck = Recheck(outcome, reasons)
        super().__init__(self.recheck.text)


def recheck(wanted: Wanted, form: StreamFormat) -> None:
    """Repeat a certificate; exits as ``EXITS`` says."""
    now: CertificateFile | None = None
    before: CertificateFile | None = None
    try:
        before = read_certificate(wanted.place)
        result, now = _repeated(before, wanted, form)
    except DeviceError as error:
        result = Recheck(Outcome.CANNOT, (str(error),))
    except AlteredError as error:
        result = Recheck(Outcome.FAILS, (str(error),))
    except _EndedError as ended:
        result = ended.recheck
    value = {
        "outcome": result.outcome.value,
        "reasons": list(result.reasons),
        "notes": list(result.notes),
        "path": str(wanted.place),
        "certified": before.summary if before else None,
        "certificate": as_json(now) if now else None,
    }
    answer(value, form, lambda _: _print(result))
    raise typer.Exit(EXITS[result.outcome])


def _print(result: Recheck) -> None:
    OUT.print(result.text)
    for note in result.notes:
        OUT.print(f"note: {note}")


def _repeated(
    before: CertificateFile, wanted: Wanted, form: StreamFormat
) -> tuple[Recheck, CertificateFile | None]:
    folder = wanted.place.resolve().parent
    source = folder / before.subject.file
    text = read_source(source, from_stdin=wanted.from_stdin)
    if not wanted.renew:
        _check_current(before, text, source)
    original = _original(before, wanted, text, folder)
    problem = _problem(before, folder, source, original, any_version=wanted.renew)
    chosen = _device(before, wanted.device)
    seed = secrets.randbits(48) if wanted.fresh or not before.seeds else before.seeds[0]
    with (
        working(f"repeating {wanted.place.name}"),
        stop_on_signal(),
        device_for(chosen, None) as opened,
    ):
        if form is StreamFormat.EVENTS:
            emit_event("progress", percent=10, message=f"repeating on {opened.info.name}")
        problem = sized(problem, opened, source, original) or problem
        subject = Subject(original, text, source, source, problem, wanted.place)
        judged = judge(subject, opened, _target(before, opened.info), seed, form)
    failed, error = judged.evaluation.failed, judged.evaluation.error
    if judged.evaluation.harness_fault is not None:
        fault = judged.evaluation.harness_fault
        raise HarnessFaultError(fault.message, fault.data.get("report"))
    if error is not None:
        raise _EndedError(Outcome.CANNOT, error.message)
    told = f"{failed.step.value}: {failed.message}" if failed else None
    if not wanted.renew:
        return compared(before, judged.file, told), judged.file
    result = renewed(before, judged.file, told)
    if judged.file is not None and result.outcome is Outcome.RENEWED:
        keep(judged.file, source, wanted.place)
    return result, judged.file


def _check_current(before: CertificateFile, text: str, source: Path) -> None:
    state = state_of(before, parse_module(text, str(source)))
    if not state.is_current:
        changes = [f"{source.name}: {change.text}" for change in state.changes]
        raise _EndedError(Outcome.STALE, *changes, ANEW)


def _problem(
    before: CertificateFile, folder: Path, source: Path, original: str, *, any_version: bool
) -> Problem:
    """What it was run on; launches are captured of the original."""
    facts = before.problem
    path = folder / facts.path
    if facts.kind == "module":
        return load_problem(source)
    if not path.exists():
        raise _EndedError(Outcome.CANNOT, f"the problem {path} is not here")
    captured = facts.kind == "captured"
    problem = problem_for(None, path, source, original) if captured else load_problem(path, source)
    assert problem is not None
    if problem.content_hash != facts.hash and not any_version:
        raise _EndedError(Outcome.STALE, f"the problem {path} changed since", ANEW)
    return problem


def _original(before: CertificateFile, wanted: Wanted, text: str, folder: Path) -> str:
    if wanted.original is not None:
        found = read_source(wanted.original)
        if text_hash(found) != before.original.hash:
            raise InputError(
                "is not the text that the candidate was compared with", str(wanted.original)
            )
        return found
    try:
        return original_text(before, text, folder)
    except NoOriginalError as error:
        raise _EndedError(Outcome.CANNOT, str(error)) from None


def _device(before: CertificateFile, named: str) -> str:
    """The device that was named, else one like the certificate's.

    A certificate of the interpreter is repeated there, also next to a GPU: like with like.
    """
    if named != "auto":
        return named
    if not before.device.can_time:
        return NEURON_SIM if before.device.id == NEURON_SIM else INTERPRETER
    here = [info for info in list_devices() if info.can_time]
    fitting = [info for info in here if str(info.target) == before.device.target]
    same = [info for info in fitting if info.name == before.device.name]
    if not fitting:
        there = ", ".join(info.name for info in here) or "no GPU that can time"
        raise _EndedError(
            Outcome.CANNOT,
            f"needs {before.device.target} (it was verified on {before.device.name}); here is "
            f"{there}. --device interpreter repeats what needs no GPU",
        )
    return (same or fitting)[0].id


def _target(before: CertificateFile, info: DeviceInfo) -> Target | None:
    """What to compile for: the certificate's target, unless the device is another chip."""
    certified = parse_target(before.target) if before.target else None
    return info.target if info.target is not None else certified
