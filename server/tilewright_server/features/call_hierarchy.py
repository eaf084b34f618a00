"""``callHierarchy/*``: kernels, their launches, and the host functions above them, in all files."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls import uris

from tilewright.errors import InputError
from tilewright.navigation.calls import Caller, Calls, caller_at, incoming, outgoing, place_of
from tilewright.navigation.imported_calls import FileCalls, ImportedCalls, Place
from tilewright.navigation.imports import Sources
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.source.text import Range
from tilewright_server.places import closed_file, document_of
from tilewright_server.positions import Encoding
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot

_Read = tuple[Snapshot, Module]
_Item = types.CallHierarchyItem
Result = TypeVar("Result")
_Found = list[tuple[_Item, list[types.Range]]]


async def _read(server: TilewrightServer, uri: str) -> _Read | None:
    """An open document, or the file of an item that was handed out before."""
    snapshot = server.snapshot(uri)
    if snapshot is not None:
        return (snapshot, (await server.parse(snapshot)).module) if snapshot.is_python else None
    path = uris.to_fs_path(uri)
    if path is None or not path.endswith(".py"):
        return None
    return await _searched(server, Path(path), (), lambda sources, _: _file(server, sources, path))


def _file(server: TilewrightServer, sources: Sources, path: str) -> _Read | None:
    """A file's text in the editor, else on disk."""
    text = sources.text(Path(path))
    if text is None:
        return None
    opened = (s for s in server.snapshots() if s.path == path and s.cell is None)
    encoding = Encoding.from_kind(server.workspace.position_encoding)
    snapshot = next(opened, None) or closed_file(Path(path), text, encoding)
    return snapshot, parse_module(text, path)


async def _searched(
    server: TilewrightServer,
    path: Path,
    names: Iterable[str],
    work: Callable[[Sources, list[Path]], Result],
) -> Result | None:
    try:
        return await server.index.search(path, tuple(names), work)
    except InputError:
        return None  # There are too many files; what this one says is shown.


async def prepare_call_hierarchy(
    server: TilewrightServer, params: types.CallHierarchyPrepareParams
) -> list[_Item] | None:
    """A kernel, by its definition or a launch, or a host function that comes to a launch."""
    read = await _read(server, params.text_document.uri)
    if read is None:
        return None
    snapshot, module = read
    place = snapshot.place(params.position)
    caller = await server.in_pool(caller_at, module, *place)
    item = _item(snapshot, module, caller) if caller is not None else None
    if item is None and _is_file(snapshot):
        path = Path(str(snapshot.path))

        def imported(sources: Sources, _: list[Path]) -> _Item | None:
            found = ImportedCalls(sources).caller_at(path, *place)
            return _item_in(server, sources, found) if found is not None else None

        item = await _searched(server, path, (), imported)
    return [item] if item is not None else None


def _is_file(snapshot: Snapshot) -> bool:
    return snapshot.path is not None and snapshot.cell is None


def _item_in(server: TilewrightServer, sources: Sources, place: Place) -> _Item | None:
    read = _file(server, sources, str(place.path))
    return None if read is None else _item(*read, place.caller)


async def incoming_calls(
    server: TilewrightServer, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall] | None:
    """Who launches a kernel, and who calls those, in this file and in those that import it."""
    found = await _calls(server, params.item, incoming)
    if found is None:
        return None
    caller, path = _caller(params.item.data), uris.to_fs_path(params.item.uri)
    if caller is not None and caller.name and path is not None:
        at = Place(Path(path), caller)

        def elsewhere(sources: Sources, paths: list[Path]) -> _Found:
            calls = ImportedCalls(sources).incoming(at, paths)
            return [each for one in calls for each in _shown(server, sources, one, one.path)]

        found += await _searched(server, at.path, (caller.name.split(".")[0],), elsewhere) or []
    return [
        types.CallHierarchyIncomingCall(from_=item, from_ranges=ranges) for item, ranges in found
    ]


async def outgoing_calls(
    server: TilewrightServer, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall] | None:
    """What a host function launches, directly or through others, wherever those are defined."""
    item = params.item
    caller, path = _caller(item.data), uris.to_fs_path(item.uri)
    found: _Found | None = None
    if caller is not None and path is not None and not caller.is_kernel:
        at = Place(Path(path), caller)

        def everywhere(sources: Sources, _: list[Path]) -> _Found:
            calls = ImportedCalls(sources).outgoing(at)
            return [each for one in calls for each in _shown(server, sources, one, at.path)]

        found = await _searched(server, at.path, (), everywhere)
    found = found or await _calls(server, item, outgoing)
    if found is None:
        return None
    return [types.CallHierarchyOutgoingCall(to=item, from_ranges=ranges) for item, ranges in found]


def _shown(server: TilewrightServer, sources: Sources, one: FileCalls, at: Path) -> _Found:
    """Calls as the client gets them; their places are in the file ``at``."""
    item = _item_in(server, sources, Place(one.path, one.calls.other))
    read = _file(server, sources, str(at))
    if item is None or read is None:
        return []
    return [(item, _ranges(read[0], one.calls.places))]


def _ranges(snapshot: Snapshot, places: Iterable[Range]) -> list[types.Range]:
    return [document_of(snapshot, place.line).to_lsp(place) for place in places]


async def _calls(
    server: TilewrightServer,
    item: _Item,
    find: Callable[[Module, Caller], tuple[Calls, ...]],
) -> _Found | None:
    read = await _read(server, item.uri)
    caller = _caller(item.data)
    if read is None or caller is None:
        return None
    snapshot, module = read
    found = []
    for calls in await server.in_pool(find, module, caller):
        other = _item(snapshot, module, calls.other)
        if other is not None:
            found.append((other, _ranges(snapshot, calls.places)))
    return found


def _item(snapshot: Snapshot, module: Module, caller: Caller) -> _Item | None:
    place = place_of(module, caller)
    if place is None:
        return None
    whole, name = place
    document = document_of(snapshot, name.line)
    kind = types.SymbolKind.Function if caller.name else types.SymbolKind.File
    return _Item(
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
    name = _item_field(data, "name")
    is_kernel = _item_field(data, "kernel")
    if isinstance(name, str) and isinstance(is_kernel, bool):
        return Caller(name, is_kernel)
    return None


def _item_field(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, dict) else getattr(data, key, None)
