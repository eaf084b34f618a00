"""``tilewright profile``: compile, check and time an unchanged file; report bottlenecks."""

import secrets
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.cli.captured import problem_for
from tilewright.cli.inputs import read_source
from tilewright.cli.options import Captured, DeviceName, FileStdin, ProblemSpec
from tilewright.cli.output import OUT, AsStream, Exit, StreamFormat, answer, emit_event, working
from tilewright.cli.session import device_for, stop_on_signal
from tilewright.cli.target import target_for
from tilewright.evaluation.sizing import sized
from tilewright.evaluation.syntax import require_python
from tilewright.evaluation.workbench import Workbench
from tilewright.profiling.nki import sentence
from tilewright.profiling.run import profile_source
from tilewright.scratch import scratch_folder
from tilewright.source import parse_module


def profile(
    file: Annotated[Path, typer.Argument(help="A Python file with Triton kernels.")],
    problem: ProblemSpec = None,
    captured: Captured = None,
    target: Annotated[str | None, typer.Option(help="Chip to compile for.")] = None,
    device: DeviceName = "auto",
    counters: Annotated[
        bool,
        typer.Option(help="Read hardware counters (ncu, ...) where available; takes seconds."),
    ] = True,
    stdin: FileStdin = False,
    form: AsStream = StreamFormat.TEXT,
) -> None:
    """Compile, check and time FILE's kernels, and report bottlenecks."""
    text = read_source(file, from_stdin=stdin)
    require_python(parse_module(text, str(file)))
    spec = problem_for(problem, captured, file, text)

    def tell(percent: int, message: str) -> None:
        if form is StreamFormat.EVENTS:
            emit_event("progress", percent=percent, message=message)

    with (
        working(f"profiling {file.name}"),
        stop_on_signal(),
        # To choose a chip may start a worker, too.
        device_for(device, wanted := target_for(target, device, file, text, spec).target) as opened,
        scratch_folder() as scratch,
    ):
        spec = sized(spec, opened, file, text)
        bench = Workbench(opened, spec, file, scratch, secrets.randbits(48)) if spec else None
        chosen = wanted or opened.info.target
        value = profile_source(text, str(file), bench, chosen, tell, counters=counters)
    answer(value, form, _print)
    raise typer.Exit(Exit.DONE)


def _print(value: dict[str, Any]) -> None:
    for kernel in value["kernels"]:
        OUT.print(f"{value['path']}:{kernel['line']}: {kernel['name']}")
        report = kernel["report"]
        if report:
            OUT.print(
                f"  {report['target']['backend']}:{report['target']['arch']}: "
                f"{report['registers']} registers, {report['spill_bytes']} B spilled, "
                f"{report['shared_bytes']} B shared"
            )
        OUT.print(f"  {_correctness(kernel, value['device'])}")
        time = kernel["time"]
        if time:
            OUT.print(
                f"  {time['median_us']:.1f} us [{time['low_us']:.1f}, {time['high_us']:.1f}] "
                f"on {time['device']}, {time['case']}"
            )
        if kernel.get("estimate"):
            OUT.print(f"  {sentence(kernel['estimate'])}")
        _print_findings(kernel)
        for note in kernel["notes"]:
            OUT.print(f"  {note}")
    if value["call"]:
        OUT.print(f"the whole call, {value['call']['case']}:")
        _print_findings(value["call"])
    for note in value["notes"]:
        OUT.print(f"note: {note}")


def _correctness(kernel: dict[str, Any], device: str | None) -> str:
    """Right, wrong, or why it is unknown."""
    if kernel["correct"]:
        return f"correct on {device}"
    word = "not judged" if kernel["correct"] is None else f"wrong result on {device}"
    return f"{word}: {kernel['correct_why']}"


def _print_findings(subject: dict[str, Any]) -> None:
    for finding in subject["findings"]:
        ids = f" [{', '.join(finding['suggests'])}]" if finding["suggests"] else ""
        OUT.print(f"  - {finding['text']}{ids}")
