"""Certificate files: what was verified of a kernel, and whether that is still valid."""

from tilewright.certificates.files import (
    AlteredError,
    CertificateError,
    certificates_of,
    default_place,
    read_certificate,
    write_certificate,
)
from tilewright.certificates.model import CertificateFile
from tilewright.certificates.staleness import Change, State, state_of

__all__ = [
    "AlteredError",
    "CertificateError",
    "CertificateFile",
    "Change",
    "State",
    "certificates_of",
    "default_place",
    "read_certificate",
    "state_of",
    "write_certificate",
]
