"""``tilewright compile``: what a chip's own compiler makes of a kernel, with no such chip here."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.compile_issues import issues_as_json, judged, print_issues
from tilewright.cli.compile_options import how_many, launches_of, say_rest, variant
from tilewright.cli.compile_stages import show_stage
from tilewright.cli.compile_tables import as_data, compared, report_table
from tilewright.cli.compile_versions import Side, pairs, side_of, unpaired
from tilewright.cli.options import LaunchSpec
from tilewright.cli.output import OUT, AsFormat, Exit, Format, emit_json, working
from tilewright.errors import InputError
from tilewright.inspection.variants import Launches, Variant, compiled
from tilewright.targets.caveats import caveats
from tilewright.targets.model import MACHINE_CODE, STAGES, CompileReport, Target

_STAGES = ", ".join(dict.fromkeys(chain(*STAGES.values())))
_Opened = Callable[[], AbstractContextManager[Launches]]
_NOT_TOGETHER = "--emit, --lines and --compare each show something else; give one of them"


def compile_kernels(
    file: Annotated[str, typer.Argument(help="FILE or FILE::KERNEL.")],
    target: Annotated[str | None, typer.Option(help="Chip, e.g. cuda:90 or hip:gfx942.")] = None,
    problem: LaunchSpec = None,
    captured: Annotated[
        Path | None, typer.Option(help="Folder of captured launches to use instead of a spec.")
    ] = None,
    options: Annotated[
        str, typer.Option(help="Compiler options and constexprs to set: num_warps=8,BLOCK_M=64.")
    ] = "",
    configs: Annotated[
        str | None,
        typer.Option(help="Configurations of an autotuned kernel: all, first, or a number."),
    ] = None,
    emit: Annotated[
        str | None, typer.Option(help=f"Print the text of a compiler stage: {_STAGES}.")
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="Count instructions per source line, by kind.")
    ] = False,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Compare two of: TARGET, TARGET,num_warps=8, FILE, git revision."),
    ] = None,
    form: AsFormat = Format.TEXT,
) -> None:
    """Compile FILE's kernels and report registers, spills and occupancy.

    The launches come from a spec, from captured launches, or are inferred from
    the source. Exits with 1 if a kernel does not compile.
    """
    if sum((emit is not None, lines, compare is not None)) > 1:
        raise InputError(_NOT_TOGETHER)
    name, _, kernel = file.partition("::")
    path = Path(name)
    opened = _opened(path, kernel or None, problem, captured, configs)
    if compare is not None:
        first, second = (side_of(one, path, target, options) for one in compare)
        raise typer.Exit(_compare(path, opened, (first, second), form))
    if target is None:
        raise InputError("which chip? give --target, e.g. --target cuda:90, or --compare A B")
    one = variant(target, options)
    if emit is not None or lines:
        stage = _stage(one.target, emit)
        with opened() as launches:
            raise typer.Exit(show_stage(path, launches, one, stage, lines, form))
    raise typer.Exit(_reports(path, opened, one, form))


def _opened(
    path: Path,
    kernel: str | None,
    problem: Path | None,
    captured: Path | None,
    configs: str | None,
) -> _Opened:
    """Where the launches come from."""
    if captured is not None and problem is not None:
        raise InputError("--problem and --captured exclude each other")
    return partial(launches_of, path, kernel, problem, how_many(configs), captured)


def _stage(target: Target, asked: str | None) -> str:
    """The stage that was asked for; the machine code if none was."""
    known = STAGES[target.backend]
    if asked is not None and asked not in known:
        raise InputError(f"{target} has no stage {asked}; it has {', '.join(known) or 'none'}")
    return asked or MACHINE_CODE[target.backend]


def _reports(path: Path, opened: _Opened, one: Variant, form: Format) -> Exit:
    doing = working(f"compiling {path} for {one.target}")
    with doing, opened() as launches:
        outcome = compiled(launches, one)
        reports = outcome.found
        notes = (*launches.notes, *caveats(reports))
        shown = judged(path, launches, reports)
    if form is Format.JSON:
        told = {"reports": [as_data(r) for r in reports], "issues": issues_as_json(shown)}
        rest = {"not_judged": outcome.rest_as_json(), "notes": list(notes)}
        emit_json({"path": str(path), **told, **rest})
    else:
        say_rest(outcome)
        _print(reports, notes)
        print_issues(shown)
    return _exit(reports)


def _compare(path: Path, opened: _Opened, wanted: tuple[Side, Side], form: Format) -> Exit:
    doing = working(f"compiling {path} twice")
    with doing, opened() as launches:
        sides = [one.reports(launches) for one in wanted]
    columns = [side.found for side in sides]
    if form is Format.JSON:
        found = [
            {
                "variant": one.title,
                "reports": [as_data(r) for r in side.found],
                "not_judged": side.rest_as_json(),
            }
            for one, side in zip(wanted, sides, strict=True)
        ]
        emit_json({"path": str(path), "compared": found, "notes": list(launches.notes)})
    else:
        for side in sides:
            say_rest(side)
        for pair in pairs(*columns):
            OUT.print(compared(pair, tuple(one.title for one in wanted)))
        for name in unpaired(*columns):
            OUT.print(f"{name}: not launched equally often by both")
        _messages([report for column in columns for report in column])
    return _exit([report for column in columns for report in column])


def _exit(reports: Sequence[CompileReport]) -> Exit:
    return Exit.DONE if all(report.ok for report in reports) else Exit.FINDINGS


def _print(reports: Sequence[CompileReport], notes: tuple[str, ...]) -> None:
    OUT.print(report_table(reports))
    for toolchain in dict.fromkeys(report.toolchain for report in reports if report.toolchain):
        OUT.print(f"compiled by {toolchain}")
    _messages(reports)
    for note in notes:
        OUT.print(f"note: {note}")


def _messages(reports: Sequence[CompileReport]) -> None:
    for report in reports:
        for message in report.messages:
            line = f"line {message.line}: " if message.line else ""
            told = f"{report.kernel} for {report.target}: {line}{message.text}"
            OUT.print(told)
