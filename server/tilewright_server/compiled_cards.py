"""What compilers made of a kernel, in words: one line, a card, a card for one line of its text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import TYPE_CHECKING

from tilewright.figures import counted, kibibytes
from tilewright.source.model import Module
from tilewright.targets.model import (
    Access,
    CompileReport,
    LaunchFacts,
    LineReport,
    in_a_line,
)
from tilewright.targets.occupancy import occupancy_of
from tilewright_server import wording
from tilewright_server.kernel_facts import CompiledFacts

if TYPE_CHECKING:
    from tilewright.costs import Estimate

_LONGEST_REASON = 120
_MOST_LAUNCHES = 8
_MOST_NOTES = 8
_DEFAULT_WARPS = 4

ORIGINS = {
    "spec": "launched as in the spec of the file",
    "captured": "launched as captured from your own run",
}


def origin_in_words(origin: str | None, why: str) -> str:
    """Where a kernel's launches come from; ``why``: why there are no better ones."""
    if origin == "inferred":
        return f"ASSUMED launch: {why}" if why else "ASSUMED launch"
    known = ORIGINS.get(origin or "", "it is not known how it is launched")
    return f"{known} ({why})" if why else known


def short_compiled(facts: CompiledFacts, target: str) -> str:
    """One line for a code lens."""
    reports = facts.of_target(target)
    if not reports:
        why = next(iter(facts.notes), "it is not known why")
        return f"{target}: not compiled: {shorten(why, _LONGEST_REASON, placeholder='…')}"
    good = [report for report in reports if report.ok]
    if not good:
        return f"{target}: does not compile"
    assumed = " (launch assumed)" if facts.origin == "inferred" else ""
    if len(reports) == 1:
        return f"{target}: {_figures(good[0])}{assumed}"
    refused = len(reports) - len(good)
    parts = [f"{len(reports)} configurations", registers_of(good), _spilling(good)]
    parts += [f"{refused} do not compile"] if refused else []
    return f"{target}: {', '.join(part for part in parts if part)}{assumed}"


def registers_of(reports: Sequence[CompileReport]) -> str:
    """Of several launches, the fewest and the most; empty where they are not known."""
    counts = [report.registers for report in reports if report.registers is not None]
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return f"{low} registers" if low == high else f"{low} to {high} registers"


def _spilling(reports: Sequence[CompileReport]) -> str:
    told = [report.spill_bytes for report in reports if report.spill_bytes is not None]
    spilling = sum(1 for count in told if count)
    if not told:
        return ""
    return f"{spilling} spill" if spilling else "no spills"


def _figures(report: CompileReport) -> str:
    """Registers, spills, shared memory and occupancy, if known."""
    parts = wording.resources(report)
    found = occupancy_of(report)
    if found is not None:
        limit = ", ".join(found.limited_by)
        parts.append(f"{counted(found.programs, 'program')} a {found.unit} ({limit})")
    return ", ".join(parts) or "compiles"


def report_figures(facts: CompiledFacts, report: CompileReport) -> str:
    """What is known of one compiled launch, with its estimated time."""
    if not report.ok:
        return "does not compile"
    return f"{_figures(report)}{_estimated(facts.estimate_of(report))}"


def compiled_card(facts: CompiledFacts) -> str:
    """All that is known of a kernel, target by target, and where its launch comes from."""
    parts = ["\n".join(_of_target(facts, target)) for target in facts.targets]
    if facts.origin:
        where = origin_in_words(facts.origin, facts.why)
        parts.append(f"Compiled {wording.age(facts.taken)}, {where}.")
    if facts.notes:
        left = len(facts.notes) - _MOST_NOTES
        notes = [f"- {note}" for note in facts.notes[:_MOST_NOTES]]
        parts.append("\n".join([*notes, *([f"- and {left} more"] if left > 0 else [])]))
    return "\n\n".join(parts)


def _of_target(facts: CompiledFacts, target: str) -> Iterator[str]:
    reports = facts.of_target(target)
    if not reports:
        yield f"**{target}**: not compiled"
        return
    yield f"**{target}**, by {next((r.toolchain for r in reports if r.toolchain), 'its compiler')}:"
    for report in reports[:_MOST_LAUNCHES]:
        with_what = f"`{configuration(report.launch)}`: "
        if not report.ok:
            said = report.messages[0].text if report.messages else "the compiler gives no reason"
            yield f"- {with_what}does not compile: {said}"
            continue
        shared = ""
        if report.shared_limit is not None:
            shared = f"; a program may have {kibibytes(report.shared_limit)} of shared memory"
        told = f"{_figures(report)}{shared}{_tensor_work(report)}"
        yield f"- {with_what}{told}{_estimated(facts.estimate_of(report))}"
    if len(reports) > _MOST_LAUNCHES:
        yield f"- and {len(reports) - _MOST_LAUNCHES} more configurations"


def _estimated(found: "Estimate | None") -> str:
    """The static cost, which is no measurement and is never shown as one."""
    if found is None:
        return ""
    bound = f"bound by {found.bound}, {found.roofline_percent:.0f} % of the roofline"
    return f"; {found.us:,.1f} us by estimate, not measured ({bound})"


def _tensor_work(report: CompileReport) -> str:
    """Its tensor instructions by kind; said to be none only where products were asked for."""
    counts: dict[str, int] = {}
    for line in report.lines:
        for kind, count in line.tensor.items():
            counts[kind] = counts.get(kind, 0) + count
    if counts:
        return "; " + ", ".join(f"{count} {kind}" for kind, count in counts.items())
    asked = sum(line.dots for line in report.lines)
    return "; no tensor instructions for its matrix products" if asked else ""


def configuration(launch: LaunchFacts) -> str:
    """Constexprs and compiler options of a launch in a line, always with the warps."""
    options = {"num_warps": _DEFAULT_WARPS, **launch.options}
    return in_a_line(replace(launch, options=options).settings)


def line_card(facts: CompiledFacts, module: Module, line: int) -> str | None:
    """What the accesses and products of a line became, for each target; None without any."""
    found = []
    for target in facts.targets:
        own = [x for x in facts.lines_at(module, line) if str(x[0].target) == target]
        told = _line_phrase(own[0][1]) if own else ""
        if told:
            many = len(facts.of_target(target)) > 1
            which = f" with {configuration(own[0][0].launch)}" if many else ""
            found.append(f"- {target}{which}: {told}")
    return "\n".join(["**This line, compiled**", *found]) if found else None


def _line_phrase(line: LineReport) -> str:
    parts = [_access_phrase(access) for access in line.accesses]
    parts += [f"{count} {kind}" for kind, count in line.tensor.items()]
    if line.dots and not line.tensor:
        parts.append("a matrix product without tensor instructions")
    for count, noun in _counts(line):
        parts += [counted(count, noun)] if count else []
    return "; ".join(parts)


def _counts(line: LineReport) -> tuple[tuple[int, str], ...]:
    return (
        (line.conversions, "layout conversion"),
        (line.spill_stores, "spill store"),
        (line.spill_loads, "spill load"),
        (line.fp64, "fp64 instruction"),
        (line.transcendental, "transcendental instruction"),
        (line.barriers, "barrier"),
    )


def _access_phrase(access: Access) -> str:
    kind = access.kind.replace("_", " ")
    where = "" if access.space == "global" else f" ({access.space})"
    accesses = counted(access.count, "access", "accesses")
    if access.bits is None:
        return f"{kind}{where}: {accesses} of a whole tile"
    wide = f"{_bytes(access.bits)} a thread"
    if access.best_bits is not None and access.best_bits > access.bits:
        wide += f", {_bytes(access.best_bits, unit=False)} possible"
    return f"{kind}{where}: {wide}, {accesses}"


def _bytes(bits: int, *, unit: bool = True) -> str:
    count = f"{bits / 8:g}"
    return f"{count} {'byte' if bits == 8 else 'bytes'}" if unit else count


def issue_evidence(facts: CompiledFacts, data: Mapping[str, str]) -> str:
    """How an issue of the compiled tier is known, as a sentence."""
    what = f"with {data['configuration']} " if data.get("configuration") else ""
    by = f"by {data['toolchain']}" if data.get("toolchain") else "by a compiler that is not named"
    targets = data.get("targets", "").replace(",", ", ") or ", ".join(facts.targets)
    return f"Compiled for {targets} {what}{by}; {origin_in_words(facts.origin, facts.why)}."
