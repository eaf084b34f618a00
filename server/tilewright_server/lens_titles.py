"""Titles of code lenses: each short enough that those of a kernel fit a line of 100 columns."""

from textwrap import shorten
from typing import TYPE_CHECKING

from tilewright_server.compiled_facts import CompiledFacts
from tilewright_server.profile_facts import KernelFacts

if TYPE_CHECKING:
    from tilewright.certificates.staleness import State

_LONGEST = 56


def compiled_title(
    facts: CompiledFacts, target: str, *, profiled: bool = False, timed: bool = False
) -> str:
    """Registers and spills of one target, and the estimated time where none was measured.

    Args:
        profiled: whether a lens on the profile follows; then only spills that exist are said.
    """
    reports = facts.of_target(target)
    if not reports:
        why = next(iter(facts.notes), "it is not known why")
        return short(f"{target}: not compiled: {why}")
    good = [report for report in reports if report.ok]
    if not good:
        return f"{target}: does not compile"
    counts = [report.registers for report in good if report.registers is not None]
    parts = []
    if counts:
        low, high = min(counts), max(counts)
        parts.append(f"{low} registers" if low == high else f"{low} to {high} registers")
    spilled = [report.spill_bytes for report in good if report.spill_bytes is not None]
    worst = max(spilled, default=0)
    if spilled and (worst or not profiled):
        parts.append(f"{worst} B spilled" if worst else "no spills")
    best = facts.estimate_of(good[0])
    if best is not None and not timed:
        parts.append(f"est. {best.us:.3g} µs, {best.roofline_percent:.0f} % of roof")
    if len(good) < len(reports):
        parts.append(f"{len(reports) - len(good)} do not compile")
    assumed = " (assumed launch)" if facts.origin == "inferred" else ""
    return f"{target}: {', '.join(parts) or 'compiles'}{assumed}"


def profile_title(facts: KernelFacts, *, compiled: bool) -> str:
    """The verdict, and the measured time with its share of the roofline; the chip unless compiled.

    Args:
        compiled: whether another lens says what the compiler did.
    """
    parts = []
    if not compiled and facts.compiled is not None:
        registers = f"{facts.registers} registers, " if facts.registers is not None else ""
        spills = f"{facts.spill_bytes} B spilled" if facts.spill_bytes else "no spills"
        known = f"{registers}{spills}" if facts.spill_bytes is not None else "compiles"
        parts.append(known if facts.compiled else "does not compile")
    where = f" on {facts.device}" if facts.device else ""
    if facts.correct is None:
        parts.append("not checked")
    else:
        parts.append("correct" if facts.correct else f"WRONG RESULT{where}")
    if facts.time is None:
        parts.append("not timed")
    else:
        parts.append(f"{facts.time.median_us:.4g} µs on {facts.time.device}")
        if facts.roof_percent is not None:
            parts.append(f"{facts.roof_percent:.0f} % of roof")
    said = ", ".join(parts)
    return said if compiled else f"{facts.target}: {said}"


def certificate_lens(state: "State", kernel: str) -> str:
    """``verified: faster 1.94x``, or what changed since; the hover has the rest."""
    from tilewright.checking.certified import short_summary

    if state.is_current:
        summary = short_summary(state.certificate)
        for end in (" [", " on ", " in the ", ","):
            summary = summary.partition(end)[0]
        return f"verified: {summary}"
    return short(f"certificate stale: {state.of_kernel(kernel)[0].text}")


def short(text: str) -> str:
    """A text cut to what a lens has room for."""
    return shorten(text, _LONGEST, placeholder="…")
