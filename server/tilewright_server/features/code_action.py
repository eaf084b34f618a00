"""``textDocument/codeAction``: a quick fix for each rewrite, "Optimize for …" for each target.

Listing computes no edit; ``codeAction/resolve`` does, from ``data`` alone.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from tilewright.analysis.model import Issue
from tilewright.rewrites.model import Numerics, Refusal, Rewrite
from tilewright.source.text import Range
from tilewright_server import wording
from tilewright_server.analysis import Analysis
from tilewright_server.commands.names import OPTIMIZE
from tilewright_server.diagnostics import SOURCE
from tilewright_server.features.code_action_resolve import FixData, disabled, resolve_fix
from tilewright_server.readiness import lacking_launch
from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

_MENU_S = 0.05
OPTIMIZE_KIND = "refactor.rewrite.tilewright"

OPTIONS = types.CodeActionOptions(
    code_action_kinds=[types.CodeActionKind.QuickFix, OPTIMIZE_KIND], resolve_provider=True
)


async def code_action(
    server: "TilewrightServer", params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    """What can be done about a range, fixes first."""
    read = await server.read(params.text_document.uri)
    if read is None:
        return None
    snapshot, analysis = read
    only = params.context.only
    actions: list[types.CodeAction] = []
    if wants(only, types.CodeActionKind.QuickFix):
        actions += await _fixes(server, snapshot, analysis, params)
    if wants(only, OPTIMIZE_KIND):
        actions += _optimizations(server, snapshot, analysis, snapshot.from_lsp(params.range))
    return actions


def wants(only: Any, kind: str) -> bool:
    """Whether a client that asks for some kinds alone asks for this one or one above it."""
    return not only or any(
        kind == k or kind.startswith(f"{k}.") or k == "" for k in map(str_of, only)
    )


def str_of(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


async def _fixes(
    server: "TilewrightServer",
    snapshot: Snapshot,
    analysis: Analysis,
    params: types.CodeActionParams,
) -> list[types.CodeAction]:
    place = snapshot.from_lsp(params.range)
    candidates = [
        (issue, rewrite)
        for issue in analysis.issues
        if issue.range.overlaps(place)
        for rewrite in server.engine.rewrites_for(issue.id)
    ]
    refusals: dict[int, str] = {}
    if params.context.trigger_kind is types.CodeActionTriggerKind.Invoked:
        refusals = await _refusals(server, analysis, candidates)
    actions = []
    for number, (issue, rewrite) in enumerate(candidates):
        action = _fix(snapshot, issue, rewrite, params.context.diagnostics)
        lacking = lacking_launch(server, snapshot, analysis, issue, rewrite)
        if lacking or number in refusals:
            action = disabled(action, lacking or refusals[number])
        elif not server.client.resolves_edits:
            action = await resolve_fix(server, action)
        if action.disabled is None or server.client.shows_disabled:
            actions.append(action)
    return actions


async def _refusals(
    server: "TilewrightServer", analysis: Analysis, candidates: list[tuple[Issue, Rewrite]]
) -> dict[int, str]:
    """Why some fixes cannot be made, as far as that is known in the time a menu may take.

    Only when a person asked: moving the cursor must not start rewrites.
    """
    tasks = [
        asyncio.create_task(server.fixes.apply(analysis, issue, rewrite))
        for issue, rewrite in candidates
    ]
    if not tasks:
        return {}
    done, late = await asyncio.wait(tasks, timeout=_MENU_S)
    for task in late:
        task.cancel()
    # A rewrite that raises is reported when its edit is asked for, not while a menu opens.
    results = {
        n: task.result()
        for n, task in enumerate(tasks)
        if task in done and task.exception() is None
    }
    return {n: new.reason for n, new in results.items() if isinstance(new, Refusal)}


def _fix(snapshot: Snapshot, issue: Issue, rewrite: Rewrite, shown: Any) -> types.CodeAction:
    data = FixData(
        uri=snapshot.uri,
        version=snapshot.version,
        text=snapshot.hash,
        issue=issue.id,
        rewrite=rewrite.name,
        line=issue.range.line,
        column=issue.range.column,
    )
    where = snapshot.to_lsp(issue.range)
    return types.CodeAction(
        title=wording.fix_title(rewrite),
        kind=types.CodeActionKind.QuickFix,
        is_preferred=rewrite.numerics is Numerics.EXACT or None,
        diagnostics=[
            d for d in shown if d.source == SOURCE and d.code == issue.id and d.range == where
        ]
        or None,
        data=data.to_json(),
    )


def _optimizations(
    server: "TilewrightServer", snapshot: Snapshot, analysis: Analysis, place: Range
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
        for target in server.settings.targets
    ]
