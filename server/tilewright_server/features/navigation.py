"""``textDocument/definition``, ``references``, ``prepareRename`` and ``rename``.

Of what only the rules of tile languages connect: kernels with launches, specs and calls, and
parameters with strings and keywords in configurations, launches and grids.
"""

from collections.abc import Mapping
from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright.errors import InputError
from tilewright.navigation.elsewhere import (
    Everywhere,
    places_everywhere,
    rename_everywhere,
    uses_elsewhere,
)
from tilewright.navigation.imports import Sources
from tilewright.navigation.model import Refusal, Role, Use
from tilewright.navigation.places import Found, name_at
from tilewright.problems.model import Problem
from tilewright.source.callgraph import call_graph
from tilewright.source.model import Kernel, Module
from tilewright_server.analysis_cache import Parsed
from tilewright_server.places import closed_file, location, renaming
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot
from tilewright_server.spec_places import entry_place


async def _named(
    server: TilewrightServer, uri: str, position: types.Position
) -> tuple[Snapshot, Parsed, Found] | None:
    snapshot = server.snapshot(uri)
    if snapshot is None or not snapshot.is_python:
        return None
    parsed = await server.parse(snapshot)
    found = await server.in_pool(name_at, parsed.module, *snapshot.place(position))
    return None if found is None else (snapshot, parsed, found)


async def definition(
    server: TilewrightServer, params: types.DefinitionParams
) -> types.Location | None:
    """The kernel of a launch; the parameter that a string or a keyword names.

    A name in a kernel's body is left to Python's server.
    """
    named = await _named(server, params.text_document.uri, params.position)
    if named is None or named[2].use.role is Role.BODY:
        return None
    snapshot, _, found = named
    return location(snapshot, found.uses.definition.range)


async def references(
    server: TilewrightServer, params: types.ReferenceParams
) -> list[types.Location] | None:
    """Every certain place of a kernel or a parameter, in all files; and of a kernel its spec."""
    named = await _named(server, params.text_document.uri, params.position)
    if named is None:
        return None
    snapshot, parsed, found = named
    keep_definition = params.context.include_declaration
    places = [
        location(snapshot, use.range)
        for use in found.uses.uses
        if keep_definition or use.role is not Role.DEFINITION
    ]
    places += await _references_elsewhere(server, snapshot, parsed, found)
    if found.parameter is None and snapshot.path is not None:
        problem = (await server.project(snapshot)).problem
        if problem is not None and _runs(parsed.module, problem, found.kernel):
            spec = await server.in_pool(entry_place, problem, snapshot.encoding)
            places += [spec] if spec is not None else []
    return places


async def _references_elsewhere(
    server: TilewrightServer, snapshot: Snapshot, parsed: Parsed, found: Found
) -> list[types.Location]:
    if snapshot.path is None or snapshot.cell is not None:
        return []
    module, kernel, name = parsed.module, found.kernel, found.parameter

    def search(sources: Sources, paths: list[Path]) -> list[tuple[Path, str, tuple[Use, ...]]]:
        uses = uses_elsewhere(sources, module, kernel, name, paths)
        return [(path, sources.text(path) or "", each) for path, each in uses.items()]

    try:
        names = (kernel.name, *kernel.aliases)
        others = await server.index.search(Path(snapshot.path), names, search)
    except InputError:
        return []  # There are too many files; those of this one are shown.
    return [
        location(closed_file(path, text, snapshot.encoding), use.range)
        for path, text, uses in others
        for use in uses
    ]


def _runs(module: Module, problem: Problem, kernel: Kernel) -> bool:
    """Whether the spec's entry point comes to a kernel."""
    entry = problem.entry
    if entry.path is not None:
        return False
    steps = call_graph(module).reached(entry.name)
    launched = {step.edge.launch.kernel for step in steps if step.edge.launch is not None}
    return kernel.name == entry.name or kernel.name in launched


async def prepare_rename(
    server: TilewrightServer, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder | None:
    """The name to change. Other names than constexprs are left to Python's server.

    Raises:
        JsonRpcException: a constexpr that cannot be renamed, with the reason.
    """
    named = await _named(server, params.text_document.uri, params.position)
    if named is None or not _is_constexpr(named[2]):
        return None
    snapshot, parsed, found = named
    await _everywhere(server, snapshot, parsed, found)
    return types.PrepareRenamePlaceholder(snapshot.to_lsp(found.use.range), str(found.parameter))


def _is_constexpr(found: Found) -> bool:
    return found.parameter is not None and found.parameter in found.kernel.constexprs


async def rename_symbol(
    server: TilewrightServer, params: types.RenameParams
) -> types.WorkspaceEdit | None:
    """A constexpr's other name in all its places, or none of them.

    Raises:
        JsonRpcException: a place may be missed or the name cannot be used, with the reason.
    """
    named = await _named(server, params.text_document.uri, params.position)
    if named is None or not _is_constexpr(named[2]):
        return None
    snapshot, parsed, found = named
    outcome, texts = await _everywhere(server, snapshot, parsed, found, params.new_name)
    places = [(snapshot, [use.range for use in outcome.home.uses])]
    for path, uses in outcome.others.items():
        other = _as_searched(server, path, texts[path], snapshot)
        places.append((other, [use.range for use in uses]))
    if server.snapshot(params.text_document.uri) is not snapshot:
        raise _overtaken()
    return renaming(places, params.new_name, server.client)


def _as_searched(server: TilewrightServer, path: Path, text: str, asked: Snapshot) -> Snapshot:
    """Another file with the text that was searched: open in the editor, or on disk."""
    for opened in server.snapshots():
        if opened.path == str(path) and opened.cell is None:
            if opened.text != text:
                raise _overtaken()
            return opened
    return closed_file(path, text, asked.encoding)


async def _everywhere(
    server: TilewrightServer,
    snapshot: Snapshot,
    parsed: Parsed,
    found: Found,
    new: str | None = None,
) -> tuple[Everywhere, Mapping[Path, str]]:
    """Every place of a constexpr, or those to write ``new`` at; and the texts of other files.

    Raises:
        JsonRpcException: a place may be missed or the name cannot be used, with the reason.
    """
    module, kernel, name = parsed.module, found.kernel, str(found.parameter)

    def search(
        sources: Sources, paths: list[Path]
    ) -> tuple[Everywhere | Refusal, Mapping[Path, str]]:
        if new is None:
            places = places_everywhere(sources, module, kernel, name, paths)
        else:
            places = rename_everywhere(sources, module, kernel, name, new, paths)
        return places, {path: sources.text(path) or "" for path in paths}

    try:
        if snapshot.path is None:
            outcome, texts = search(Sources(lambda _: None), [])
        else:
            names = (kernel.name, *kernel.aliases)
            outcome, texts = await server.index.search(Path(snapshot.path), names, search)
    except InputError as error:
        raise _refused(name, error.message) from None
    if isinstance(outcome, Refusal):
        raise _refused(name, outcome.reason)
    return outcome, texts


def _overtaken() -> JsonRpcException:
    return JsonRpcException("the document has changed", types.LSPErrorCodes.ContentModified.value)


def _refused(name: str, reason: str) -> JsonRpcException:
    code = types.LSPErrorCodes.RequestFailed.value
    return JsonRpcException(f"{name} cannot be renamed everywhere: {reason}", code)
