"""Rewrites of the loops of NKI kernels: fused, run in order, or with a block loaded before."""

import ast
from math import prod

from tilewright.analysis.detectors.nki.instructions.hazards import conflicting_loops
from tilewright.analysis.detectors.nki.instructions.nests import fusible_pairs, reloading_nest
from tilewright.analysis.detectors.nki.kernels import full_dims
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.nki import Loop, Operation, Storage, nki_flow
from tilewright.analysis.nki.catalogue import NL
from tilewright.analysis.nki.model import Origin
from tilewright.rewrites.calls import fresh_name, local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.nki.statements import (
    NOT_HERE,
    StatementSite,
    bindings_in,
    check_deletable,
    site_of,
    stated_sizes,
    writes_to,
)
from tilewright.rewrites.scope import at_issue, kernel_of, names_in, set_in, statement_of
from tilewright.source.model import Language, Module

_LARGEST_TYPE = 4
"""Bytes of an element, of a type that is not known."""
_MOST_BYTES = 96 * 1024
"""Of a partition, for one block: half of the 192 KiB that NKI counts on."""


@rewrite("nki_fusible_loops", "Join the loop with the one before", Numerics.EXACT)
def nki_fuse_loops(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """Append the body of a loop to that of the one before it."""
    kernel = kernel_of(module, issue)
    if kernel is None or kernel.language is not Language.NKI:
        raise RefusedError(NOT_HERE)
    flow = nki_flow(module, kernel)
    pairs = {id(two.node): (one, two) for one, two in fusible_pairs(flow, kernel)}
    touched = at_issue(module, issue, [two.node for _, two in pairs.values()])
    if not touched:
        raise RefusedError(
            "the loop before it does not run over the same index, or they share a tile"
        )
    one, two = pairs[id(touched[0])]
    patch = Patch(module)
    first, second = one.node.body[0], two.node.body[0]
    if not patch.owns_lines(second) or patch.indent(first) != patch.indent(second):
        raise RefusedError("the bodies of the loops are indented differently")
    patch.splice(patch.line_start(two.node.lineno), patch.line_start(second.lineno), "")
    return patch.apply()


@rewrite(
    "nki_affine_range_write_conflict",
    "Run the iterations in order",
    Numerics.EXACT,
    name="nki_sequential_writes",
)
@rewrite(
    "nki_affine_range_carried_read",
    "Run the iterations in order",
    Numerics.EXACT,
    name="nki_sequential_reads",
)
def _in_order(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """``sequential_range`` where iterations depend on each other."""
    site = site_of(module, issue)
    found = [loop for loop in conflicting_loops(site.flow) if _encloses(site, loop)]
    if not found:
        raise RefusedError("no affine_range around it carries a value to its next iteration")
    patch = Patch(module)
    for loop in found:
        call = loop.node.iter if isinstance(loop.node, ast.For) else None
        if not isinstance(call, ast.Call):
            raise RefusedError("the loop is not over a call of affine_range")
        patch.replace(call.func, local_name(module, NL + "sequential_range"))
    return patch.apply()


def _encloses(site: StatementSite, loop: Loop) -> bool:
    return any(loop in operation.loops for operation in site.operations)


@rewrite("nki_reloaded_block", "Load the whole block before the loop", Numerics.EXACT)
def nki_load_block(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """Load every part that inner loops need before the outer loop, into one tile."""
    site = site_of(module, issue)
    found = next((o for o in site.operations if _nest(site, o)), None)
    nest = _nest(site, found) if found else None
    if found is None or nest is None:
        raise RefusedError(NOT_HERE)
    outer, inner = nest
    heads = [_head(loop) for loop in inner]
    target = found.result if found.result is not None else found.operands.get("dst")
    sides = full_dims(site.flow, target)
    if target is None or sides is None or len(sides) != 2 or None in heads:
        raise RefusedError("the tile or a loop around it has no size that can be written before")
    _check_varying(site, found, outer, inner)
    _check_unchanged(site, found, target.storage)
    _check_size(site, context, inner, sides[1])
    return _with_block(site, found, outer, inner, [h or "" for h in heads], sides)


def _nest(site: StatementSite, operation: Operation) -> tuple[Loop, tuple[Loop, ...]] | None:
    source = operation.operands.get("src")
    is_load = operation.short in ("load", "dma_copy") and source is not None
    return reloading_nest(site.flow, operation, source) if is_load and source else None


def _head(loop: Loop) -> str | None:
    """The text of the number of iterations of ``range(n)``; None of other ranges."""
    node = loop.node
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call) or loop.index is None:
        return None
    return ast.unparse(node.iter.args[0]) if len(node.iter.args) == 1 else None


def _check_varying(
    site: StatementSite, found: Operation, outer: Loop, inner: tuple[Loop, ...]
) -> None:
    """No name in what is loaded, or in the inner loops' bounds, that the outer loop sets."""
    own = {loop.index for loop in inner}
    inside = {b.name for b in bindings_in(site, outer.node)} - own
    parts: list[ast.AST] = [found.given["src"]]
    parts += [loop.node.iter for loop in inner if isinstance(loop.node, ast.For)]
    parts += [k.value for k in getattr(found.node, "keywords", []) if k.arg not in ("dst", "src")]
    names = {n for part in parts for n in names_in(part)} & inside
    if names:
        raise RefusedError(f"{min(names)} is set in the outer loop")


def _check_unchanged(site: StatementSite, found: Operation, tile: Storage) -> None:
    if [w for w in writes_to(site.flow, tile) if w is not found]:
        raise RefusedError(f"{tile.name} is changed after it is loaded")


def _check_size(
    site: StatementSite, context: AnalysisContext, inner: tuple[Loop, ...], free: int
) -> None:
    """Refuse a block that may leave too little of SBUF to the other tiles."""
    known = stated_sizes(site, context)
    trips = [None if x.trip is None else x.trip.substitute(known).number for x in inner]
    if None in trips:
        raise RefusedError("the size of the block is not known here, and it has to fit into SBUF")
    size = prod(trip or 1 for trip in trips) * free * _LARGEST_TYPE
    if size > _MOST_BYTES:
        raise RefusedError(f"the block takes {size >> 10} KiB of each partition of SBUF")


def _with_block(
    site: StatementSite,
    found: Operation,
    outer: Loop,
    inner: tuple[Loop, ...],
    heads: list[str],
    sides: tuple[int, ...],
) -> str:
    patch, module = Patch(site.module), site.module
    source = found.operands["src"].storage
    dtype = found.given.get("dtype")
    if dtype is None and source.origin is not Origin.PARAMETER:
        raise RefusedError("the type of what is loaded has no name before the loop")
    taken = set_in(site.kernel.node) | names_in(site.kernel.node)
    block = fresh_name(taken, f"{source.name}_block")
    kind = patch.source(dtype) if dtype is not None else f"{source.name}.dtype"
    indices = ", ".join(loop.index or "" for loop in inner)
    part = f"{block}[0:{sides[0]}, {indices}, 0:{sides[1]}]"
    used = _use(site, patch, found, part)
    indent, line = patch.indent(outer.node), patch.newline
    made = local_name(module, NL + "ndarray")
    sbuf = local_name(module, NL + "sbuf")
    shape = ", ".join([str(sides[0]), *heads, str(sides[1])])
    lines = [f"{indent}{block} = {made}(({shape}), dtype={kind}, buffer={sbuf}){line}"]
    for depth, loop in enumerate(inner):
        assert isinstance(loop.node, ast.For)
        head = f"for {loop.index} in {patch.source(loop.node.iter)}:"
        lines.append(f"{indent}{'    ' * depth}{head}{line}")
    lines.append(f"{indent}{'    ' * len(inner)}{used.replace(_PART, part)}{line}")
    start = patch.line_start(outer.node.lineno)
    if not patch.owns_lines(outer.node) and patch.indent(outer.node).strip():
        raise RefusedError("the loop shares its line with another statement")
    patch.splice(start, start, "".join(lines))
    return patch.apply()


_PART = "\0"


def _use(site: StatementSite, patch: Patch, found: Operation, part: str) -> str:
    """Make the load a view of the block; the statement that fills the part before."""
    if found.result is not None:
        assert isinstance(found.node, ast.Call)
        text = patch.source(found.node)
        patch.replace(found.node, part)
        return f"{_PART} = {' '.join(text.split())}"
    tile = found.operands["dst"].storage
    allocated = tile.node
    place = statement_of(site.kernel.node, allocated) if allocated is not None else None
    plain = isinstance(place, ast.Assign) and place.value is allocated
    whole = found.operands["dst"].shape == tile.shape
    if not isinstance(place, ast.Assign) or not plain or not whole or place.lineno < 1:
        raise RefusedError("the tile that is loaded is not allocated by a statement of its own")
    check_deletable(patch, found.statement)
    if found.loops[-1] not in tile.loops:
        raise RefusedError(f"{tile.name} is allocated outside the inner loop")
    assert isinstance(found.node, ast.Call)
    dst, text = patch.source(found.given["dst"]), patch.source(found.node)
    at = patch.span(found.given["dst"])[0] - patch.span(found.node)[0]
    patch.replace(place.value, part)
    patch.delete_lines(found.statement)
    return " ".join((text[:at] + _PART + text[at + len(dst) :]).split())
