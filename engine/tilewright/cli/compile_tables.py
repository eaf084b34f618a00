"""Tables of compile reports."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Column, Table
from rich.text import Text

from tilewright.serialize import dump
from tilewright.targets.model import (
    Access,
    CompileReport,
    LaunchFacts,
    LineReport,
    in_a_line,
)
from tilewright.targets.occupancy import occupancy_of

_LAST = "compiler"


def options_of(launch: LaunchFacts) -> str:
    """Constexprs and compiler options of a launch, in a line."""
    return in_a_line(launch.settings)


def figure(value: Any, unit: str = "") -> str:
    """A figure in words."""
    return "unknown" if value is None else f"{value}{unit}"


def report_table(reports: Sequence[CompileReport]) -> Table:
    """The main figures, a row for each report; 80 columns suffice."""
    table = Table(Column("kernel", overflow="fold"), "registers", "spills", "shared", "at a time")
    for report in reports:
        about = Text("\n".join(filter(None, (report.kernel, options_of(report.launch)))))
        if not report.ok:
            table.add_row(about, "does not", "compile")
            continue
        table.add_row(
            about,
            figure(report.registers),
            figure(report.spill_bytes, " B"),
            figure(report.shared_bytes, " B"),
            programs_at_a_time(report),
        )
    return table


def as_data(report: CompileReport) -> dict[str, Any]:
    """A report as JSON, with the occupancy that follows from it; null where none does."""
    found = occupancy_of(report)
    if found is None:
        return {**dump(report), "occupancy": None}
    told = {"share": found.share, "limited_by": list(found.limited_by)}
    return {**dump(report), "occupancy": {**dump(found), **told}}


def line_in_words(line: LineReport) -> str:
    """What became of a line: accesses with their widths, products, what costs."""
    return ", ".join((*map(_access, line.accesses), *_work(line)))


def _access(access: Access) -> str:
    kind = access.kind.replace("_", " ")
    where = "" if access.space == "global" else f"{access.space} "
    if access.bits is None:
        width = ""
    elif access.best_bits is None or access.best_bits == access.bits:
        width = f" {access.bits}b"
    else:
        width = f" {access.bits}b of {access.best_bits}b"
    return f"{where}{kind}{width} x{access.count}"


def _work(line: LineReport) -> Iterator[str]:
    yield from (f"{kind} x{count}" for kind, count in line.tensor.items())
    if line.dots and not line.tensor:
        yield "no tensor instruction on it"
    for count, name in (
        (line.conversions, "layout change"),
        (line.spill_loads, "spill load"),
        (line.spill_stores, "spill store"),
        (line.fp64, "fp64"),
        (line.transcendental, "transcendental"),
        (line.barriers, "barrier"),
    ):
        if count:
            yield f"{name} x{count}"
    for name, count in line.emulated.items():
        yield f"{name.replace('_', ' ')} x{count} in many instructions"


def compared(reports: Sequence[CompileReport], titles: Sequence[str]) -> Table:
    """One launch's figures, a column for each of its reports; what neither has is left out."""
    table = Table(reports[0].kernel, *titles)
    columns = [dict(_figures(report)) for report in reports]
    names = list(dict.fromkeys(name for column in columns for name in column if name != _LAST))
    for name in (*names, _LAST):
        table.add_row(name, *(Text(column.get(name, "-")) for column in columns))
    return table


def _figures(report: CompileReport) -> Iterator[tuple[str, str]]:
    yield "compiles", "yes" if report.ok else "no"
    yield "options", options_of(report.launch)
    yield "registers", figure(report.registers)
    yield "spills", figure(report.spill_bytes, " B")
    yield "shared memory", figure(report.shared_bytes, " B")
    yield "shared memory allowed", figure(report.shared_limit, " B")
    yield "programs at a time", programs_at_a_time(report)
    yield "code", figure(report.code_bytes, " B")
    for name, value in sorted(report.details.items()):
        yield name.replace("_", " "), str(value)
    yield _LAST, report.toolchain


def programs_at_a_time(report: CompileReport) -> str:
    """The occupancy in words."""
    found = occupancy_of(report)
    if found is None:
        return "unknown"
    return (
        f"{found.programs} a {found.unit}, {found.warps} of {found.max_warps} warps; "
        f"limited by {', '.join(found.limited_by)}"
    )
