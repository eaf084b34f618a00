"""``textDocument/hover``: on an issue, its reasons; on a kernel's name, what is known of it."""

from typing import TYPE_CHECKING

from lsprotocol import types

from tilewright.analysis.model import Issue
from tilewright.source.model import Kernel
from tilewright.source.text import Range
from tilewright_server import hovers
from tilewright_server.analysis import Analysis
from tilewright_server.readiness import lacking_launch
from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

_RULE = "\n\n---\n\n"


async def hover(server: "TilewrightServer", params: types.HoverParams) -> types.Hover | None:
    """All cards that belong to a place, the kernel's first."""
    read = await server.read(params.text_document.uri)
    if read is None:
        return None
    snapshot, analysis = read
    line, column = snapshot.place(params.position)
    cards: list[str] = []
    shown: list[Range] = []
    named = kernel_named_at(snapshot, analysis, line, column)
    if named is not None:
        kernel, place = named
        facts = server.facts.of(analysis, snapshot, kernel.name)
        failure = server.facts.failure(snapshot.uri, snapshot.hash)
        verified = server.facts.verified(snapshot.hash)
        cards.append(hovers.kernel_card(kernel, facts, failure, verified))
        shown.append(place)
    for issue in analysis.issues:
        if issue.range.contains(line, column):
            kind = server.engine.issue_type(issue.id)
            alone = not server.settings.diagnostics_in_hover
            card = hovers.issue_card(issue, kind, with_message=alone)
            cards.append("\n\n".join([card, *_fixes_not_ready(server, snapshot, analysis, issue)]))
            shown.append(issue.range)
    return _answer(server, snapshot, cards, shown)


def _fixes_not_ready(
    server: "TilewrightServer", snapshot: Snapshot, analysis: Analysis, issue: Issue
) -> list[str]:
    """Quick fixes that an editor may hide because they cannot be made yet, and why."""
    found = []
    for rewrite in server.engine.rewrites_for(issue.id):
        lacking = lacking_launch(server, snapshot, analysis, issue, rewrite)
        if lacking is not None:
            found.append(f"**Quick fix not ready** {rewrite.title}: {lacking}")
    return found


def _answer(
    server: "TilewrightServer", snapshot: Snapshot, cards: list[str], shown: list[Range]
) -> types.Hover | None:
    if not cards:
        return None
    text = _RULE.join(cards)
    content = (
        types.MarkupContent(types.MarkupKind.Markdown, text)
        if server.client.markdown_hover
        else types.MarkupContent(types.MarkupKind.PlainText, hovers.plain(text))
    )
    return types.Hover(contents=content, range=snapshot.to_lsp(shown[0]))


def kernel_named_at(
    snapshot: Snapshot, analysis: Analysis, line: int, column: int
) -> tuple[Kernel, Range] | None:
    """The kernel whose name stands at a place, at its definition or its launch."""
    for kernel in analysis.module.kernels:
        if kernel.name_range.contains(line, column):
            return kernel, kernel.name_range
    for launch in analysis.module.launches:
        start = launch.range
        name = Range(start.line, start.column, start.line, start.column + len(launch.kernel))
        kernel_or_none = analysis.module.kernel(launch.kernel)
        text = snapshot.table.line(name.line - 1)[name.column : name.end_column]
        if kernel_or_none and text == launch.kernel and name.contains(line, column):
            return kernel_or_none, name
    return None
