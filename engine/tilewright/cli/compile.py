"""``tilewright compile``: what a chip's own compiler makes of a kernel, with no such chip here."""

import secrets
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tilewright.cli.inputs import problem_of, read_source, target_of
from tilewright.cli.output import OUT, Exit, Format, emit_json, working
from tilewright.cli.session import device_for, need_problem
from tilewright.errors import InputError
from tilewright.evaluation.workbench import Workbench
from tilewright.scratch import scratch_folder
from tilewright.serialize import dump
from tilewright.source import parse_module
from tilewright.targets.model import CompileReport


def compile_kernels(
    file: Annotated[str, typer.Argument(help="FILE or FILE::KERNEL.")],
    target: Annotated[str, typer.Option(help="Chip, e.g. cuda:90 or hip:gfx942.")],
    problem: Annotated[
        Path | None, typer.Option(help="Spec that says what to compile it with.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.TEXT,
) -> None:
    """Compile FILE's kernels as its problem launches them. Exits with 1 if one does not compile."""
    name, _, kernel = file.partition("::")
    path = Path(name)
    with working(f"compiling {name} for {target}"):
        reports, notes = compile_file(path, kernel or None, target, problem)
    if form is Format.JSON:
        emit_json({"path": name, "reports": [dump(r) for r in reports], "notes": list(notes)})
    else:
        _print(reports, notes)
    raise typer.Exit(Exit.DONE if all(report.ok for report in reports) else Exit.FINDINGS)


def compile_file(
    path: Path, kernel: str | None, target: str, spec: Path | None
) -> tuple[list[CompileReport], tuple[str, ...]]:
    """Reports for every launch of the problem's measured case, or of one kernel of it."""
    text = read_source(path)
    known = [k.name for k in parse_module(text, str(path)).kernels]
    if kernel is not None and kernel not in known:
        raise InputError(f"no kernel {kernel}; it has {', '.join(known) or 'none'}", str(path))
    wanted = target_of(target)
    assert wanted is not None
    found = need_problem(problem_of(spec, path), path)
    case = (*found.measured_cases(), *found.check_cases())[0]
    with device_for("interpreter", wanted) as device, scratch_folder() as scratch:
        bench = Workbench(device, found, path, scratch, secrets.randbits(48))
        capture = bench.capture(text, case)
        if capture.failure is not None:
            raise InputError(f"its entry point fails: {capture.failure}", str(path))
        launches = [x for x in capture.launches if kernel is None or x.kernel == kernel]
        if not launches:
            raise InputError(
                f"{found.entry.name} launches {kernel or 'no Triton kernel'} nowhere", str(path)
            )
        return [bench.compile(text, launch, wanted) for launch in launches], capture.notes


def _print(reports: list[CompileReport], notes: tuple[str, ...]) -> None:
    table = Table("kernel", "options", "registers", "spills", "shared", "compiler")
    for report in reports:
        constexprs = {a.name: a.value for a in report.launch.arguments if a.kind == "constexpr"}
        options = {**constexprs, **report.launch.options}
        table.add_row(
            report.kernel,
            " ".join(f"{name}={value}" for name, value in options.items()),
            _figure(report.registers),
            _figure(report.spill_bytes, " B"),
            _figure(report.shared_bytes, " B"),
            report.toolchain if report.ok else "does not compile",
        )
    OUT.print(table)
    for report in reports:
        for message in report.messages:
            line = f"line {message.line}: " if message.line else ""
            OUT.print(f"{report.kernel}: {line}{message.text}", markup=False)
    for note in notes:
        OUT.print(f"note: {note}", markup=False)


def _figure(value: Any, unit: str = "") -> str:
    return "not told" if value is None else f"{value}{unit}"
