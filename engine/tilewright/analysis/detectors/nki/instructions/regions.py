"""Parts of tensors that are not there, or start where engines cannot."""

import ast

from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    computing,
    full_dims,
    nki_detector,
    shown,
)
from tilewright.analysis.nki import Affine, Flow, Index, Mask, Operation, View
from tilewright.analysis.nki.indexing import partition_index, start_of
from tilewright.analysis.nki.model import IndexKind
from tilewright.source.model import Module

_QUADRANT = 32


@nki_detector("nki_index_out_of_bounds")
def index_out_of_bounds(module: Module, flow: Flow) -> Reports:
    seen: set[ast.AST] = set()
    for operation in flow.operations:
        if operation.branches or operation.name in ("forget", "collect", "call"):
            continue
        for view in (*operation.reads, *operation.writes):
            node = view.node
            if not isinstance(node, ast.Subscript) or node in seen:
                continue
            text = _overrun_message(flow, operation, view)
            if text is not None:
                seen.add(node)
                yield node, text


def _overrun_message(flow: Flow, operation: Operation, view: View) -> str | None:
    sides = view.storage.shape
    if view.indices is None or sides is None:
        return None
    for axis, index in enumerate(view.indices[: len(sides)]):
        side = flow.number(sides[axis])
        last = None if side is None else last_index(flow, index, operation.mask)
        if side is not None and last is not None and last >= side:
            return (
                f"Indices of dimension {axis} of {view.storage.name} reach {last}, and it has "
                f"{side} elements."
            )
    return None


def last_index(flow: Flow, index: Index, mask: Mask | None) -> int | None:
    """The greatest index that is used for sure; None where it or the mask is not followed."""
    if index.base is None:
        return None
    if index.kind is IndexKind.SLICE and not index.base.symbols - index.lanes:
        return None
    if mask is not None:
        touched = mask.symbols
        if touched is None or touched & index.base.symbols:
            return _masked(flow, index.base, mask)
    return index.base.interval(flow.known)[1]


def _masked(flow: Flow, base: Affine, mask: Mask) -> int | None:
    """With a mask that bounds exactly this index: ``limit - base >= 0``, the least of several."""
    parts = [part for part in mask.parts or () if not part.equality]
    limits = [flow.number(part.value + base) for part in parts]
    known = [limit for limit in limits if limit is not None]
    low, high = base.interval(flow.known)
    return None if not known or high is None or low is None else min(high, *known)


@nki_detector("nki_start_partition")
def start_partition(module: Module, flow: Flow) -> Reports:
    for operation in computing(flow):
        for view in operation.operands.values():
            text = _misplaced(module, flow, view)
            if text is not None:
                yield operation.statement, text
                break


def _misplaced(module: Module, flow: Flow, view: View) -> str | None:
    index = partition_index(view)
    sides = full_dims(flow, view)
    if index is None or sides is None or not view.storage.on_chip or view.blocks:
        return None
    if index.kind not in (IndexKind.SLICE, IndexKind.ARRAY):
        return None
    start = start_of(index)
    first = flow.number(start)
    if first is None or first == 0 or first + sides[0] > 128:
        return None
    legal = _legal(sides[0])
    if first in legal:
        return None
    places = ", ".join(map(str, legal))
    return (
        f"{shown(module, view)} starts at partition {first}; a tile of {sides[0]} partitions can "
        f"start at {places} only."
    )


def _legal(count: int) -> tuple[int, ...]:
    if count > 2 * _QUADRANT:
        return (0,)
    if count > _QUADRANT:
        return (0, 2 * _QUADRANT)
    return (0, _QUADRANT, 2 * _QUADRANT, 3 * _QUADRANT)
