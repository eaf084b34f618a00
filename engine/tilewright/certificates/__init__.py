"""Certificates as files: what was verified of a kernel, beside it, and whether that still holds."""

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
