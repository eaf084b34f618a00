"""``textDocument/semanticTokens/*``: constexprs, pointers, tiles and masks of kernels.

Two types that every theme knows, with a modifier for what the name is to the compiler.
"""

from collections.abc import Iterable, Sequence

from lsprotocol import types

from tilewright.navigation.tokens import Meaning, Token, tokens
from tilewright_server.analysis_cache import Analysis
from tilewright_server.backend import ONE_AT_A_TIME
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot

_TYPES = ("variable", "parameter")
_MODIFIERS = ("readonly", *(str(meaning) for meaning in Meaning))
LEGEND = types.SemanticTokensLegend(token_types=_TYPES, token_modifiers=_MODIFIERS)


async def semantic_tokens_full(
    server: TilewrightServer, params: types.SemanticTokensParams
) -> types.SemanticTokens | None:
    """Those of a whole document; None without kernels, so that another server's are shown."""
    uri = params.text_document.uri
    data = await _data(server, uri)
    return None if data is None else types.SemanticTokens(data, server.sent_tokens.keep(uri, data))


async def semantic_tokens_delta(
    server: TilewrightServer, params: types.SemanticTokensDeltaParams
) -> types.SemanticTokens | types.SemanticTokensDelta | None:
    """What changed since an answer; all of them where that is not the last one."""
    uri = params.text_document.uri
    data = await _data(server, uri)
    if data is None:
        return None
    old = server.sent_tokens.known(uri, params.previous_result_id)
    result_id = server.sent_tokens.keep(uri, data)
    if old is None:
        return types.SemanticTokens(data, result_id)
    return types.SemanticTokensDelta(difference(old, data), result_id)


async def semantic_tokens_range(
    server: TilewrightServer, params: types.SemanticTokensRangeParams
) -> types.SemanticTokens | None:
    """Those of some lines."""
    data = await _data(server, params.text_document.uri, params.range)
    return None if data is None else types.SemanticTokens(data)


async def _data(
    server: TilewrightServer, uri: str, place: types.Range | None = None
) -> list[int] | None:
    if not server.settings.semantic_tokens:
        return None
    read = await server.read(uri)
    if read is None or not read[1].module.kernels:
        return None
    snapshot, analysis = read
    asked = None if place is None else snapshot.from_lsp(place)
    first, last = (1, snapshot.table.count) if asked is None else (asked.line, asked.end_line)
    found = await server.in_pool(_tokens, analysis, first, last)
    return encoded(snapshot, (token for token in found if snapshot.holds(token.range.line)))


def _tokens(analysis: Analysis, first: int, last: int) -> list[Token]:
    with ONE_AT_A_TIME:
        return list(tokens(analysis.module, analysis.context, first, last))


def encoded(snapshot: Snapshot, found: Iterable[Token]) -> list[int]:
    """Five numbers a token: lines and columns after the one before, length, type, modifiers."""
    data: list[int] = []
    line = column = 0
    for token in sorted(found):
        place = snapshot.to_lsp(token.range)
        start, length = place.start, place.end.character - place.start.character
        ahead = start.character - column if start.line == line else start.character
        modifiers = 1 << _MODIFIERS.index(token.meaning)
        modifiers |= int(token.meaning is Meaning.CONSTEXPR)
        data += [start.line - line, ahead, length, int(token.is_parameter), modifiers]
        line, column = start.line, start.character
    return data


def difference(old: Sequence[int], new: Sequence[int]) -> list[types.SemanticTokensEdit]:
    """One edit that turns one answer into another: what stands between their equal ends."""
    if old == new:
        return []
    shorter = min(len(old), len(new))
    start = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    inserted = list(new[start : len(new) - end])
    return [types.SemanticTokensEdit(start, len(old) - end - start, inserted)]
