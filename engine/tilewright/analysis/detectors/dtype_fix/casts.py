"""Casts in a kernel that undo each other."""

from collections.abc import Iterator

from tilewright.analysis.detectors.common import triton_kernels
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.tiles import Tiles, tiles_of
from tilewright.analysis.values import Value
from tilewright.source.model import Module

_WIDER = {"float32": ("fp16", "bf16", "fp32"), "float64": ("fp16", "bf16", "fp32", "fp64")}


def folded_casts(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``x.to(tl.float32).to(x.dtype)``: nothing happens between widening and narrowing."""
    for kernel, flow in triton_kernels(module):
        tiles = tiles_of(module, kernel, context)
        for node, value, _ in flow.placed:
            inner = value.operands[0] if value.op == "cast" else None
            if inner is None or inner.op != "cast" or inner.detail not in _WIDER:
                continue
            if _returns(value, inner, tiles):
                yield Finding(
                    module.index.range_of(node),
                    f"The tile is widened to {inner.detail} and narrowed to the type it had, "
                    "with nothing between: both conversions can go.",
                    kernel.name,
                    data={"kind": "chain"},
                )


def _returns(outer: Value, inner: Value, tiles: Tiles) -> bool:
    """Whether a value ends in the type it had before it was widened."""
    start = inner.operands[0]
    known, end = tiles.of(start).dtype, tiles.of(outer).dtype
    if known is not None and known == end:
        return known in _WIDER[str(inner.detail)]
    if outer.detail is not None or len(outer.operands) < 2:
        return False
    return _is_type_of(outer.operands[1], start)


def _is_type_of(asked: Value, start: Value) -> bool:
    """``x.dtype`` of the same value, ``ptr.dtype.element_ty`` of the pointer it came from."""
    if asked.op != "attribute":
        return False
    if asked.detail == "dtype":
        return asked.operands[0] is start
    of_pointer = asked.detail == "element_ty" and start.op == "load"
    base = asked.operands[0].operands[0] if of_pointer and asked.operands[0].operands else None
    return base is not None and base in _addends(start.operands[0])


def _addends(pointer: Value) -> list[Value]:
    if pointer.is_binary("Add"):
        return [part for operand in pointer.operands for part in _addends(operand)]
    return [pointer]
