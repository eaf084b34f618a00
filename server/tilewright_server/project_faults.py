"""Invalid configurations and specs, reported once each at the line of the error."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls import uris

from tilewright_server.diagnostics import SOURCE
from tilewright_server.projects import Fault
from tilewright_server.wording import sentence

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


class ProjectFaults:
    """The faults that are shown now."""

    def __init__(self, server: "TilewrightServer") -> None:
        self._server = server
        self._shown: frozenset[Fault] = frozenset()

    def show(self, faults: Sequence[Fault]) -> None:
        """Show these and no others; a message for each that is new."""
        now = frozenset(faults)
        for fault in faults:
            if fault not in self._shown:
                where = f"{fault.path}:{fault.line}"
                self._server.warn(f"Tilewright: {where}: {sentence(fault.message)} {fault.until}")
        for path in {f.path for f in self._shown ^ now}:
            self._publish(path, [f for f in faults if f.path == path])
        self._shown = now

    def _publish(self, path: str, faults: Sequence[Fault]) -> None:
        uri = uris.from_fs_path(path)
        if uri is not None:
            found = [_diagnostic(fault) for fault in faults]
            params = types.PublishDiagnosticsParams(uri=uri, diagnostics=found)
            self._server.text_document_publish_diagnostics(params)


def _diagnostic(fault: Fault) -> types.Diagnostic:
    # The whole line: past its end means its end.
    line = fault.line - 1
    return types.Diagnostic(
        range=types.Range(types.Position(line, 0), types.Position(line, 1000)),
        message=f"{sentence(fault.message)} {fault.until}",
        severity=types.DiagnosticSeverity.Error,
        code=fault.code,
        source=SOURCE,
    )
