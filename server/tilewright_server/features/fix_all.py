"""``source.fixAll.tilewright``: every exact fix of a document as one edit, also on each save."""

from typing import TYPE_CHECKING

from lsprotocol import types

from tilewright.rewrites.model import Numerics
from tilewright_server.analysis import Analysis
from tilewright_server.features.code_action_resolve import (
    FIX_ALL_KIND,
    EditData,
    EditKind,
    at_once,
)
from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


async def fix_all(
    server: "TilewrightServer", snapshot: Snapshot, analysis: Analysis
) -> list[types.CodeAction]:
    """All exact fixes as one edit, if there is an issue to fix."""
    rewrites = (r for i in analysis.issues for r in server.engine.rewrites_for(i.id))
    if not any(rewrite.numerics is Numerics.EXACT for rewrite in rewrites):
        return []
    data = EditData(EditKind.FIX_ALL, snapshot.uri, snapshot.version, snapshot.hash)
    action = types.CodeAction(
        title="Fix all that Tilewright can fix exactly", kind=FIX_ALL_KIND, data=data.to_json()
    )
    found = await at_once(server, action)
    return [found] if found.disabled is None else []
