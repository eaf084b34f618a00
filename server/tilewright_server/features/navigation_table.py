"""The requests that find the way among kernels, with what each answers if it fails."""

from typing import Any

from lsprotocol import types

from tilewright_server.features.semantic_tokens import LEGEND
from tilewright_server.requests import AsyncHandler, lazy, nothing


def _lazy(module: str, name: str) -> AsyncHandler:
    return lazy(f"features.{module}", name)


_DELTA = _lazy("semantic_tokens", "semantic_tokens_delta")
_FULL = _lazy("semantic_tokens", "semantic_tokens_full")
_RANGE = _lazy("semantic_tokens", "semantic_tokens_range")
_CALLS = _lazy("call_hierarchy", "prepare_call_hierarchy")
_INCOMING = _lazy("call_hierarchy", "incoming_calls")
_OUTGOING = _lazy("call_hierarchy", "outgoing_calls")

NAVIGATION: tuple[tuple[str, Any, Any, Any], ...] = (
    (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _lazy("symbols", "document_symbol"), None, nothing),
    (types.WORKSPACE_SYMBOL, _lazy("symbols", "workspace_symbol"), None, nothing),
    (types.TEXT_DOCUMENT_FOLDING_RANGE, _lazy("symbols", "folding_range"), None, nothing),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _FULL, LEGEND, nothing),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, _DELTA, LEGEND, nothing),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, _RANGE, LEGEND, nothing),
    (types.TEXT_DOCUMENT_DEFINITION, _lazy("navigation", "definition"), None, nothing),
    (types.TEXT_DOCUMENT_REFERENCES, _lazy("navigation", "references"), None, nothing),
    (types.TEXT_DOCUMENT_PREPARE_RENAME, _lazy("navigation", "prepare_rename"), None, nothing),
    (types.TEXT_DOCUMENT_RENAME, _lazy("navigation", "rename_symbol"), None, nothing),
    (types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, _CALLS, None, nothing),
    (types.CALL_HIERARCHY_INCOMING_CALLS, _INCOMING, None, nothing),
    (types.CALL_HIERARCHY_OUTGOING_CALLS, _OUTGOING, None, nothing),
)
