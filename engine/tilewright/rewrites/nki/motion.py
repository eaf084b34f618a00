"""Rewrites of NKI kernels that move what a loop repeats before it, or leave it out."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.nki.instructions.traffic import (
    loads,
    repeated_loads,
    stored_tile,
)
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.nki import Loop, Operation, View
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.nki.statements import (
    NOT_HERE,
    StatementSite,
    bindings_in,
    check_deletable,
    drop_allocation,
    line_of,
    move_before,
    site_of,
    writes_to,
)
from tilewright.rewrites.scope import block_of, names_in, statement_of
from tilewright.source.model import Module


@rewrite(
    "nki_loop_invariant_load", "Load it before the loop", Numerics.EXACT, name="nki_hoist_load"
)
@rewrite(
    "nki_broadcast_in_loop",
    "Spread the row before the loop",
    Numerics.EXACT,
    name="nki_hoist_broadcast",
)
@rewrite(
    "nki_repeated_transpose",
    "Transpose it before the loop",
    Numerics.EXACT,
    name="nki_hoist_transpose",
)
def _hoist(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """Move a statement whose result no iteration changes before its loop."""
    site = site_of(module, issue)
    loop = site.operations[0].loops[-1] if site.operations[0].loops else None
    if loop is None:
        raise RefusedError(NOT_HERE)
    moved = _moved(site, loop)
    _check_varying(site, loop, moved)
    _check_shared(site, loop, moved)
    patch = Patch(module)
    for statement in moved:
        move_before(patch, statement, loop.node)
    return patch.apply()


def _moved(site: StatementSite, loop: Loop) -> list[ast.stmt]:
    """The statements to move: the one underlined, after the one that allocates its tile."""
    statement, body = site.statement, loop.node.body
    if not any(s is statement for s in block_of(loop.node, statement)) or statement not in body:
        raise RefusedError("the instruction does not stand in the body of the loop itself")
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Name):
            return [statement]
        raise RefusedError("the result is not given one name")
    written = site.operations[-1].operands.get("dst")
    alone = isinstance(statement, ast.Expr) and written is not None and written.storage.on_chip
    if not alone or written is None or written.storage.node is None:
        raise RefusedError("the instruction is part of a larger statement")
    place = statement_of(site.kernel.node, written.storage.node)
    if place is None or place not in body:
        raise RefusedError(f"{written.storage.name} is not allocated in the loop")
    if [w for w in writes_to(site.flow, written.storage) if w not in site.operations]:
        raise RefusedError(f"{written.storage.name} is written by another instruction as well")
    return [place, statement]


def _check_varying(site: StatementSite, loop: Loop, moved: list[ast.stmt]) -> None:
    """No name or tile that the statements read and the loop changes."""
    inside = bindings_in(site, loop.node)
    own = {b.name for b in inside if b.statement in moved}
    changing = {b.name for b in inside if b.statement not in moved}
    for statement in moved:
        value = statement.value if isinstance(statement, ast.Assign | ast.Expr) else statement
        varying = sorted((names_in(value) & changing) if value is not None else ())
        if varying:
            raise RefusedError(f"{varying[0]} changes in the loop")
    if own & changing:
        raise RefusedError(f"{min(own & changing)} is set again in the loop")
    here = [o for o in site.flow.operations if o.statement in moved]
    reads = {view.storage for o in here for view in o.reads}
    for operation in site.flow.operations:
        if loop in operation.loops and operation not in here:
            for view in operation.writes:
                if view.storage in reads:
                    raise RefusedError(f"{view.storage.name} is written in the loop")


def _check_shared(site: StatementSite, loop: Loop, moved: list[ast.stmt]) -> None:
    """No tile of the statements that an iteration changes, and no name read before it is set."""
    here = [o for o in site.flow.operations if o.statement in moved]
    made = {o.result.storage for o in here if o.result is not None}
    for storage in made:
        if any(loop in w.loops and w not in here for w in writes_to(site.flow, storage)):
            raise RefusedError(f"{storage.name} is changed in the loop")
    names = {b.name for b in bindings_in(site, loop.node) if b.statement in moved}
    for read in site.flow.reads:
        before = loop.node.lineno <= read.node.lineno < moved[0].lineno
        if read.node.id in names and before:
            raise RefusedError(f"{read.node.id} is read before it is set in the loop")
    if not site.flow.complete:
        raise RefusedError("the kernel calls a function whose effects on tiles are not known")


@rewrite(
    "nki_redundant_load",
    "Use the tile that is loaded already",
    Numerics.EXACT,
    name="nki_reuse_load",
)
@rewrite(
    "nki_reloaded_store",
    "Use the tile that was stored",
    Numerics.REASSOCIATING,
    name="nki_reuse_stored",
)
def _reuse(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """Read the tile of an earlier load, or of the store, in place of a load of the same data."""
    site = site_of(module, issue)
    found = next((o for o, _ in loads(site.flow) if o in site.operations), None)
    if found is None:
        raise RefusedError(NOT_HERE)
    earlier = repeated_loads(site.flow).get(found)
    tile = _tile_of(earlier) if earlier is not None else stored_tile(site.flow, found)
    if tile is None:
        raise RefusedError("no tile with a name of its own holds what is loaded")
    name, view, since = tile
    if any(w.order > since.order for w in writes_to(site.flow, view.storage)):
        raise RefusedError(f"{name} is changed after it is loaded")
    return _replaced(site, found, name, since)


def _tile_of(operation: Operation) -> tuple[str, View, Operation] | None:
    """The name of the tile that a load fills."""
    target = operation.operands.get("dst")
    if target is not None:
        node = operation.given.get("dst")
        plain = node if isinstance(node, ast.Name) else None
        return None if plain is None else (plain.id, target, operation)
    statement = operation.statement
    if not isinstance(statement, ast.Assign) or statement.value is not operation.node:
        return None
    name = statement.targets[0]
    if not isinstance(name, ast.Name) or operation.result is None:
        return None
    return name.id, operation.result, operation


def _replaced(site: StatementSite, again: Operation, name: str, since: Operation) -> str:
    patch, statement = Patch(site.module), again.statement
    mine = again.result if again.result is not None else again.operands.get("dst")
    if mine is None or [w for w in writes_to(site.flow, mine.storage) if w is not again]:
        raise RefusedError("the tile that is loaded again is changed afterwards")
    reads = list(_reads(site, again, mine))
    last = max([statement.lineno, *(node.lineno for node in reads)])
    for binding in site.flow.bindings:
        if binding.name == name and since.statement.lineno < line_of(binding) <= last:
            raise RefusedError(f"{name} is set again before the last use")
    if isinstance(statement, ast.Assign) and statement.value is not again.node:
        patch.replace(again.node, name)
        return patch.apply()
    check_deletable(patch, statement)
    for node in reads:
        patch.replace(node, name)
    patch.delete_lines(statement)
    if again.result is None:
        drop_allocation(site, patch, mine.storage, (statement, *_statements(site, reads)))
    return patch.apply()


def _reads(site: StatementSite, again: Operation, mine: View) -> Iterator[ast.Name]:
    """The places that read the tile of a load."""
    node = mine.storage.node if again.result is None else None
    place = statement_of(site.kernel.node, node) if node is not None else again.statement
    for read in site.flow.reads:
        inside = again.statement.lineno <= read.node.lineno <= (again.statement.end_lineno or 0)
        if read.binding.statement is place and not inside:
            yield read.node


def _statements(site: StatementSite, nodes: list[ast.Name]) -> Iterator[ast.stmt]:
    for node in nodes:
        found = statement_of(site.kernel.node, node)
        if found is not None:
            yield found


@rewrite("nki_dead_tile", "Delete the instruction", Numerics.EXACT)
def nki_drop_tile(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """Delete an instruction whose result nothing reads."""
    site = site_of(module, issue)
    last = site.operations[-1]
    made = last.result if last.result is not None else last.operands.get("dst")
    patch = Patch(module)
    check_deletable(patch, site.statement)
    written = {v.storage for o in site.operations for v in o.writes}
    if made is None or written - {made.storage}:
        raise RefusedError("the instruction has another effect")
    if [o for o in site.flow.operations if made.storage in {v.storage for v in o.reads}]:
        raise RefusedError(f"{made.storage.name} is read")
    if len(block_of(site.kernel.node, site.statement)) == 1:
        raise RefusedError("the loop would have no body left")
    patch.delete_lines(site.statement)
    drop_allocation(site, patch, made.storage, (site.statement,))
    return patch.apply()
