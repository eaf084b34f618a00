"""Write the certificate of an applied edit next to its file."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


async def certify(
    server: "TilewrightServer", snapshot: Snapshot, result: Mapping[str, Any]
) -> str | None:
    """Write the certificate that came with a result; a word on it, None where there is none."""
    data = result.get("certificate_file")
    if data is None or snapshot.path is None:
        return None
    said = await server.in_pool(_write, Path(snapshot.path), data)
    server.certificates.forget()
    server.refresh(snapshot.uri)
    return said


def _write(source: Path, data: Any) -> str:
    from tilewright.certificates import CertificateError, default_place, write_certificate
    from tilewright.certificates.files import parse_certificate

    place = default_place(source)
    try:
        write_certificate(place, parse_certificate(data, str(place)))
    except CertificateError as error:
        return f"no certificate: {error}"
    return f"certificate: {place.name}"
