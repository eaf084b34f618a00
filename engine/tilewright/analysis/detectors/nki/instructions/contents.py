"""What tiles hold: values nothing has written, shapes they are declared with, wider types."""

import ast

from tilewright.analysis.detectors.common import source_of
from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    computing,
    free_size,
    full_dims,
    nki_detector,
    reads_of,
    see,
    shown,
    writes_of,
    written_as,
)
from tilewright.analysis.nki import Flow, Operation, Storage, View
from tilewright.analysis.nki.catalogue import FUNCTIONS, NL, Result
from tilewright.analysis.nki.model import Origin, Shape
from tilewright.analysis.nki.parameters import annotated_shape
from tilewright.analysis.nki.values import Literal
from tilewright.source.model import Module

_NOT_FOLLOWED = ("call", "collect", "forget")
_NARROW = ("float16", "bfloat16")
_LONG = 128


@nki_detector("nki_uninitialised_tile")
def uninitialised_tile(module: Module, flow: Flow) -> Reports:
    for storage in flow.storages:
        read = _read_too_early(flow, storage)
        if read is not None:
            text = (
                f"{storage.name} is read here before anything is written to it, and nl.ndarray "
                f"fills nothing: it holds what was in {storage.memory} before."
            )
            place = see(module, f"{storage.name} is made here", storage.node)
            yield read.statement, text, place


def _read_too_early(flow: Flow, storage: Storage) -> Operation | None:
    """The first read of a tile, if no write can have come before it."""
    if not _starts_empty(flow, storage):
        return None
    reads, writes = reads_of(flow).get(storage, ()), writes_of(flow).get(storage, ())
    if not reads or any(o.name in _NOT_FOLLOWED for o in (*reads, *writes)):
        return None
    first = reads[0]
    for write in writes:
        around = set(write.loops) & set(first.loops)
        if write.order < first.order or around - set(storage.loops):
            return None
    return first if first.name != "return" else None


def _starts_empty(flow: Flow, storage: Storage) -> bool:
    if storage.origin is not Origin.CREATED or storage.zeroed or not storage.on_chip:
        return False
    placed = isinstance(storage.node, ast.Call) and any(
        keyword.arg in ("address", None) for keyword in storage.node.keywords
    )
    return flow.complete and storage.name not in flow.hidden and not placed


@nki_detector("nki_annotation_shape")
def annotation_shape(module: Module, flow: Flow) -> Reports:
    for binding in flow.bindings:
        statement = binding.statement
        if not isinstance(statement, ast.AnnAssign) or statement.value is None:
            continue
        value = flow.value(statement.value)
        shape = annotated_shape(module.names, flow, statement.annotation)
        if not isinstance(value, View) or shape is None or value.blocks:
            continue
        stated, made = flow.numbers(shape), flow.numbers(_sides(value))
        if stated is None or made is None or not _differ(stated, made):
            continue
        text = (
            f"{binding.name} is annotated as a tensor of {written_as(stated)}, and the value "
            f"has the shape {written_as(made)}."
        )
        yield statement.annotation, text


def _sides(view: View) -> Shape | None:
    return view.storage.shape if view.whole else view.shape


def _differ(one: tuple[int | None, ...], two: tuple[int | None, ...]) -> bool:
    if len(one) != len(two):
        return True
    pairs = zip(one, two, strict=True)
    return any(a != b for a, b in pairs if a is not None and b is not None)


@nki_detector("nki_silent_widening")
def silent_widening(module: Module, flow: Flow) -> Reports:
    for operation in computing(flow):
        tile = _widened(flow, operation)
        if tile is not None:
            number = source_of(module, _number(operation))
            text = (
                f"{shown(module, tile)} is {tile.dtype} and {number} counts as float32, so the "
                f"result is float32: twice the bytes in SBUF, and none of the faster modes "
                f"for 16-bit types."
            )
            yield operation.node, text


def _widened(flow: Flow, operation: Operation) -> View | None:
    """The 16-bit tile of an operation that a Python number makes a 32-bit one."""
    function, result = FUNCTIONS.get(operation.name), operation.result
    if function is None or function.result is not Result.ELEMENTWISE or result is None:
        return None
    if (
        not operation.name.startswith(NL)
        or result.dtype != "float32"
        or len(operation.operands) > 1
    ):
        return None
    if "dtype" in operation.given or not _is_float(operation):
        return None
    tile = next(iter(operation.operands.values()))
    uses = reads_of(flow).get(result.storage, ())
    sides = full_dims(flow, result)
    if sides is None or free_size(sides) < _LONG:
        return None
    kept = any(use.source is not operation and use.name != NL + "store" for use in uses)
    return tile if tile.dtype in _NARROW and kept else None


def _is_float(operation: Operation) -> bool:
    value = operation.values.get("y", operation.values.get("x"))
    return isinstance(value, Literal) and isinstance(value.value, float) and value.dtype is None


def _number(operation: Operation) -> ast.expr:
    return operation.given["y" if "y" in operation.values else "x"]
