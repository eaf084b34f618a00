"""A kernel's targets side by side, as a page of Markdown."""

from collections.abc import Callable, Sequence

from tilewright.figures import kibibytes
from tilewright.targets.model import CompileReport
from tilewright.targets.occupancy import occupancy_of
from tilewright_server import wording
from tilewright_server.compiled_cards import configuration, origin_in_words
from tilewright_server.kernel_facts import CompiledFacts, ProfileFacts

_UNKNOWN = "not known"


def comparison(kernel: str, facts: CompiledFacts, profiles: Sequence[ProfileFacts]) -> str:
    """A table with a column for each target: figures of its first launch that compiles.

    An estimate is called one; a time that was not measured is said to be so.
    """
    chosen = [_report(facts, target) for target in facts.targets]
    rows: list[tuple[str, list[str]]] = [
        ("Configuration", _row(chosen, lambda report: f"`{configuration(report.launch)}`")),
        ("Registers a thread", _row(chosen, lambda report: _number(report.registers))),
        ("Spilled bytes", _row(chosen, lambda report: _number(report.spill_bytes))),
        ("Shared memory", _row(chosen, _shared)),
        ("Programs at a time", _row(chosen, _occupancy)),
        ("Estimated time", _row(chosen, lambda report: _estimate(facts, report))),
        ("Measured time", [_measured(profiles, target) for target in facts.targets]),
    ]
    head = f"| | {' | '.join(facts.targets)} |"
    rule = "|".join(["", *["---"] * (len(facts.targets) + 1), ""])
    body = [f"| {name} | {' | '.join(cells)} |" for name, cells in rows]
    where = origin_in_words(facts.origin, facts.why)
    notes = [f"- {note}" for note in facts.notes]
    return "\n".join(
        [
            f"# {kernel}, chip by chip",
            "",
            f"Compiled {wording.age(facts.taken)}, {where}. Estimates are not measurements.",
            "",
            head,
            rule,
            *body,
            *(["", *notes] if notes else []),
            "",
        ]
    )


def _report(facts: CompiledFacts, target: str) -> CompileReport | None:
    reports = facts.of_target(target)
    return next((one for one in reports if one.ok), reports[0] if reports else None)


def _row(chosen: Sequence[CompileReport | None], say: Callable[[CompileReport], str]) -> list[str]:
    return [_cell(report, say) for report in chosen]


def _cell(report: CompileReport | None, say: Callable[[CompileReport], str]) -> str:
    if report is None:
        return "not compiled"
    return say(report) if report.ok else "does not compile"


def _number(value: int | None) -> str:
    return _UNKNOWN if value is None else str(value)


def _shared(report: CompileReport) -> str:
    if report.shared_bytes is None:
        return _UNKNOWN
    limit = f" of {kibibytes(report.shared_limit)}" if report.shared_limit is not None else ""
    return f"{kibibytes(report.shared_bytes)}{limit}"


def _occupancy(report: CompileReport) -> str:
    found = occupancy_of(report)
    if found is None:
        return _UNKNOWN
    return f"{found.programs} a {found.unit} (limit: {', '.join(found.limited_by)})"


def _estimate(facts: CompiledFacts, report: CompileReport) -> str:
    found = facts.estimate_of(report)
    if found is None:
        return "none"
    return f"{found.us:,.1f} µs, {found.roofline_percent:.0f} % of the roof, {found.bound}-bound"


def _measured(profiles: Sequence[ProfileFacts], target: str) -> str:
    known = next((one for one in profiles if one.target == target and one.time is not None), None)
    if known is None or known.time is None:
        return "not measured"
    return wording.time_text(known.time)
