"""Whether a certificate that is there says more than a new one of the same text."""

from pathlib import Path

from tilewright.certificates.files import CertificateError, read_certificate
from tilewright.certificates.model import CertificateFile
from tilewright.certificates.staleness import state_of
from tilewright.source.model import Module

_LEVELS = ("compiled", "correct", "faster")


def better_at(place: Path, module: Module, new: CertificateFile) -> CertificateFile | None:
    """The certificate at a place that is of the same text, still holds for a module and reaches
    further than a new one; None where the new one may take its place."""
    try:
        there = read_certificate(place)
    except CertificateError:
        return None
    is_of_this = there.subject.hash == new.subject.hash and state_of(there, module).is_current
    reaches_further = _LEVELS.index(there.level) > _LEVELS.index(new.level)
    return there if is_of_this and reaches_further else None
