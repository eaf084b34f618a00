"""``textDocument/diagnostic``: diagnostics when asked, "unchanged" when nothing is new."""

import hashlib

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright_server.diagnostics import Known, all_diagnostics
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot

OPTIONS = types.DiagnosticOptions(
    identifier="tilewright", inter_file_dependencies=False, workspace_diagnostics=False
)


async def diagnostic(
    server: TilewrightServer, params: types.DocumentDiagnosticParams
) -> types.DocumentDiagnosticReport:
    """Both tiers of one document."""
    snapshot = server.snapshot(params.text_document.uri)
    if snapshot is None or not snapshot.is_python:
        return no_diagnostics()
    known = result_id(server, snapshot)
    if params.previous_result_id == known:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id=known)
    analysis = await server.analyze(snapshot)
    if server.snapshot(params.text_document.uri) is not snapshot:
        raise _overtaken()
    held = server.held(snapshot, analysis)
    have = Known(server.facts, server.settings, server.client, held)
    found = all_diagnostics(snapshot, analysis, have)
    return types.RelatedFullDocumentDiagnosticReport(items=found, result_id=known)


def no_diagnostics(*_: object) -> types.DocumentDiagnosticReport:
    """The answer when the analysis failed: a report, since the protocol knows no other."""
    return types.RelatedFullDocumentDiagnosticReport(items=[])


def result_id(server: TilewrightServer, snapshot: Snapshot) -> str:
    """The identity of everything an answer depends on."""
    parts = (snapshot.hash, str(server.revision), str(server.facts.revision))
    return hashlib.sha256(":".join(parts).encode()).hexdigest()[:16]


def _overtaken() -> JsonRpcException:
    """The document changed while it was read: LSP's way to ask for the question again."""
    again = types.DiagnosticServerCancellationData(retrigger_request=True)
    return JsonRpcException(
        "the document has changed", types.LSPErrorCodes.ServerCancelled.value, again
    )
