"""``textDocument/completion``, ``completionItem/resolve``, ``textDocument/signatureHelp``.

Answers are made from the text as it is typed and from the last finished analysis: none waits for
the analysis of the last key stroke.
"""

from lsprotocol import types

from tilewright.analysis.tile_uses import TileUse, settings_at, tile_uses
from tilewright.source.cursor import Cursor, cursor_at, definition_around
from tilewright.source.model import Kernel, Language
from tilewright_server import completions, hovers, signatures
from tilewright_server.analysis_cache import Analysis, Parsed
from tilewright_server.backend import ONE_AT_A_TIME
from tilewright_server.completions import Item, ItemKind, ProfileFacts, Request
from tilewright_server.features.language import surroundings
from tilewright_server.language_cards import Surroundings
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot

_KINDS = {
    ItemKind.FUNCTION: types.CompletionItemKind.Function,
    ItemKind.CONSTANT: types.CompletionItemKind.Constant,
    ItemKind.CLASS: types.CompletionItemKind.Class,
    ItemKind.MODULE: types.CompletionItemKind.Module,
    ItemKind.PARAMETER: types.CompletionItemKind.Variable,
    ItemKind.OPTION: types.CompletionItemKind.Property,
    ItemKind.VALUE: types.CompletionItemKind.Value,
}


async def completion(
    server: TilewrightServer, params: types.CompletionParams
) -> types.CompletionList | None:
    """The entries for a place inside a kernel, a launch or a configuration."""
    found = await _request(server, params.text_document.uri, params.position)
    if found is None:
        return None
    items = [_item(one, place) for place, one in enumerate(completions.completions(found))]
    return types.CompletionList(is_incomplete=False, items=items)


async def completion_resolve(
    server: TilewrightServer, item: types.CompletionItem
) -> types.CompletionItem:
    """The entry with its documentation."""
    subject = item.data.get("subject") if isinstance(item.data, dict) else None
    if isinstance(subject, str):
        text = completions.documentation(subject, server.triton)
        if text:
            item.documentation = (
                types.MarkupContent(types.MarkupKind.Markdown, text)
                if server.client.markdown_completion
                else types.MarkupContent(types.MarkupKind.PlainText, hovers.plain(text))
            )
    return item


async def signature_help(
    server: TilewrightServer, params: types.SignatureHelpParams
) -> types.SignatureHelp | None:
    """The parameters of the call that is being typed, with the present one marked."""
    found = await _request(server, params.text_document.uri, params.position)
    if found is None:
        return None
    chip = found.around.chip
    backend = chip.backend if chip is not None else None
    forms = signatures.signatures(found.module, found.cursor, found.around.version, backend)
    if not forms:
        return None
    fitting = next((n for n, form in enumerate(forms) if form.active is not None), 0)
    return types.SignatureHelp(
        signatures=[_signature(form) for form in forms],
        active_signature=fitting,
        active_parameter=forms[fitting].active,
    )


async def _request(server: TilewrightServer, uri: str, position: types.Position) -> Request | None:
    """What is around a place; None outside of Python documents."""
    snapshot = server.snapshot(uri)
    if snapshot is None or not snapshot.is_python:
        return None
    known = server.last_good.latest(uri)
    parsed = known if known is not None else await server.parse(snapshot)
    around = await surroundings(server, snapshot, parsed)
    return await server.in_pool(_read, server, snapshot, parsed, around, position)


def _read(
    server: TilewrightServer,
    snapshot: Snapshot,
    parsed: Parsed,
    around: Surroundings,
    position: types.Position,
) -> Request:
    line, column = snapshot.place(position)
    lines = snapshot.table.lines
    cursor = cursor_at(lines, line, column)
    name = completions.kernel_name_at(lines, parsed.module, cursor, line)
    analysis = server.last_good.with_kernel(snapshot.uri, name) if name is not None else None
    kernel = analysis.module.kernel(name) if analysis is not None and name is not None else None
    definition = definition_around(lines, line)
    return Request(
        cursor=cursor,
        module=parsed.module,
        around=around,
        kernel=kernel,
        constants=completions.constants_of(lines, line, kernel),
        facts=_facts(analysis, kernel, cursor),
        in_kernel=definition is not None and definition.is_jitted,
    )


def _facts(analysis: Analysis | None, kernel: Kernel | None, cursor: Cursor) -> ProfileFacts:
    """Settings, and where a block size is being typed what its tiles take."""
    if analysis is None or kernel is None or kernel.language is not Language.TRITON:
        return ProfileFacts()
    inner = cursor.calls[-1] if cursor.calls else None
    uses: tuple[TileUse, ...] = ()
    if inner is not None and (inner.key or inner.keyword) in kernel.constexprs:
        with ONE_AT_A_TIME:
            uses = tile_uses(analysis.module, kernel, analysis.context)
    settings = settings_at(analysis.module, kernel, analysis.context, kernel.range.end_line)
    return ProfileFacts(uses, settings.values if settings is not None else {})


def _item(item: Item, place: int) -> types.CompletionItem:
    return types.CompletionItem(
        label=item.label,
        label_details=types.CompletionItemLabelDetails(description=item.detail or None),
        kind=_KINDS[item.kind],
        detail=item.detail or None,
        insert_text=item.insert or None,
        sort_text=f"{item.order:02d}{place:04d}",
        data={"subject": item.subject} if item.subject else None,
    )


def _signature(form: signatures.CallSignature) -> types.SignatureInformation:
    parameters = [
        types.ParameterInformation(label=label, documentation=text or None)
        for label, text in form.parameters
    ]
    return types.SignatureInformation(
        label=form.label, documentation=form.text, parameters=parameters
    )
