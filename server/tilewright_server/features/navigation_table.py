"""The requests that find the way among kernels, with what each answers if it fails."""

from typing import Any

from lsprotocol import types

from tilewright_server.error_guard import nothing
from tilewright_server.features.call_hierarchy import (
    incoming_calls,
    outgoing_calls,
    prepare_call_hierarchy,
)
from tilewright_server.features.navigation import (
    definition,
    prepare_rename,
    references,
    rename_symbol,
)
from tilewright_server.features.semantic_tokens import (
    LEGEND,
    semantic_tokens_delta,
    semantic_tokens_full,
    semantic_tokens_range,
)
from tilewright_server.features.symbols import document_symbol, folding_range, workspace_symbol

NAVIGATION: tuple[tuple[str, Any, Any, Any], ...] = (
    (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, document_symbol, None, nothing),
    (types.WORKSPACE_SYMBOL, workspace_symbol, None, nothing),
    (types.TEXT_DOCUMENT_FOLDING_RANGE, folding_range, None, nothing),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, semantic_tokens_full, LEGEND, nothing),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, semantic_tokens_delta, LEGEND, nothing),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, semantic_tokens_range, LEGEND, nothing),
    (types.TEXT_DOCUMENT_DEFINITION, definition, None, nothing),
    (types.TEXT_DOCUMENT_REFERENCES, references, None, nothing),
    (types.TEXT_DOCUMENT_PREPARE_RENAME, prepare_rename, None, nothing),
    (types.TEXT_DOCUMENT_RENAME, rename_symbol, None, nothing),
    (types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, prepare_call_hierarchy, None, nothing),
    (types.CALL_HIERARCHY_INCOMING_CALLS, incoming_calls, None, nothing),
    (types.CALL_HIERARCHY_OUTGOING_CALLS, outgoing_calls, None, nothing),
)
