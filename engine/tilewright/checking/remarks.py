"""What certificates have to say of a file, as remarks on its kernels."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.suppression import Notice
from tilewright.checking.certified import Certified, KernelProof, certified, state_sentence
from tilewright.checking.checked import Checked, Remark
from tilewright.errors import InputError
from tilewright.source import parse_module
from tilewright.source.text import Range

_TOP = Range(1, 0, 1, 0)


def with_stale(checked: Checked, path: Path, text: str) -> Checked:
    """A checked file with a remark on each kernel whose certificate no longer holds."""
    if checked.cells is not None:
        return checked
    found = certified(path, text)
    stale = [proof for proof in found.kernels if proof.state and not proof.is_current]
    remarks = (*map(_stale, stale), *_faults(found))
    return replace(checked, remarks=tuple(replace(r, level="notice") for r in remarks))


def insisting(found: Certified, level: str) -> Checked:
    """A file with a remark on each kernel that lacks a certificate that holds and says so much."""
    remarks = (*(r for proof in found.kernels for r in _lacking(proof, level)), *_faults(found))
    return Checked(found.module, (), (), AnalysisContext(), remarks=remarks)


def flawed(flaw: InputError) -> Checked:
    """A spec that cannot be used, as a file with what is wrong with it."""
    line, column = flaw.line or 1, flaw.column or 0
    message = f"{flaw.message}; until then its kernels are checked without it"
    notice = Notice(Range(line, column, line, column), message)
    return Checked(parse_module("", flaw.path or ""), (), (notice,), AnalysisContext())


def _lacking(proof: KernelProof, level: str) -> Iterator[Remark]:
    name, where = proof.kernel.name, proof.kernel.name_range
    if proof.state is None:
        message = (
            f"{name} has no certificate; `tilewright verify ORIGINAL FILE --certify` makes one, "
            "and so does `tilewright optimize --write`"
        )
        yield Remark("no_certificate", "error", message, where, name)
    elif not proof.is_current:
        yield _stale(proof)
    elif not proof.reaches(level):
        message = f"{name} is certified {proof.state.certificate.level}, and {level} is required"
        yield Remark("low_certificate", "error", message, where, name)


def _stale(proof: KernelProof) -> Remark:
    assert proof.state is not None
    assert proof.place is not None
    name = proof.kernel.name
    message = f"{name}: {state_sentence(proof.state, name)} ({proof.place.name}); verify it again"
    return Remark("stale_certificate", "error", message, proof.kernel.name_range, name)


def _faults(found: Certified) -> Iterator[Remark]:
    for fault in found.faults:
        yield Remark("bad_certificate", "error", str(fault), _TOP)
