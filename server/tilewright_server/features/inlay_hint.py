"""``textDocument/inlayHint``: shape and element type behind the names that a kernel assigns."""

from typing import TYPE_CHECKING

from lsprotocol import types

from tilewright.source.text import Range
from tilewright_server.snapshot import Snapshot
from tilewright_server.tile_places import Hint, hints_in

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


async def inlay_hint(
    server: "TilewrightServer", params: types.InlayHintParams
) -> list[types.InlayHint] | None:
    """The hints of the lines that are asked for, unless the person wants none."""
    if not server.settings.inlay_hints:
        return None
    read = await server.read(params.text_document.uri)
    if read is None:
        return None
    snapshot, analysis = read
    asked = snapshot.from_lsp(params.range)
    found = await server.in_pool(hints_in, analysis, asked.line, asked.end_line)
    return [_hint(snapshot, hint) for hint in found if snapshot.holds(hint.line)]


def _hint(snapshot: Snapshot, hint: Hint) -> types.InlayHint:
    place = Range(hint.line, hint.column, hint.line, hint.column)
    return types.InlayHint(
        position=snapshot.to_lsp(place).start, label=hint.label, kind=types.InlayHintKind.Type
    )
