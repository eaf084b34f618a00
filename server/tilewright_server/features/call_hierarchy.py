"""``callHierarchy/*``: kernels, their launches, and the host functions above them."""

from collections.abc import Callable
from typing import Any

from lsprotocol import types

from tilewright.navigation.calls import (
    Caller,
    Calls,
    caller_at,
    incoming,
    outgoing,
    place_of,
)
from tilewright.source.model import Module
from tilewright_server.places import document_of
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot

_Read = tuple[Snapshot, Module]


async def _read(server: TilewrightServer, uri: str) -> _Read | None:
    snapshot = server.snapshot(uri)
    if snapshot is None or not snapshot.is_python:
        return None
    return snapshot, (await server.parse(snapshot)).module


async def prepare_call_hierarchy(
    server: TilewrightServer, params: types.CallHierarchyPrepareParams
) -> list[types.CallHierarchyItem] | None:
    """A kernel, by its definition or a launch, or a host function that launches one."""
    read = await _read(server, params.text_document.uri)
    if read is None:
        return None
    snapshot, module = read
    caller = await server.in_pool(caller_at, module, *snapshot.place(params.position))
    item = _item(snapshot, module, caller) if caller is not None else None
    return [item] if item is not None else None


async def incoming_calls(
    server: TilewrightServer, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall] | None:
    """Who launches a kernel, and who calls those."""
    found = await _calls(server, params.item, incoming)
    if found is None:
        return None
    return [
        types.CallHierarchyIncomingCall(from_=item, from_ranges=ranges) for item, ranges in found
    ]


async def outgoing_calls(
    server: TilewrightServer, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall] | None:
    """What a host function launches, directly or through others."""
    found = await _calls(server, params.item, outgoing)
    if found is None:
        return None
    return [types.CallHierarchyOutgoingCall(to=item, from_ranges=ranges) for item, ranges in found]


async def _calls(
    server: TilewrightServer,
    item: types.CallHierarchyItem,
    find: Callable[[Module, Caller], tuple[Calls, ...]],
) -> list[tuple[types.CallHierarchyItem, list[types.Range]]] | None:
    read = await _read(server, item.uri)
    caller = _caller(item.data)
    if read is None or caller is None:
        return None
    snapshot, module = read
    found = []
    for calls in await server.in_pool(find, module, caller):
        other = _item(snapshot, module, calls.other)
        if other is not None:
            places = [document_of(snapshot, p.line).to_lsp(p) for p in calls.places]
            found.append((other, places))
    return found


def _item(snapshot: Snapshot, module: Module, caller: Caller) -> types.CallHierarchyItem | None:
    place = place_of(module, caller)
    if place is None:
        return None
    whole, name = place
    document = document_of(snapshot, name.line)
    kind = types.SymbolKind.Function if caller.name else types.SymbolKind.File
    return types.CallHierarchyItem(
        name=caller.name or snapshot.uri.rsplit("/", 1)[-1],
        kind=kind,
        uri=document.uri,
        range=document.to_lsp(whole),
        selection_range=document.to_lsp(name),
        detail="kernel" if caller.is_kernel else "host code",
        data={"name": caller.name, "kernel": caller.is_kernel},
    )


def _caller(data: Any) -> Caller | None:
    """What an item was made of; a client hands ``data`` back as it was."""
    name = _of(data, "name")
    is_kernel = _of(data, "kernel")
    if isinstance(name, str) and isinstance(is_kernel, bool):
        return Caller(name, is_kernel)
    return None


def _of(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, dict) else getattr(data, key, None)
