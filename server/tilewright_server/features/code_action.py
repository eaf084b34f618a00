"""``textDocument/codeAction``: quick fixes, ways to ignore an issue, "Optimize for …".

Listing computes no edit; ``codeAction/resolve`` does, from ``data`` alone.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from lsprotocol import types

from tilewright.analysis.model import Issue
from tilewright.rewrites.model import Numerics, Refusal, Rewrite
from tilewright_server import wording
from tilewright_server.analysis_cache import Analysis
from tilewright_server.capabilities import FIX_ALL_KIND
from tilewright_server.diagnostics import SOURCE
from tilewright_server.document_issues import document_issues
from tilewright_server.features.code_action_resolve import (
    EditData,
    EditKind,
    at_once,
    disabled,
    resolve,
)
from tilewright_server.features.kernel_actions import kernel_actions
from tilewright_server.fix_preconditions import lacking_launch
from tilewright_server.ignoring import Scope, kernel_of
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot

_MENU_S = 0.05


async def code_action(
    server: TilewrightServer, params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    """What can be done about a range, fixes first, ways to ignore an issue last."""
    read = await server.read(params.text_document.uri)
    if read is None:
        return None
    snapshot, analysis = read
    only = params.context.only
    actions: list[types.CodeAction] = []
    if wants(only, types.CodeActionKind.QuickFix):
        actions += await quick_fixes(server, snapshot, analysis, params)
        actions += await fixes_of_a_kind(server, snapshot, analysis, params)
    if snapshot.cell is None:
        of_kernel = await kernel_actions(server, snapshot, analysis, params.range)
        actions += [action for action in of_kernel if wants(only, str_of(action.kind or ""))]
    # Only on request: nobody looks for a whole file's fixes at one place of it.
    if only and wants(only, FIX_ALL_KIND):
        actions += await fix_all(server, snapshot, analysis)
    if wants(only, types.CodeActionKind.QuickFix):
        actions += await ignores(server, snapshot, analysis, params)
    return actions


def wants(only: Any, kind: str) -> bool:
    """Whether a client that asks for some kinds alone asks for this one or one above it."""
    return not only or any(
        kind == k or kind.startswith(f"{k}.") or k == "" for k in map(str_of, only)
    )


def str_of(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


async def fix_all(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis
) -> list[types.CodeAction]:
    """All exact fixes as one edit, if there is an issue to fix."""
    if not await _applies(server, snapshot, analysis, analysis.issues):
        return []
    data = EditData(EditKind.FIX_ALL, snapshot.uri, snapshot.version, snapshot.hash)
    action = types.CodeAction(
        title="Fix all that Tilewright can fix exactly", kind=FIX_ALL_KIND, data=data.to_json()
    )
    found = await at_once(server, action)
    return [found] if found.disabled is None else []


async def fixes_of_a_kind(
    server: TilewrightServer,
    snapshot: Snapshot,
    analysis: Analysis,
    params: types.CodeActionParams,
) -> list[types.CodeAction]:
    """For each rule there that has exact fixes and several reports: all of them at once."""
    place = snapshot.from_lsp(params.range)
    counts = Counter(issue.id for issue in analysis.issues)
    here = dict.fromkeys(i.id for i in analysis.issues if i.range.overlaps(place))
    actions = []
    for rule in here:
        of_rule = [issue for issue in analysis.issues if issue.id == rule]
        if counts[rule] < 2 or not await _applies(server, snapshot, analysis, of_rule):
            continue
        data = EditData(EditKind.FIX_KIND, snapshot.uri, snapshot.version, snapshot.hash, rule)
        action = types.CodeAction(
            title=wording.kind_title(rule, counts[rule]),
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[
                shown
                for issue in of_rule
                for shown in _shown_for(snapshot, issue, params.context.diagnostics) or ()
            ]
            or None,
            data=data.to_json(),
        )
        actions.append(await at_once(server, action))
    return [action for action in actions if action.disabled is None]


async def _applies(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, issues: Sequence[Issue]
) -> bool:
    """Whether an exact fix of one of the issues can be made, as far as a menu can wait for that."""
    exact = (
        (issue, rewrite)
        for issue in issues
        for rewrite in server.engine.rewrites_for(issue.id)
        if rewrite.numerics is Numerics.EXACT
        and not lacking_launch(server, snapshot, analysis, issue, rewrite)
    )
    now = asyncio.get_running_loop().time
    end = now() + _MENU_S
    for issue, rewrite in exact:
        task = asyncio.create_task(server.fixes.apply(analysis, issue, rewrite))
        done, _ = await asyncio.wait((task,), timeout=max(0.0, end - now()))
        if not done or task.exception() is not None:
            task.cancel()
            return True  # What is wrong is reported when the edit is asked for.
        if not isinstance(task.result(), Refusal):
            return True
    return False


async def quick_fixes(
    server: TilewrightServer,
    snapshot: Snapshot,
    analysis: Analysis,
    params: types.CodeActionParams,
) -> list[types.CodeAction]:
    """A fix for each rewrite of each issue there."""
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
            action = await resolve(server, action)
        if action.disabled is None or server.client.shows_disabled:
            actions.append(action)
    return actions


async def _refusals(
    server: TilewrightServer, analysis: Analysis, candidates: list[tuple[Issue, Rewrite]]
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
    return types.CodeAction(
        title=wording.fix_title(rewrite),
        kind=types.CodeActionKind.QuickFix,
        is_preferred=rewrite.numerics is Numerics.EXACT or None,
        diagnostics=_shown_for(snapshot, issue, shown),
        data=EditData.for_issue(EditKind.FIX, snapshot, issue, rewrite.name).to_json(),
    )


def _shown_for(snapshot: Snapshot, issue: Issue, shown: Any) -> list[types.Diagnostic] | None:
    """The client's diagnostics that an action is about."""
    where = snapshot.to_lsp(issue.range)
    found = [d for d in shown if d.source == SOURCE and d.code == issue.id and d.range == where]
    return found or None


async def ignores(
    server: TilewrightServer,
    snapshot: Snapshot,
    analysis: Analysis,
    params: types.CodeActionParams,
) -> list[types.CodeAction]:
    """Ways to say that an issue does not apply; none of them is preferred."""
    place = snapshot.from_lsp(params.range)
    found: dict[str, types.CodeAction] = {}
    for issue in document_issues(server.facts, snapshot, analysis).every():
        if not issue.range.overlaps(place) or server.engine.issue_type(issue.id) is None:
            continue
        inside = kernel_of(analysis.module, issue) is not None
        for scope in Scope if inside else (Scope.LINE, Scope.FILE):
            title = wording.ignore_title(issue.id, scope)
            action = types.CodeAction(
                title=title,
                kind=types.CodeActionKind.QuickFix,
                diagnostics=_shown_for(snapshot, issue, params.context.diagnostics),
                data=EditData.for_issue(EditKind.IGNORE, snapshot, issue, scope).to_json(),
            )
            found.setdefault(title, action)
    return [await at_once(server, action) for action in found.values()]
