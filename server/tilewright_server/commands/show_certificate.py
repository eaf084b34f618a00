"""``tilewright.showCertificate``: open the certificate of a kernel in the editor."""

from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls import uris

from tilewright_server.commands.arguments import CertificateArguments, read_arguments
from tilewright_server.commands.start import refuse
from tilewright_server.commands.verify import NO_CERTIFICATE

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


async def show_certificate(server: "TilewrightServer", *arguments: Any) -> dict[str, Any]:
    """Answers with the file's URI; an editor that cannot open it gets its path."""
    wanted = read_arguments(CertificateArguments, arguments)
    snapshot = server.snapshot(wanted.uri)
    if snapshot is None:
        return refuse(server, "the document is not open")
    found = await server.certificates.of(snapshot, await server.analyze(snapshot))
    proof = found.choose(wanted.kernel, wanted.certificate)
    broken = next((f.path for f in found.faults if f.path is not None), None)
    place = str(proof.place) if proof is not None and proof.place is not None else broken
    if place is None:
        return refuse(server, NO_CERTIFICATE)
    uri = str(uris.from_fs_path(place))
    if server.client.show_document:
        await server.window_show_document_async(types.ShowDocumentParams(uri, take_focus=True))
    else:
        server.window_show_message(
            types.ShowMessageParams(types.MessageType.Info, f"Tilewright: see {place}")
        )
    return {"uri": uri}
