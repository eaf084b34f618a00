"""``tilewright capture -- COMMAND``: record the launches of a user's script or tests.

Standard output is the command's own; all that is said here goes to standard error, but for
``--format events``, where it is the other way round.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.captures.folder import write_kernels
from tilewright.captures.model import FOLDER, CapturedKernel
from tilewright.captures.records import Merged, merge
from tilewright.captures.run_command import Wish, run_recorded
from tilewright.cli.output import ERR, StreamFormat, emit_event
from tilewright.scratch import scratch_folder

_INTERPRETED = (
    "in the interpreter: no chip, no compiler, no times; an autotuned kernel ran with the first "
    "configuration it would try"
)


def capture(
    command: Annotated[list[str], typer.Argument(help="Command to run, after --.")],
    out: Annotated[Path, typer.Option(help="Folder for the launches.")] = Path(FOLDER),
    interpret: Annotated[
        bool, typer.Option("--interpret", help="Run kernels in Triton's interpreter: no GPU.")
    ] = False,
    writes: Annotated[
        bool,
        typer.Option("--writes", help="Record which tensors a launch wrote; copies every tensor."),
    ] = False,
    values: Annotated[
        bool, typer.Option("--values", help="Record range, mean and deviation of float tensors.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, help="Most distinct launches to keep per kernel.")
    ] = 64,
    form: Annotated[
        StreamFormat,
        typer.Option("--format", help="text or json, both on standard error; or events."),
    ] = StreamFormat.TEXT,
) -> None:
    """Run COMMAND and record every kernel launch in it.

    The exit code is COMMAND's own; with --format events it is a part of the result.
    """
    with scratch_folder() as scratch:
        quiet = form is StreamFormat.EVENTS
        wish = Wish(interpret, writes, limit, values, quiet)
        code, parts = run_recorded(command, wish, scratch)
        merged = merge(parts, limit)
    write_kernels(out, merged.kernels)
    if quiet:
        emit_event("result", result=_as_json(merged, out, code))
        return
    if form is StreamFormat.JSON:
        ERR.print(json.dumps(_as_json(merged, out, code)))
    else:
        _as_text(merged, out, interpret=interpret)
    raise typer.Exit(code)


def _as_text(merged: Merged, out: Path, *, interpret: bool) -> None:
    for kernel in merged.kernels:
        ERR.print(f"  {_line(kernel)}")
    for note in merged.notes:
        ERR.print(f"note: {note}")
    launches = sum(kernel.total for kernel in merged.kernels)
    if launches:
        how = f" ({_INTERPRETED})" if interpret else ""
        ERR.print(f"{launches} launches of {len(merged.kernels)} kernels in {out}{how}")
    else:
        ERR.print(f"tilewright: no launch was recorded: {_why_none(merged)}")


def _line(kernel: CapturedKernel) -> str:
    failed = sum(launch.failure is not None for launch in kernel.launches)
    parts = [f"{kernel.total} launches, {len(kernel.launches)} of them distinct"]
    if kernel.others:
        parts.append(f"{kernel.others} beyond the limit counted only")
    if failed:
        parts.append(f"{failed} distinct ones failed")
    return f"{kernel.file}:{kernel.line} {kernel.kernel}: {'; '.join(parts)}"


def _why_none(merged: Merged) -> str:
    if merged.processes:
        return "a process launched kernels, but none could be read (see the notes)"
    return (
        "no Python process of the command launched a Triton kernel through its JIT; -S, -E and -I "
        "keep the recorder out, and so does calling a compiled kernel directly"
    )


def _as_json(merged: Merged, out: Path, code: int) -> dict[str, Any]:
    return {
        "folder": str(out),
        "exit_code": code,
        "kernels": [
            {
                "kernel": kernel.kernel,
                "file": kernel.file,
                "line": kernel.line,
                "launches": kernel.total,
                "distinct": len(kernel.launches),
                "beyond_limit": kernel.others,
            }
            for kernel in merged.kernels
        ],
        "notes": list(merged.notes),
        "none": "" if any(kernel.total for kernel in merged.kernels) else _why_none(merged),
    }
