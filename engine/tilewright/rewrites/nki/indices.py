"""Subscripts and shapes that NKI refuses, written so that it takes them."""

import ast

from tilewright.analysis.detectors.nki.instructions.regions import last_index
from tilewright.analysis.nki import Affine, Kind, View
from tilewright.analysis.nki.affine import SymbolKind
from tilewright.analysis.nki.catalogue import NL
from tilewright.analysis.nki.expressions import is_ellipsis
from tilewright.analysis.nki.model import Operation
from tilewright.analysis.nki.parameters import annotated_shape
from tilewright.analysis.nki.values import Array
from tilewright.rewrites.calls import append_keywords, local_name
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.nki.sites import Site, at_site, in_parentheses, moved, parts_of
from tilewright.rewrites.scope import keyword, literal_int

_AXES = ("[:, None]", "[None, :]")
_TRANSFERS = (NL + "load", NL + "store")


@rewrite("nki_bare_arange", "Add the second dimension of the index", Numerics.EXACT)
@at_site
def orient_arange(site: Site) -> None:
    """Say along which dimension of the tile a one-dimensional arange runs."""
    part = site.node(ast.expr)
    owner = next((s for s, _ in site.flow.subscripts if part in parts_of(s)), None)
    if part is None or owner is None:
        raise moved()
    axis = _axis(site, owner, part)
    if axis is None:
        raise RefusedError(
            "which dimension of the tile it runs along does not follow from the others"
        )
    site.patch.replace(part, in_parentheses(site.source(part), part) + _AXES[axis])


def _axis(site: Site, owner: ast.Subscript, part: ast.expr) -> int | None:
    parts = parts_of(owner)
    arrays = [p for p in parts if site.flow.fact(p).kind is Kind.INDEX]
    if part not in arrays or not site.flow.fact(part).bare or len(arrays) > 2:
        return None
    if len(arrays) == 1:
        return int(part is parts[-1])
    other = next(p for p in arrays if p is not part)
    if site.flow.fact(other).bare:
        return arrays.index(part)
    across = _lane_axis(site, other)
    return None if across is None else 1 - across


def _lane_axis(site: Site, part: ast.expr) -> int | None:
    """The axis of a tile that an index array of two dimensions runs along."""
    value = site.flow.value(part)
    if not isinstance(value, Array) or value.rank != 2:
        return None
    axes = {s.axis for s in value.value.symbols if s.kind is SymbolKind.LANE}
    return axes.pop() if len(axes) == 1 else None


@rewrite("nki_mixed_indexing", "Write the slice as an index array", Numerics.EXACT)
@at_site
def slice_to_arange(site: Site) -> None:
    """Write the slice of a mixed subscript as an index array."""
    node = site.node(ast.Subscript)
    if node is None:
        raise moved()
    parts = parts_of(node)
    slices = [p for p in parts if isinstance(p, ast.Slice)]
    arrays = [p for p in parts if site.flow.fact(p).kind is Kind.INDEX]
    others = [p for p in parts if p not in slices and p not in arrays]
    if len(slices) != 1 or len(arrays) != 1 or slices[0].step is not None:
        raise RefusedError(
            "more than one slice or more than one index array stands in the subscript"
        )
    across = _lane_axis(site, arrays[0])
    plain = all(site.flow.fact(p).kind in (Kind.NUMBER, Kind.LOOP) for p in others)
    if across is None or not plain or any(is_ellipsis(p) for p in others):
        raise RefusedError("the index array is not shown to run along one dimension of two")
    text = _as_arange(site, node, slices[0])
    if text is None:
        raise RefusedError("the end of the slice is not stated")
    site.patch.replace(slices[0], text + _AXES[1 - across])


def _as_arange(site: Site, node: ast.Subscript, part: ast.Slice) -> str | None:
    """``start + nl.arange(stop - start)`` of ``start:stop``, without its new axis."""
    stop = site.source(part.upper) if part.upper is not None else _side(site, node, part)
    if stop is None:
        return None
    arange = local_name(site.module, NL + "arange")
    if part.lower is None or literal_int(part.lower) == 0:
        return f"{arange}({stop})"
    low = site.flow.value(part.lower)
    high = site.flow.value(part.upper) if part.upper is not None else None
    size = _difference(low, high)
    start = in_parentheses(site.source(part.lower), part.lower)
    return f"{start} + {arange}({size if size is not None else f'{stop} - {start}'})"


def _difference(low: object, high: object) -> int | None:
    if isinstance(low, Affine) and isinstance(high, Affine):
        return (high - low).number
    return None


def _side(site: Site, node: ast.Subscript, part: ast.expr) -> str | None:
    base = site.flow.value(node.value)
    if not isinstance(base, View) or not base.whole or base.storage.shape is None:
        return None
    place = list(parts_of(node)).index(part)
    sides = base.storage.shape
    number = site.flow.number(sides[place]) if place < len(sides) else None
    return None if number is None else str(number)


@rewrite("nki_missing_index", "Index the remaining dimension with 0", Numerics.EXACT)
@at_site
def fill_missing_index(site: Site) -> None:
    """Index the last dimension, of one element, with 0."""
    statement = site.node(ast.stmt)
    for operation in site.operations(statement):
        for view in (*operation.reads, *operation.writes):
            node = view.node
            if not isinstance(node, ast.Subscript) or not view.missing or not view.indices:
                continue
            sides = site.flow.numbers(view.storage.shape)
            if sides is None or any(side != 1 for side in sides[len(view.indices) :]):
                raise RefusedError("a dimension that is left out has more than one element")
            end = site.patch.span(node)[1] - 1
            site.patch.splice(end, end, ", 0" * view.missing)
            return
    raise moved()


@rewrite("nki_index_out_of_bounds", "Mask the indices beyond the tensor", Numerics.EXACT)
@at_site
def bound_index(site: Site) -> None:
    """Mask a transfer so that its index stays inside the tensor."""
    node = site.node(ast.Subscript)
    transfer = next((o for o in site.flow.operations if node is not None and _moves(o, node)), None)
    if node is None or transfer is None or not isinstance(transfer.node, ast.Call):
        raise RefusedError("only a load or a store takes a mask for its part of HBM")
    found = _first_overrun(site, transfer, node)
    if found is None:
        raise moved()
    part, side = found
    if site.flow.fact(part).kind is not Kind.INDEX:
        raise RefusedError("the index is a slice, which a mask cannot name")
    limit = f"{site.source(part)} < {side}"
    mask = keyword(transfer.node, "mask")
    if mask is None:
        append_keywords(site.patch, transfer.node, [f"mask={limit}"])
    elif isinstance(mask.value, ast.Constant):
        site.patch.replace(mask.value, limit)
    else:
        site.patch.replace(mask.value, f"({site.source(mask.value)}) & ({limit})")


def _moves(operation: Operation, node: ast.Subscript) -> bool:
    views = (*operation.reads, *operation.writes)
    return operation.name in _TRANSFERS and any(view.node is node for view in views)


def _first_overrun(
    site: Site, transfer: Operation, node: ast.Subscript
) -> tuple[ast.expr, int] | None:
    """The first index that leaves its dimension, and the size of that."""
    view = next(v for v in (*transfer.reads, *transfer.writes) if v.node is node)
    sides = site.flow.numbers(view.storage.shape)
    for part, index, side in zip(parts_of(node), view.indices or (), sides or (), strict=False):
        last = last_index(site.flow, index, transfer.mask)
        if last is not None and side is not None and last >= side:
            return part, side
    return None


@rewrite(
    "nki_partition_broadcast_operator",
    "Spread the row over the partitions with broadcast_to",
    Numerics.EXACT,
)
@at_site
def spread_row(site: Site) -> None:
    """Spread the row of an operator over the partitions of the other operand."""
    statement = site.node(ast.stmt)
    for operation in site.operations(statement):
        pair = [operation.operands.get(name) for name in ("x", "y")]
        if not operation.operator or None in pair:
            continue
        sides = [site.flow.numbers(v.shape) if v is not None else None for v in pair]
        rows = [name for name, shape in zip("xy", sides, strict=True) if shape and shape[0] == 1]
        full = next((s for s in sides if s is not None and s[0] != 1), None)
        if len(rows) != 1 or full is None:
            continue
        row = sides["xy".index(rows[0])]
        if None in full or row is None or None in row or len(full) != len(row):
            raise RefusedError("the shapes of the operands are not known")
        node = operation.given[rows[0]]
        shape = ", ".join(map(str, (full[0], *row[1:])))
        text = in_parentheses(site.source(node), node)
        site.patch.replace(node, f"{text}.broadcast_to(({shape}))")
        return
    raise moved()


@rewrite("nki_annotation_shape", "State the shape of the value", Numerics.EXACT)
@at_site
def correct_annotation(site: Site) -> None:
    """State the shape that the value has."""
    node = site.node(ast.Subscript)
    owner = next(
        (
            s
            for s in ast.walk(site.kernel.node)
            if isinstance(s, ast.AnnAssign) and s.annotation is node
        ),
        None,
    )
    if node is None or owner is None or owner.value is None:
        raise moved()
    value = site.flow.value(owner.value)
    stated = annotated_shape(site.module.names, site.flow, node)
    if not isinstance(value, View) or stated is None:
        raise moved()
    sides = site.flow.numbers(value.storage.shape if value.whole else value.shape)
    if sides is None or None in sides:
        raise RefusedError("a side of the value is not known")
    site.patch.replace(node.slice, ", ".join(map(str, sides)))


@rewrite("nki_block_dimension", "Leave out par_dim", Numerics.EXACT)
@at_site
def drop_par_dim(site: Site) -> None:
    """Leave out the mark of the partition, which is the first dimension."""
    call = site.node(ast.Call)
    if call is None or len(call.args) != 1 or call.keywords:
        raise moved()
    first = any(
        isinstance(node, ast.Tuple | ast.List) and node.elts and node.elts[0] is call
        for node in ast.walk(site.kernel.node)
    )
    if not first:
        raise RefusedError(
            "dimensions stand before the partition, and there are no block dimensions"
        )
    site.patch.replace(call, site.source(call.args[0]))
