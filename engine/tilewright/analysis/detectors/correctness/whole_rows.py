"""Masks over flat indices that leave lanes out as whole rows, of which none is used."""

import ast

from tilewright.analysis.detectors.correctness.masks import unexpanded, upper_bounds
from tilewright.analysis.values import Flow, Value, walk
from tilewright.source.host import last_assigned, resolve
from tilewright.source.model import Kernel, Launch, Module

_RESHAPES = frozenset({"reshape", "view"})


def leaves_out_whole_rows(
    module: Module, kernel: Kernel, flow: Flow, load: Value, reduction: Value, axis: int
) -> bool:
    """Whether ``row * G + arange(0, G) < n``, along the arange, holds for a row as a whole.

    That is so where the host counts n as all elements of a tensor whose last axis is G. What is
    reduced has to be stored under a mask, which leaves the same rows out.
    """
    mask = load.keyword("mask")
    bounds = [] if mask is None else list(upper_bounds(mask))
    length = _row_length(bounds[0][0], axis) if len(bounds) == 1 else None
    launches = module.launches_of(kernel.name)
    if length is None or bounds[0][1].op != "param" or not launches:
        return False
    stores = [a for a in flow.writes if a.result is not None and reduction in walk(a.result)]
    names = str(bounds[0][1].detail), str(length.detail)
    return (
        bool(stores)
        and all(store.mask is not None for store in stores)
        and all(_counts_rows(module, launch, *names) for launch in launches)
    )


def _row_length(index: Value, axis: int) -> Value | None:
    """G in ``rows[:, None] * G + arange(0, G)[None, :]``, where the arange lies along the axis."""
    if not index.is_binary("Add"):
        return None
    for rows, columns in (index.operands, index.operands[::-1]):
        lanes = unexpanded(columns)
        added = str(columns.detail).split(",") if columns.op == "expand" else []
        if lanes.op != "arange" or len(added) <= axis or added[axis] != ":":
            continue
        length = lanes.operands[1]
        if length.op == "param" and rows.is_binary("Mult") and length in rows.operands:
            return length
    return None


def _counts_rows(module: Module, launch: Launch, bound: str, length: str) -> bool:
    """Whether a launch passes ``x.numel()`` of a tensor that was given G as its last extent."""
    given, row = launch.arguments.get(bound), launch.arguments.get(length)
    given = None if given is None else resolve(module, launch, given)
    match given:
        case ast.Call(func=ast.Attribute(attr="numel", value=ast.Name(id=name))):
            made = last_assigned(module, launch, name)
        case _:
            return False
    if made is None or made.position is not None or row is None:
        return False
    last = _last_extent(module, launch, made.value)
    return last is not None and ast.unparse(last) == ast.unparse(row)


def _last_extent(module: Module, launch: Launch, value: ast.expr) -> ast.expr | None:
    """The last extent that a tensor is given by ``x.reshape(...)``."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    if value.func.attr not in _RESHAPES or not value.args:
        return None
    last = resolve(module, launch, value.args[-1])
    return last.elts[-1] if isinstance(last, ast.Tuple | ast.List) and last.elts else last
