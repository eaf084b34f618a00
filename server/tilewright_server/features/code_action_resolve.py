"""``codeAction/resolve``: a quick fix's edit, from its data and the document as it is now."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pydantic import TypeAdapter, ValidationError

from tilewright.analysis.model import Issue
from tilewright.rewrites.model import Numerics, Refusal, Rewrite
from tilewright_server import wording
from tilewright_server.analysis import Analysis
from tilewright_server.edits import Evidence, workspace_edit
from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

_MOVED_ON = "The file has changed since this fix was offered; ask for fixes again."


@dataclass(frozen=True)
class FixData:
    """Which rewrite of which issue in which text. ``line`` and ``column`` are the issue's start."""

    uri: str
    version: int | None
    text: str
    issue: str
    rewrite: str
    line: int
    column: int

    def to_json(self) -> dict[str, Any]:
        return {"kind": "fix", **asdict(self)}


_FIX_DATA = TypeAdapter(FixData)


async def code_action_resolve(
    server: "TilewrightServer", action: types.CodeAction
) -> types.CodeAction:
    """The action with its edit; one that is not ours to resolve comes back as it is."""
    resolved = await resolve_fix(server, action)
    if resolved.disabled is not None and resolved.edit is None:
        server.warn(f"Tilewright: {resolved.disabled.reason}")
    return resolved


async def resolve_fix(server: "TilewrightServer", action: types.CodeAction) -> types.CodeAction:
    """The action with its edit, or disabled with the reason why there is none."""
    try:
        data = _FIX_DATA.validate_python(action.data)
    except ValidationError:
        return action
    snapshot = server.snapshot(data.uri)
    if snapshot is None or snapshot.hash != data.text:
        return disabled(action, _MOVED_ON)
    analysis = await server.analyze(snapshot)
    found = _find(server, analysis, data)
    if found is None:
        return disabled(action, _MOVED_ON)
    issue, rewrite = found
    new = await server.fixes.apply(analysis, issue, rewrite)
    if isinstance(new, Refusal):
        return disabled(action, new.reason)
    if server.snapshot(data.uri) is not snapshot:
        return disabled(action, _MOVED_ON)
    return _with_edit(server, action, snapshot, rewrite, new)


def _find(
    server: "TilewrightServer", analysis: Analysis, data: FixData
) -> tuple[Issue, Rewrite] | None:
    place = (data.line, data.column)
    for issue in analysis.issues:
        if issue.id == data.issue and (issue.range.line, issue.range.column) == place:
            for rewrite in server.engine.rewrites_for(issue.id):
                if rewrite.name == data.rewrite:
                    return issue, rewrite
    return None


def _with_edit(
    server: "TilewrightServer",
    action: types.CodeAction,
    snapshot: Snapshot,
    rewrite: Rewrite,
    new: str,
) -> types.CodeAction:
    evidence = Evidence(
        label=f"Tilewright: {rewrite.title}",
        description=wording.fix_evidence(rewrite),
        ask=rewrite.numerics is not Numerics.EXACT,
    )
    action.edit = workspace_edit(snapshot, new, evidence, server.client)
    return action


def disabled(action: types.CodeAction, reason: str) -> types.CodeAction:
    """The action as one that cannot be taken, with the reason."""
    action.disabled = types.CodeActionDisabled(reason=reason)
    action.is_preferred = None
    return action
