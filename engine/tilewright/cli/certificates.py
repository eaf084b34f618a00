"""``tilewright certificates``: does every kernel have a certificate that holds? Nothing is run."""

import subprocess
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.certificates.staleness import State
from tilewright.checking import Checked
from tilewright.checking.annotations import annotations, fault_annotation
from tilewright.checking.certified import Certified, KernelProof, certified, state_sentence
from tilewright.checking.present import fault_as_json
from tilewright.checking.remarks import insisting
from tilewright.checking.sarif import sarif
from tilewright.checking.walk import files_to_check
from tilewright.cli.boundary import Faults
from tilewright.cli.check import AsCheckFormat, CheckFormat, end
from tilewright.cli.inputs import read_source
from tilewright.cli.options import PathStdin
from tilewright.cli.output import OUT, emit_json
from tilewright.errors import InputError
from tilewright.textfile import one_line

_PATIENCE_S = 30.0
_Paths = Annotated[list[Path], typer.Argument(help="Python files, or folders of them.")]


class Level(StrEnum):
    """What a certificate has to say at least."""

    COMPILED = "compiled"
    CORRECT = "correct"
    FASTER = "faster"


def certificates(
    paths: _Paths,
    level: Annotated[
        Level, typer.Option(help="Level that each certificate must reach.")
    ] = Level.COMPILED,
    since: Annotated[
        str | None,
        typer.Option(metavar="REVISION", help="Only files changed since this git revision."),
    ] = None,
    stdin: PathStdin = False,
    form: AsCheckFormat = CheckFormat.TEXT,
) -> None:
    """List kernels with their certificates.

    Exits with 1 if any kernel lacks a valid certificate.
    """
    faults = Faults()
    files = list(paths if stdin else _python_files(paths, faults))
    if stdin and (len(files) != 1 or since is not None):
        raise InputError("--stdin is one text; name one path for it, and no revision")
    if since is not None:
        files = _changed(files, since)
    found: list[Certified] = []
    for path in files:
        with faults.collect_from(path):
            found.append(certified(path, read_source(path, from_stdin=stdin)))
    lacking = [insisting(one, level.value) for one in found]
    _tell(found, lacking, form, faults.all)
    end(found, any(one.remarks for one in lacking), faults)


def _python_files(paths: Sequence[Path], faults: Faults) -> Iterator[Path]:
    for path in files_to_check(paths, isolated=False):
        if isinstance(path, InputError):
            faults.add(path)
        elif path.suffix == ".py":
            yield path


def _changed(files: Sequence[Path], since: str) -> list[Path]:
    """The files that differ from a revision, or that git does not know yet."""
    changed: set[Path] = set()
    for folder in {path.resolve().parent for path in files}:
        for command in (
            ("diff", "--name-only", "--relative", since, "--", "."),
            ("ls-files", "--others", "--exclude-standard", "--", "."),
        ):
            changed.update(folder / name for name in _git(folder, *command))
    return [path for path in files if path.resolve() in changed]


def _git(folder: Path, *arguments: str) -> list[str]:
    command = ["git", "-C", str(folder), "-c", "core.quotePath=off", *arguments]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"--since needs git: {error}") from None
    if run.returncode:
        raise InputError(f"--since: git said: {run.stderr.strip().splitlines()[-1]}", str(folder))
    return run.stdout.splitlines()


def _tell(
    found: Sequence[Certified],
    lacking: Sequence[Checked],
    form: CheckFormat,
    faults: Sequence[InputError],
) -> None:
    if form is CheckFormat.JSON:
        told = [fault_as_json(fault) for fault in faults]
        emit_json({"files": [_as_json(one) for one in found], "faults": told})
    elif form is CheckFormat.SARIF:
        emit_json(sarif(lacking, Path.cwd(), faults))
    elif form is CheckFormat.GITHUB:
        for line in (line for one in lacking for line in annotations(one)):
            OUT.print(line)
        for fault in faults:
            OUT.print(fault_annotation(fault))
    else:
        for one in found:
            _print(one)
        OUT.print(_summary([proof for one in found for proof in one.kernels]))


def _as_json(one: Certified) -> dict[str, Any]:
    return {
        "path": one.module.path,
        "kernels": [_kernel(proof) for proof in one.kernels],
        "faults": [str(fault) for fault in one.faults],
    }


def _kernel(proof: KernelProof) -> dict[str, Any]:
    state = proof.state
    return {
        "kernel": proof.kernel.name,
        "line": proof.kernel.name_range.line,
        "certificate": str(proof.place) if proof.place else None,
        "status": _status(proof),
        "level": state.certificate.level if state else None,
        "summary": state.certificate.summary if state else None,
        "created": state.certificate.created if state else None,
        "time": _time(state) if state else None,
        "changes": [change.text for change in state.changes] if state else [],
    }


def _time(state: State) -> dict[str, Any] | None:
    """The time that was measured of the verified text, in microseconds; None: not measured."""
    slowest = state.certificate.slowest
    if slowest is None:
        return None
    device = state.certificate.device.name
    return {"us": slowest.candidate_us, "case": slowest.case, "device": device}


def _status(proof: KernelProof) -> str:
    return "current" if proof.is_current else "none" if proof.state is None else "stale"


def _print(one: Certified) -> None:
    for proof in one.kernels:
        told = (
            "no certificate"
            if proof.state is None
            else state_sentence(proof.state, proof.kernel.name)
        )
        where = f"{one.module.path}:{proof.kernel.name_range.line}"
        place = f" ({proof.place.name})" if proof.place else ""
        OUT.print(one_line(f"{where}: {proof.kernel.name}: {told}{place}"))
    for fault in one.faults:
        OUT.print(one_line(str(fault)))


def _summary(proofs: Sequence[KernelProof]) -> str:
    count = [sum(_status(p) == s for p in proofs) for s in ("current", "stale", "none")]
    return f"{count[0]} certified, {count[1]} stale, {count[2]} without a certificate"
