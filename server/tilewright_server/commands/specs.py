"""The commands around specs: draft one for a kernel, go from a kernel to its spec and back."""

from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls import uris

from tilewright.errors import InputError
from tilewright.textfile import utf8_text
from tilewright_server.commands.arguments import FileArguments, KernelArguments, read_arguments
from tilewright_server.commands.jobs import refuse
from tilewright_server.lines import LineTable
from tilewright_server.positions import Encoding
from tilewright_server.server import TilewrightServer
from tilewright_server.spec_places import entry_place, functions_of_spec

_LARGEST_SPEC = 1024 * 1024


async def add_spec(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """Write a draft of a kernel's spec next to its file and open it; nothing is run for it."""
    from tilewright.problems.gaps import GAP
    from tilewright.signatures.spec_draft import NoDraft, spec_draft

    wanted = read_arguments(KernelArguments, arguments)
    snapshot = server.snapshot(wanted.uri)
    if snapshot is None or snapshot.path is None or snapshot.cell is not None:
        return refuse(server, "a spec lies next to a Python file that is saved and open")
    project = await server.project(snapshot)
    place = Path(snapshot.path).with_suffix(".yaml")
    there = project.problem.path if project.problem is not None else None
    if there is not None or place.exists():
        return refuse(server, f"there is a spec already: {there or place}")
    module = (await server.parse(snapshot)).module
    kernel = module.kernel(wanted.kernel)
    if kernel is None:
        return refuse(server, f"{wanted.kernel} is no kernel of this file")
    draft = await server.in_pool(spec_draft, module, kernel, Path(snapshot.path).name)
    if isinstance(draft, NoDraft):
        return refuse(server, draft.reason)
    try:
        await server.in_pool(_create, place, draft.text)
    except OSError as error:
        return refuse(server, f"{place} cannot be written: {error.strerror}")
    await server.read_projects_again()
    gaps = (
        f"{draft.gaps} gaps are marked {GAP}: fill them in, then save" if draft.gaps else "no gap"
    )
    server.inform(f"Tilewright: {place.name} is a draft of what {draft.entry} is run on; {gaps}")
    uri = str(uris.from_fs_path(str(place)))
    if server.client.show_document:
        selection = _first(draft.text, GAP, snapshot.encoding)
        await server.window_show_document_async(
            types.ShowDocumentParams(uri, take_focus=True, selection=selection)
        )
    return {"uri": uri, "gaps": draft.gaps}


def _create(place: Path, text: str) -> None:
    with place.open("x", encoding="utf-8") as file:
        file.write(text)


def _first(text: str, word: str, encoding: Encoding) -> types.Range | None:
    """Where a word stands first outside of comments; the text around it is ASCII."""
    table = LineTable(text)
    for row in range(table.count):
        start = table.line(row).partition("#")[0].find(word)
        if start >= 0:
            return types.Range(types.Position(row, start), types.Position(row, start + len(word)))
    return None


async def counterpart(server: TilewrightServer, *arguments: Any) -> dict[str, Any] | None:
    """From a Python file to the entry of its spec, from a spec to its entry point, with those in
    other files under ``others``; None where there is no such thing. The client opens one."""
    wanted = read_arguments(FileArguments, arguments)
    path = uris.to_fs_path(wanted.uri)
    if path is None:
        return None
    found = [_place(one) for one in await _counterparts(server, wanted.uri, Path(path))]
    if not found:
        return None
    return {**found[0], "others": found[1:]} if found[1:] else found[0]


def _place(found: types.Location) -> dict[str, Any]:
    start, end = found.range.start, found.range.end
    return {
        "uri": found.uri,
        "range": [start.line, start.character, end.line, end.character],
    }


async def _counterparts(
    server: TilewrightServer, uri: str, path: Path
) -> tuple[types.Location, ...]:
    snapshot = server.snapshot(uri)
    if path.suffix in (".yaml", ".yml"):
        try:
            text = snapshot.text if snapshot is not None else utf8_text(path, _LARGEST_SPEC)
        except InputError:
            return ()
        namesakes = await server.index.files_named(f"{path.stem}.py")
        return await server.in_pool(functions_of_spec, path, text, Encoding.UTF16, namesakes)
    if snapshot is None:
        return ()
    problem = (await server.project(snapshot)).problem
    if problem is None:
        return ()
    entry = await server.in_pool(entry_place, problem, snapshot.encoding)
    return (entry,) if entry is not None else ()
