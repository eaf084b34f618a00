"""What a certificate says, for a lens and a hover."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from tilewright_server.wording import attributed

if TYPE_CHECKING:
    from tilewright.certificates.model import CertificateFile, CompiledFigures
    from tilewright.certificates.staleness import State
    from tilewright.checking.certified import KernelProof

_LONGEST_FAMILIES = 6


def certificate_title(state: "State", kernel: str) -> str:
    """``verified: faster 1.94x [1.93, 1.95] on NVIDIA H200, ...``, or what changed since."""
    from tilewright.checking.certified import day, short_summary

    if state.is_current:
        return f"verified: {short_summary(state.certificate)}, {day(state.certificate)}"
    first, *rest = state.of_kernel(kernel)
    more = f" and {len(rest)} more" if rest else ""
    return f"certificate stale: {first.text}{more} since {day(state.certificate)}"


def certificate_card(proof: "KernelProof") -> str:
    """Levels with their figures, where and with what, and what was not verified."""
    state, name = proof.state, proof.kernel.name
    assert state is not None
    certificate = state.certificate
    lines = [f"**Certificate** {certificate_title(state, name)}"]
    if not state.is_current:
        changes = "; ".join(change.text for change in state.of_kernel(name))
        lines.append(f"- of another text: {changes}. What follows is not of this one.")
    lines += [f"- changed: {attributed(asdict(edit))}" for edit in certificate.edits]
    lines += [f"- {line}" for line in _levels(certificate)]
    lines += [f"- not verified: {text}" for text in certificate.unverified]
    if proof.place is not None:
        lines.append(f"- `{proof.place.name}`, Tilewright {certificate.tilewright}")
    return "\n".join(lines)


def _levels(certificate: "CertificateFile") -> Iterator[str]:
    for kernel in certificate.compiled:
        yield f"compiled for {certificate.target}: {kernel.kernel}" + _compiled(kernel)
    for check in certificate.checks:
        against = f" against {check.oracle}" if check.oracle else ""
        error = "" if check.max_abs_error is None else f", off by at most {check.max_abs_error:.2g}"
        tried = ", ".join(check.families[:_LONGEST_FAMILIES])
        more = len(check.families) - _LONGEST_FAMILIES
        with_ = f" (also {tried}{f' and {more} more' if more > 0 else ''})" if tried else ""
        yield f"correct on {check.case}: {check.count} comparisons{against}{error}{with_}"
    for one in certificate.speed:
        noise = "" if one.noise is None else f", noise {one.noise:.2g}"
        yield (
            f"{one.words} on {one.case}: "
            f"{one.original_us:.4g} µs to {one.candidate_us:.4g} µs, {one.samples} pairs{noise}"
        )
    versions = ", ".join(f"{name} {version}" for name, version in certificate.toolchain.items())
    yield f"{certificate.device.name}; {versions}" if versions else certificate.device.name
    if certificate.isolation is not None:
        yield f"isolation: {certificate.isolation.level}"


def _compiled(kernel: "CompiledFigures") -> str:
    if kernel.registers is None:
        return ""
    low, high = kernel.registers
    registers = f"{low}" if low == high else f"{low} to {high}"
    spilled = "no spills" if not kernel.spill_bytes or not kernel.spill_bytes[1] else "spills"
    return f", {registers} registers, {spilled}"
