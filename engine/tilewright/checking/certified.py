"""A file's kernels and their certificates: which hold for the text that is there."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from tilewright.certificates.files import CertificateError, read_all
from tilewright.certificates.model import CertificateFile
from tilewright.certificates.staleness import Change, State, state_of
from tilewright.errors import InputError
from tilewright.problems.loading import load_problem
from tilewright.source import parse_module
from tilewright.source.languages import may_hold_kernels
from tilewright.source.model import Kernel, Module

LEVELS = ("compiled", "correct", "faster")


@dataclass(frozen=True)
class KernelProof:
    """One kernel and the certificate of its current text with the highest level.

    Attributes:
        state: None where no certificate is of it.
        place: of that certificate.
    """

    kernel: Kernel
    state: State | None = None
    place: Path | None = None

    @property
    def is_current(self) -> bool:
        return self.state is not None and self.state.is_current

    def reaches(self, level: str) -> bool:
        """Whether a certificate that holds says at least so much."""
        if self.state is None or not self.state.is_current:
            return False
        return LEVELS.index(self.state.certificate.level) >= LEVELS.index(level)


@dataclass(frozen=True)
class Certified:
    """What certificates say of one file.

    Attributes:
        kernels: those launched in it, or named by a certificate.
        faults: certificate files that cannot be used.
    """

    module: Module
    kernels: tuple[KernelProof, ...]
    faults: tuple[CertificateError, ...]


def certified(path: Path, text: str) -> Certified:
    """Compare every certificate next to a file with its text; nothing is run."""
    module = parse_module(text if may_hold_kernels(text) else "", str(path))
    states: list[tuple[Path, State]] = []
    faults: list[CertificateError] = []
    for place, read in read_all(path):
        if isinstance(read, CertificateError):
            faults.append(read)
        elif (place.parent / read.subject.file).resolve() == path.resolve():
            changed = problem_change(read, place, path)
            states.append((place, certificate_state(read, module, changed)))
    return Certified(module, tuple(proofs(module, states)), tuple(faults))


def certificate_state(
    certificate: CertificateFile, module: Module, problem: Change | None
) -> State:
    """A certificate against a text, and a change of what it was run on."""
    state = state_of(certificate, module)
    return state if problem is None else replace(state, changes=(*state.changes, problem))


def problem_change(certificate: CertificateFile, place: Path, source: Path) -> Change | None:
    """Whether the problem is another one than when it was verified.

    Captured launches and the file itself are not compared.
    """
    facts = certificate.problem
    path = place.parent / facts.path
    if facts.kind != "spec":
        return None
    if not path.is_file():
        return Change(path.name, "problem", None, gone=True)
    try:
        now = load_problem(path, source).content_hash
    except InputError:
        now = ""
    return None if now == facts.hash else Change(path.name, "problem", None)


def proofs(module: Module, states: Iterable[tuple[Path, State]]) -> Iterator[KernelProof]:
    """Each launched kernel with its best certificate: one that holds, of the highest level."""
    known = list(states)
    launched = {kernel.name for kernel in module.entry_kernels()}
    for kernel in module.kernels:
        own = [
            (place, state)
            for place, state in known
            if kernel.name in state.certificate.subject.kernels
        ]
        if own:
            place, state = max(own, key=lambda pair: _worth(pair[1]))
            yield KernelProof(kernel, state, place)
        elif kernel.name in launched:
            yield KernelProof(kernel)


def _worth(state: State) -> tuple[bool, int, str]:
    certificate = state.certificate
    return state.is_current, LEVELS.index(certificate.level), certificate.created


def state_sentence(state: State, kernel: str) -> str:
    """What a certificate says of a kernel now, in one line."""
    certificate = state.certificate
    if state.is_current:
        return f"{short_summary(certificate)}, {day(certificate)}"
    changes = "; ".join(change.text for change in state.of_kernel(kernel))
    return f"certificate of {day(certificate)} is stale: {changes}"


def short_summary(certificate: CertificateFile) -> str:
    """``faster 1.94x [1.93, 1.94] on NVIDIA H200``; no more than was measured, and of NKI kernels
    what was estimated, as such."""
    where = f"on {certificate.device.name}"
    gain = certificate.estimate
    if gain is not None:
        what = f"estimated {gain.value:.2f}x for {gain.target} within {gain.error:g}x"
        return f"correct in the {certificate.device.name}, {what}, nothing measured"
    slowest = certificate.slowest
    if certificate.level == "faster" and slowest is not None:
        return f"faster {slowest.words} {where}"
    if certificate.level == "compiled":
        return f"compiled for {certificate.target}, not checked"
    speed = "speed not measured" if slowest is None else "not measurably faster"
    return f"correct {where}, {speed}"


def day(certificate: CertificateFile) -> str:
    """``21 Nov 2026``; verbatim where that is no date."""
    try:
        when = date.fromisoformat(certificate.created[:10])
    except ValueError:
        return certificate.created
    return f"{when.day} {_MONTHS[when.month - 1]} {when.year}"


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
