"""``textDocument/documentSymbol``, ``foldingRange`` and ``workspace/symbol``: kernels."""

from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types
from pygls import uris

from tilewright.navigation.outline import Symbol, SymbolKind, folds, outline
from tilewright.source.text import Range
from tilewright_server.lines import LineTable
from tilewright_server.positions import Encoding, to_range
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot
from tilewright_server.workspace_index import FoundKernel

_KINDS = {
    SymbolKind.KERNEL: types.SymbolKind.Function,
    SymbolKind.CONSTEXPR: types.SymbolKind.Constant,
    SymbolKind.CONFIGURATIONS: types.SymbolKind.Array,
    SymbolKind.CONFIGURATION: types.SymbolKind.Object,
    SymbolKind.LAUNCH: types.SymbolKind.Event,
}
_PREFIX = "kernel:"
_MOST = 500


async def document_symbol(
    server: TilewrightServer, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol] | list[types.SymbolInformation] | None:
    """Kernels with constexprs and configurations, and launches; the rest is Python's server's."""
    snapshot = server.snapshot(params.text_document.uri)
    if snapshot is None or not snapshot.is_python:
        return None
    parsed = await server.parse(snapshot)
    found = await server.in_pool(outline, parsed.module)
    here = [symbol for symbol in found if snapshot.holds(symbol.range.line)]
    if server.client.hierarchical_symbols:
        return [_symbol(snapshot, symbol) for symbol in here]
    return list(_flat(snapshot, here, None))


def _symbol(snapshot: Snapshot, symbol: Symbol) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        name=symbol.name,
        kind=_KINDS[symbol.kind],
        detail=symbol.detail or None,
        range=snapshot.to_lsp(symbol.range),
        selection_range=snapshot.to_lsp(symbol.name_range),
        children=[_symbol(snapshot, child) for child in symbol.children],
    )


def _flat(
    snapshot: Snapshot, symbols: list[Symbol], owner: str | None
) -> Iterator[types.SymbolInformation]:
    for symbol in symbols:
        place = types.Location(snapshot.uri, snapshot.to_lsp(symbol.range))
        yield types.SymbolInformation(
            location=place,
            name=symbol.name,
            kind=_KINDS[symbol.kind],
            container_name=owner,
        )
        yield from _flat(snapshot, list(symbol.children), symbol.name)


async def folding_range(
    server: TilewrightServer, params: types.FoldingRangeParams
) -> list[types.FoldingRange] | None:
    """Of files with kernels; in others the editor folds by itself."""
    snapshot = server.snapshot(params.text_document.uri)
    if snapshot is None or not snapshot.is_python:
        return None
    parsed = await server.parse(snapshot)
    if not parsed.module.kernels:
        return None
    found = await server.in_pool(folds, parsed.module)
    return [_fold(snapshot, first, last) for first, last in found if snapshot.holds(first)]


def _fold(snapshot: Snapshot, first: int, last: int) -> types.FoldingRange:
    place = snapshot.to_lsp(Range(first, 0, last, 0))
    return types.FoldingRange(start_line=place.start.line, end_line=place.end.line)


async def workspace_symbol(
    server: TilewrightServer, params: types.WorkspaceSymbolParams
) -> list[types.SymbolInformation]:
    """Kernels of the workspace whose names have the letters of the query in their order.

    ``kernel:`` in front of the query asks for kernels alone, which is all there is here.
    """
    query = params.query.removeprefix(_PREFIX).strip().lower()
    found = await server.index.kernels()
    chosen = [one for one in found if _matches(query, one.symbol.name.lower())]
    return [_information(server, one) for one in chosen[:_MOST]]


def _matches(query: str, name: str) -> bool:
    letters = iter(name)
    return all(letter in letters for letter in query)


def _information(server: TilewrightServer, found: FoundKernel) -> types.SymbolInformation:
    symbol = found.symbol
    name = symbol.name_range
    # Only the line of the name is at hand, and all that is needed to count its columns.
    there = to_range(
        LineTable(found.line_text),
        Range(1, name.column, 1, name.end_column),
        Encoding.from_kind(server.workspace.position_encoding),
    )
    line = name.line - 1
    place = types.Range(
        types.Position(line, there.start.character), types.Position(line, there.end.character)
    )
    return types.SymbolInformation(
        location=types.Location(str(uris.from_fs_path(found.path)), place),
        name=symbol.name,
        kind=_KINDS[symbol.kind],
        container_name=Path(found.path).name,
    )
