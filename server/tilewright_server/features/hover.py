"""``textDocument/hover``: an issue's reasons; what is known of a kernel or a value in one."""

from dataclasses import replace

from lsprotocol import types

from tilewright.analysis.model import Issue
from tilewright.source.model import Kernel, Language
from tilewright.source.text import Range
from tilewright_server import hovers, wording
from tilewright_server.analysis_cache import Analysis
from tilewright_server.cards import Card
from tilewright_server.certificate_cards import certificate_card
from tilewright_server.compiled_cards import line_card
from tilewright_server.document_issues import document_issues
from tilewright_server.features.language import language_card
from tilewright_server.fix_preconditions import lacking_launch
from tilewright_server.jobs.manager import JobKind
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot


async def hover(server: TilewrightServer, params: types.HoverParams) -> types.Hover | None:
    """All cards that belong to a place: what is read first of each, then the details of all."""
    read = await server.read(params.text_document.uri)
    if read is None:
        return None
    snapshot, analysis = read
    line, column = snapshot.place(params.position)
    cards: list[Card] = []
    shown: list[Range] = []
    named = kernel_named_at(snapshot, analysis, line, column)
    if named is not None:
        kernel, place = named
        cards += await _kernel_cards(server, snapshot, analysis, kernel)
        shown.append(place)
    for issue in document_issues(server.facts, snapshot, analysis).every():
        if issue.range.contains(line, column):
            cards.append(_issue_card(server, snapshot, analysis, issue))
            shown.append(issue.range)
    found = await language_card(server, snapshot, analysis, line, column)
    if found is not None:
        cards.append(found[0])
        shown.append(found[1])
    for known in server.facts.all_compiled(analysis, snapshot) if named is None else ():
        said = line_card(known, analysis.module, line)
        if said is not None:
            cards.append(Card(said))
            shown.append(_words(snapshot, line))
    return _answer(server, snapshot, cards, shown)


def _issue_card(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, issue: Issue
) -> Card:
    ready, blocked = _fixes(server, snapshot, analysis, issue)
    message = snapshot.with_own_lines(issue.message, issue.range.line)
    return hovers.issue_card(
        replace(issue, message=message),
        server.engine.issue_type(issue.id),
        with_message=not server.settings.diagnostics_in_hover,
        page=server.settings.page_of(issue.id),
        fixes=ready,
        blocked=blocked,
    )


async def _kernel_cards(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, kernel: Kernel
) -> list[Card]:
    """What is known of a kernel: compilers, runs, estimates and its certificate."""
    facts = server.facts.profiled(analysis, snapshot, kernel.name)
    failure = server.facts.failure(JobKind.PROFILE, snapshot)
    verified = server.facts.verified(snapshot.hash)
    compiled = server.facts.compiled(analysis, snapshot, kernel.name)
    cards = [hovers.kernel_card(kernel, facts, failure, verified, compiled)]
    if kernel.language is Language.NKI:
        cards += map(Card, await _estimates(server, snapshot, analysis, kernel))
    certified = await server.certificates.certificates_of(snapshot, analysis)
    proof = certified.proofs.get(kernel.name)
    if proof is not None and proof.state is not None:
        cards.append(Card("", certificate_card(proof)))
    return cards


async def _estimates(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, kernel: Kernel
) -> list[str]:
    """What the cost model says of an NKI kernel, for each NeuronCore."""
    from tilewright_server.nki_estimates import estimate_card, kernel_estimates

    problem = (await server.project(snapshot)).problem
    found = await server.in_pool(kernel_estimates, analysis.module, kernel, problem)
    return [estimate_card(one) for one in found]


def _words(snapshot: Snapshot, line: int) -> Range:
    """A line without the blanks around it."""
    text = snapshot.table.line(line - 1)
    return Range(line, len(text) - len(text.lstrip()), line, len(text.rstrip()))


def _fixes(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, issue: Issue
) -> tuple[list[str], list[str]]:
    """Quick fixes to ask for, and those that cannot be made yet (an editor may hide them)."""
    ready, not_ready = [], []
    for rewrite in server.engine.rewrites_for(issue.id):
        lacking = lacking_launch(server, snapshot, analysis, issue, rewrite)
        if lacking is None:
            ready.append(wording.fix_title(rewrite))
        else:
            not_ready.append(f"{rewrite.title}: {lacking}")
    return ready, not_ready


def _answer(
    server: TilewrightServer, snapshot: Snapshot, cards: list[Card], shown: list[Range]
) -> types.Hover | None:
    if not cards:
        return None
    text = hovers.whole(cards)
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
