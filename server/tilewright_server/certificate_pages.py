"""A certificate as a page of Markdown: what was verified, where, in figures, and what was not."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tilewright.figures import kibibytes
from tilewright_server.certificate_cards import certificate_title
from tilewright_server.wording import attributed, sentence

if TYPE_CHECKING:
    from tilewright.certificates.model import (
        CertificateFile,
        CheckFigures,
        CompiledFigures,
        Edit,
        SpeedFigures,
    )
    from tilewright.checking.certified import KernelProof

_NOT_KNOWN = "not known"
Rule = Callable[[str], tuple[str, str | None] | None]
"""The rule that a proposer fixes, by its name, and its page."""


def certificate_page(proof: "KernelProof", rule: Rule, folder: Path) -> str:
    """The page of a kernel's certificate, which says first whether it is of the present text.

    Args:
        folder: that the page lies in. Links are relative to it: previews follow no ``file:``.
    """
    state = proof.state
    if state is None or proof.place is None:
        raise ValueError("a kernel without a certificate has no page")
    certificate, name = state.certificate, proof.kernel.name
    parts = [f"# Certificate of {name}", sentence(certificate_title(state, name))]
    if not state.is_current:
        changed = [f"- {change.text}" for change in state.of_kernel(name)]
        parts.append("**Not of the present text.** Since then:\n\n" + "\n".join(changed))
    parts += [
        _section("Edits", (_edit(edit, rule) for edit in certificate.edits)),
        _section("Where and with what", _where(certificate, proof.place, folder)),
        _section("Steps", _steps(certificate)),
        _table("Correctness", _CHECKED, map(_check, certificate.checks)),
        _table("Speed", _TIMED, map(_speed, certificate.speed)),
        _section("Estimate, not measured", _estimate(certificate)),
        _table("Compiled", _BUILT, map(_compiled, certificate.compiled)),
        _section("Watched while it ran", certificate.honesty),
        _section("Not verified", certificate.unverified),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def relative(place: Path, folder: Path) -> str:
    """A link to a file from a page in a folder."""
    return quote(Path(os.path.relpath(place, folder)).as_posix())


def _section(title: str, lines: Iterator[str] | Sequence[str]) -> str:
    found = [f"- {line}" for line in lines]
    return "\n".join([f"## {title}", "", *found]) if found else ""


def _table(title: str, head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    found = [_row(row) for row in rows]
    rule = _row(("---",) * len(head))
    return "\n".join([f"## {title}", "", _row(head), rule, *found]) if found else ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _edit(edit: "Edit", rule: Rule) -> str:
    """What was changed, by whom, in which stage, and the rule it follows."""
    done = f"{attributed(asdict(edit))}, stage {edit.stage.replace('_', ' ')}"
    found = rule(edit.proposer)
    if found is None:
        return done
    name, page = found
    return f"{done}, rule [`{name}`]({page})" if page else f"{done}, rule `{name}`"


def _where(certificate: "CertificateFile", place: Path, folder: Path) -> Iterator[str]:
    device = certificate.device
    on = f", {device.target}" if device.target else ""
    yield f"Device: {device.name} (`{device.id}`{on})"
    if certificate.target is not None:
        yield f"For: {certificate.target}"
    versions = ", ".join(f"{name} {version}" for name, version in certificate.toolchain.items())
    if versions:
        yield f"With: {versions}"
    if certificate.isolation is not None:
        why = "; ".join(certificate.isolation.reasons)
        yield f"Isolation: {certificate.isolation.level}{f' ({why})' if why else ''}"
    problem = certificate.problem
    against = f", reference {problem.reference}" if problem.reference else ""
    yield f"Run on: `{problem.path}` ({problem.kind}){against}"
    if certificate.seeds:
        yield f"Seeds: {', '.join(map(str, certificate.seeds))}"
    yield f"Made: {certificate.created} by Tilewright {certificate.tilewright}"
    yield f"File: [{place.name}]({relative(place, folder)}), text {certificate.subject.hash[:12]}"


def _steps(certificate: "CertificateFile") -> Iterator[str]:
    for step in certificate.steps:
        yield f"{step.step}: {step.status}{f': {step.message}' if step.message else ''}"


_CHECKED = ("case", "comparisons", "against", "largest error", "allowed", "also tried")


def _check(one: "CheckFigures") -> tuple[str, ...]:
    errors = [
        f"{value:.2g} {kind}"
        for kind, value in (("absolute", one.max_abs_error), ("relative", one.max_rel_error))
        if value is not None
    ]
    allowed = (
        f"rtol {one.rtol:g}, atol {one.atol:g}"
        if one.rtol is not None and one.atol is not None
        else _NOT_KNOWN
    )
    return (
        one.case,
        str(one.count),
        one.oracle or _NOT_KNOWN,
        ", ".join(errors) or _NOT_KNOWN,
        allowed,
        ", ".join(one.families) or "nothing",
    )


_TIMED = ("case", "ratio", "original", "candidate", "pairs", "noise")


def _speed(one: "SpeedFigures") -> tuple[str, ...]:
    return (
        one.case,
        f"{one.words}, confidence {one.confidence:g}",
        f"{one.original_us:.4g} µs",
        f"{one.candidate_us:.4g} µs",
        str(one.samples),
        _NOT_KNOWN if one.noise is None else f"{one.noise:.2g}",
    )


def _estimate(certificate: "CertificateFile") -> Iterator[str]:
    found = certificate.estimate
    if found is None:
        return
    before, after = (
        f"{usual:.4g} µs ({low:.4g} to {high:.4g})"
        for low, usual, high in (found.original_us, found.candidate_us)
    )
    yield f"{found.value:.2f}x on {found.case} for {found.target}: {before} to {after}"
    yield f"Bound by {found.bottlenecks[0]}, then by {found.bottlenecks[1]}"
    yield f"The model does not tell texts apart within a factor of {found.error:.2f}"


_BUILT = ("kernel", "configurations that compile", "registers", "spilled", "shared memory")


def _compiled(one: "CompiledFigures") -> tuple[str, ...]:
    return (
        one.kernel,
        f"{one.compiled} of {one.configurations}",
        _span(one.registers, str),
        _span(one.spill_bytes, kibibytes),
        _span(one.shared_bytes, kibibytes),
    )


def _span(ends: tuple[int, int] | None, say: Callable[[int], str]) -> str:
    if ends is None:
        return _NOT_KNOWN
    low, high = ends
    return say(low) if low == high else f"{say(low)} to {say(high)}"
