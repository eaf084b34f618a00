"""Write a certificate next to its file."""

from pathlib import Path

from tilewright.certificates.files import default_place, write_certificate
from tilewright.certificates.model import CertificateFile
from tilewright.certificates.staleness import better_at
from tilewright.cli.inputs import read_source
from tilewright.errors import InputError
from tilewright.source import parse_module


def keep(certificate: CertificateFile, source: Path, named: Path | None) -> tuple[bool, str]:
    """Write a certificate; whether that was done, and a word on it.

    One that is there, still holds for the file and reaches further is not replaced, unless
    the place was named.
    """
    place = named or default_place(source)
    better = None if named else _better(place, source, certificate)
    if better is not None:
        return False, (
            f"{place} has more evidence and was not replaced ({better.summary}); --certificate "
            "PATH writes this one to another file"
        )
    write_certificate(place, certificate)
    return True, f"certificate: {place}"


def _better(place: Path, source: Path, new: CertificateFile) -> CertificateFile | None:
    try:
        module = parse_module(read_source(source), str(source))
    except InputError:
        return None
    return better_at(place, module, new)
