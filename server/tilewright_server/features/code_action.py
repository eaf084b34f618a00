"""``textDocument/codeAction``: quick fixes, ways to ignore an issue, "Optimize for …".

Listing computes no edit; ``codeAction/resolve`` does, from ``data`` alone.
"""

from typing import Any

from lsprotocol import types

from tilewright.rewrites.model import Numerics
from tilewright.source.text import Range
from tilewright_server import wording
from tilewright_server.analysis_cache import Analysis
from tilewright_server.commands.names import OPTIMIZE
from tilewright_server.features.code_action_resolve import (
    FIX_ALL_KIND,
    EditData,
    EditKind,
    at_once,
)
from tilewright_server.features.quick_fixes import ignores, quick_fixes
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot

OPTIMIZE_KIND = "refactor.rewrite.tilewright"

OPTIONS = types.CodeActionOptions(
    code_action_kinds=[types.CodeActionKind.QuickFix, OPTIMIZE_KIND, FIX_ALL_KIND],
    resolve_provider=True,
)


async def code_action(
    server: TilewrightServer, params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    """What can be done about a range, fixes first."""
    read = await server.read(params.text_document.uri)
    if read is None:
        return None
    snapshot, analysis = read
    only = params.context.only
    actions: list[types.CodeAction] = []
    if wants(only, types.CodeActionKind.QuickFix):
        actions += await quick_fixes(server, snapshot, analysis, params)
        actions += await ignores(server, snapshot, analysis, params)
    if wants(only, OPTIMIZE_KIND) and snapshot.cell is None:
        offered = server.chip.offered(snapshot, analysis, await server.project(snapshot))
        place = snapshot.from_lsp(params.range)
        actions += _optimizations(server, snapshot, analysis, place, offered)
    # Only on request: nobody looks for a whole file's fixes at one place of it.
    if only and wants(only, FIX_ALL_KIND):
        actions += await fix_all(server, snapshot, analysis)
    return actions


def wants(only: Any, kind: str) -> bool:
    """Whether a client that asks for some kinds alone asks for this one or one above it."""
    return not only or any(
        kind == k or kind.startswith(f"{k}.") or k == "" for k in map(str_of, only)
    )


def str_of(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def _optimizations(
    server: TilewrightServer,
    snapshot: Snapshot,
    analysis: Analysis,
    place: Range,
    targets: tuple[str, ...],
) -> list[types.CodeAction]:
    kernel = analysis.kernel_near(place)
    if kernel is None or not server.settings.trusted:
        return []
    return [
        types.CodeAction(
            title=f"Optimize for {wording.target_label(target)}",
            kind=OPTIMIZE_KIND,
            command=types.Command(
                title="Optimize",
                command=OPTIMIZE,
                arguments=[
                    {
                        "uri": snapshot.uri,
                        "version": snapshot.version,
                        "target": target,
                        "kernel": kernel.name,
                    }
                ],
            ),
        )
        for target in targets
    ]


async def fix_all(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis
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
