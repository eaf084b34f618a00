"""``textDocument/definition``, ``references``, ``prepareRename`` and ``rename``.

Of what only the rules of tile languages connect: kernels with launches, specs and calls, and
parameters with strings and keywords in configurations, launches and grids.
"""

from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright.navigation.model import Refusal, Role, Uses
from tilewright.navigation.places import Found, name_at
from tilewright.navigation.rename import renamable, rename
from tilewright.problems.model import Problem
from tilewright.source.callgraph import call_graph
from tilewright.source.model import Kernel, Module
from tilewright_server.analysis_cache import Parsed
from tilewright_server.places import location, renaming
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot
from tilewright_server.spec_places import entry_place
from tilewright_server.workspace_index import Mention


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
    """Every certain place of a kernel or a parameter, and of a kernel its spec."""
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
    if found.parameter is None and snapshot.path is not None:
        problem = (await server.project(snapshot)).problem
        if problem is not None and _runs(parsed.module, problem, found.kernel):
            spec = await server.in_pool(entry_place, problem, snapshot.encoding)
            places += [spec] if spec is not None else []
    return places


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
    await _all_places(server, snapshot, parsed, found)
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
    await _all_places(server, snapshot, parsed, found)
    name = str(found.parameter)
    outcome = await server.in_pool(rename, parsed.module, found.kernel, name, params.new_name)
    if isinstance(outcome, Refusal):
        raise _refused(name, outcome.reason)
    if server.snapshot(params.text_document.uri) is not snapshot:
        raise JsonRpcException(
            "the document has changed", types.LSPErrorCodes.ContentModified.value
        )
    places = [use.range for use in outcome.uses]
    return renaming(snapshot, places, params.new_name, server.client)


async def _all_places(
    server: TilewrightServer, snapshot: Snapshot, parsed: Parsed, found: Found
) -> Uses:
    name = str(found.parameter)
    outcome = await server.in_pool(renamable, parsed.module, found.kernel, name)
    if isinstance(outcome, Refusal):
        raise _refused(name, outcome.reason)
    if snapshot.path is not None:
        names = (found.kernel.name, *found.kernel.aliases)
        elsewhere = await server.index.mention(names, name, Path(snapshot.path))
        if elsewhere is not None:
            raise _refused(name, _of_file(found, elsewhere))
    return outcome


def _of_file(found: Found, elsewhere: Mention) -> str:
    if elsewhere.line is None:
        return f"the workspace has {elsewhere.path}, and not all were searched"
    place = f"{elsewhere.path}:{elsewhere.line}"
    names = " or ".join((found.kernel.name, *found.kernel.aliases))
    return f"{place} has {names} and {found.parameter} as well"


def _refused(name: str, reason: str) -> JsonRpcException:
    code = types.LSPErrorCodes.RequestFailed.value
    return JsonRpcException(f"{name} cannot be renamed everywhere: {reason}", code)
