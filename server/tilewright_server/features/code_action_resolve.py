"""``codeAction/resolve``: an action's edit, from its data and the document as it is now."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from lsprotocol import types
from pydantic import TypeAdapter, ValidationError

from tilewright.analysis.model import Issue
from tilewright.rewrites.model import Numerics, Refusal, Rewrite
from tilewright_server import wording
from tilewright_server.analysis_cache import Analysis
from tilewright_server.capabilities import FIX_ALL_KIND
from tilewright_server.document_issues import document_issues
from tilewright_server.edits import Evidence, document_edits, labelled
from tilewright_server.ignoring import Scope, ignoring
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot

_OVER_CELLS = "The edit would reach over several cells or into magic; make it by hand."
_MOVED_ON = "The file has changed since this was offered; ask again."


class EditKind(StrEnum):
    """What an action of ours does to the text."""

    FIX = "fix"
    IGNORE = "ignore"
    FIX_ALL = "fixAll"
    FIX_KIND = "fixKind"


@dataclass(frozen=True)
class EditData:
    """Which edit of which text.

    Attributes:
        text: the identity of the text.
        issue, line, column: the issue and where it starts; of several, what they have in common.
        how: the name of the rewrite, or the scope in which to ignore.
    """

    kind: EditKind
    uri: str
    version: int | None
    text: str
    issue: str = ""
    line: int = 0
    column: int = 0
    how: str = ""

    @classmethod
    def for_issue(cls, kind: EditKind, snapshot: Snapshot, issue: Issue, how: str) -> "EditData":
        """An edit that is about one issue."""
        place = issue.range.line, issue.range.column
        return cls(kind, snapshot.uri, snapshot.version, snapshot.hash, issue.id, *place, how)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


_EDIT_DATA = TypeAdapter(EditData)

_Planned = tuple[str, Evidence] | Refusal


async def code_action_resolve(
    server: TilewrightServer, action: types.CodeAction
) -> types.CodeAction:
    """The action with its edit; one that is not ours to resolve comes back as it is."""
    resolved = await resolve(server, action)
    # What runs on each save does not speak up where there is nothing to do.
    if resolved.disabled is not None and resolved.kind != FIX_ALL_KIND:
        server.warn(f"Tilewright: {resolved.disabled.reason}")
    return resolved


async def resolve(server: TilewrightServer, action: types.CodeAction) -> types.CodeAction:
    """The action with its edit, or disabled with the reason why there is none."""
    try:
        data = _EDIT_DATA.validate_python(action.data)
    except ValidationError:
        return action
    snapshot = server.snapshot(data.uri)
    if snapshot is None or snapshot.hash != data.text:
        return disabled(action, _MOVED_ON)
    analysis = await server.analyze(snapshot)
    planned = await _plan(server, snapshot, analysis, data)
    if isinstance(planned, Refusal):
        return disabled(action, planned.reason)
    if server.snapshot(data.uri) is not snapshot:
        return disabled(action, _MOVED_ON)
    new, evidence = planned
    edits = document_edits(snapshot, new)
    if edits is None:
        return disabled(action, _OVER_CELLS)
    action.edit = labelled(edits, evidence, server.client)
    if data.kind is not EditKind.IGNORE:
        server.applied_fixes.offer(snapshot, new, evidence.label.removeprefix("Tilewright: "))
    return action


async def at_once(server: TilewrightServer, action: types.CodeAction) -> types.CodeAction:
    """An action as it is listed: with its edit for clients that do not ask for it later."""
    return action if server.client.resolves_edits else await resolve(server, action)


async def _plan(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, data: EditData
) -> _Planned:
    """The whole new text and what is known of it."""
    if data.kind is EditKind.FIX_ALL:
        return await _fix_all(server, snapshot, analysis)
    if data.kind is EditKind.FIX_KIND:
        return await _fix_all(server, snapshot, analysis, data.issue)
    issue = _find(document_issues(server.facts, snapshot, analysis).every(), data)
    if issue is None:
        return Refusal(_MOVED_ON)
    if data.kind is EditKind.IGNORE:
        return await _ignore(server, analysis, issue, Scope(data.how))
    for rewrite in server.engine.rewrites_for(issue.id):
        if rewrite.name == data.how:
            return await _fix(server, analysis, issue, rewrite)
    return Refusal(_MOVED_ON)


def _find(issues: list[Issue], data: EditData) -> Issue | None:
    place = (data.line, data.column)
    for issue in issues:
        if issue.id == data.issue and (issue.range.line, issue.range.column) == place:
            return issue
    return None


async def _fix(
    server: TilewrightServer, analysis: Analysis, issue: Issue, rewrite: Rewrite
) -> _Planned:
    new = await server.fixes.apply(analysis, issue, rewrite)
    if isinstance(new, Refusal):
        return new
    ask = rewrite.numerics is not Numerics.EXACT
    return new, Evidence(f"Tilewright: {rewrite.title}", wording.fix_evidence(rewrite), ask)


async def _ignore(
    server: TilewrightServer, analysis: Analysis, issue: Issue, scope: Scope
) -> _Planned:
    new = await server.in_pool(ignoring, analysis.module, issue, scope)
    if new is None:
        return Refusal("No comment can be put here without changing the code.")
    label = f"Tilewright: {wording.ignore_title(issue.id, scope)}"
    return new, Evidence(label, "a comment; the code stays as it is", ask=False)


async def _fix_all(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, only: str | None = None
) -> _Planned:
    """Exact fixes of all issues, or of one ``only``; what cannot be fixed exactly stays."""
    project = await server.project(snapshot)
    fixed = await server.in_pool(
        server.engine.fix_all, analysis.module, analysis.context, project.silenced, only
    )
    if not fixed.fixes:
        return Refusal("Nothing here can be fixed exactly.")
    titles = ", ".join(dict.fromkeys(fix.rewrite.title for fix in fixed.fixes))
    said = wording.exact_evidence(titles)
    if only is None:
        return fixed.text, Evidence("Tilewright: fix all", said, ask=False)
    left = len(fixed.checked.issues)
    count = f"{len(fixed.fixes)} fixed" + (
        f", {left} left that no exact edit fixes" if left else ""
    )
    return fixed.text, Evidence(f"Tilewright: fix all {only} ({count})", said, ask=False)


def disabled(action: types.CodeAction, reason: str) -> types.CodeAction:
    """The action as one that cannot be taken, with the reason."""
    action.disabled = types.CodeActionDisabled(reason=reason)
    action.is_preferred = None
    return action
