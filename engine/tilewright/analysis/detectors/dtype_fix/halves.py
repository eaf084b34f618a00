"""The detector of sums in 16 bits."""

from collections.abc import Iterator

from tilewright.analysis.detectors.algorithmic.sums import is_short, loop_of
from tilewright.analysis.detectors.common import TL, first_line, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.dtypes import HALVES
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import Kind, Shape, tiles_of
from tilewright.analysis.values import Flow, Value, walk
from tilewright.source.model import Kernel, Module

_SHORT_AXIS = 64


@detector("reduction_in_half")
def reduction_in_half(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``tl.sum`` of a 16-bit tile, or a 16-bit sum carried through a loop."""
    for kernel, flow in triton_kernels(module):
        sums = list(flow.calls(TL + "sum"))
        if not sums and not flow.back_edges:
            continue
        tiles = tiles_of(module, kernel, context)
        for node, value, _ in sums:
            if not value.positional or "dtype" in value.keywords or len(value.positional) > 3:
                continue
            known = tiles.facts_of(value.positional[0]).dtype
            if known in HALVES and not _is_short_axis(
                value, tiles.facts_of(value.positional[0]).shape
            ):
                yield Finding(
                    module.index.range_of(node),
                    f"tl.sum adds in the type of its operand, {known}: the partial sums are "
                    f"rounded to {_DIGITS[known]} significant bits"
                    f"{', and overflow beyond 65504' if known == 'fp16' else ''}.",
                    kernel.name,
                )
        yield from _half_accumulators(module, kernel, flow, context)


_DIGITS = {"fp16": 11, "bf16": 8}


def _is_short_axis(value: Value, shape: Shape | None) -> bool:
    """Whether so few elements are added that rounding does not pile up."""
    if shape is None:
        return False
    axis = value.argument(1, "axis")
    place = axis.detail if axis is not None and axis.op == "const" else None
    dims = shape if not isinstance(place, int) or place >= len(shape) else (shape[place],)
    sizes = [dim for dim in dims if isinstance(dim, int)]
    if len(sizes) != len(dims):
        return False
    count = 1
    for size in sizes:
        count *= size
    return count < _SHORT_AXIS


def _half_accumulators(
    module: Module, kernel: Kernel, flow: Flow, context: AnalysisContext
) -> Iterator[Finding]:
    """``acc += x`` in a loop, where acc and x are 16-bit."""
    tiles = tiles_of(module, kernel, context)
    for phi, end in flow.back_edges.items():
        loop = flow.loops.get(loop_of(phi))
        if loop is None or is_short(loop) or not end.is_binary("Add") or phi not in end.operands:
            continue
        if _is_compensated(flow, phi, end):
            continue
        facts = tiles.facts_of(end)
        known = facts.dtype
        # The type of a pointer is that of its elements.
        if known not in HALVES or facts.kind is Kind.POINTER or not _is_data(end, phi):
            continue
        name = str(phi.detail).partition(":")[2]
        definition = next(
            (d for d in flow.definitions.get(name, ()) if d.value is end and d.loops), None
        )
        if definition is not None:
            yield Finding(
                module.index.range_of(definition.statement),
                f"{name} sums up in {known} over the iterations of the loop, so that each "
                f"iteration rounds it to {_DIGITS[known]} significant bits; an fp32 sum costs "
                "registers only.",
                kernel.name,
                related=(Related("the loop", first_line(module, loop.node)),),
            )


def _is_compensated(flow: Flow, phi: Value, end: Value) -> bool:
    """Whether the kernel computes what rounding takes from each addend: ``(end - sum) - x``."""
    return any(
        value.is_binary("Sub")
        and value.operands[0].is_binary("Sub")
        and value.operands[0].operands == (end, phi)
        and value.operands[1] in end.operands
        for value in flow.values.values()
    )


def _is_data(end: Value, phi: Value) -> bool:
    """Whether what is added comes from memory or a product."""
    other = end.operands[1] if end.operands[0] is phi else end.operands[0]
    return any(part.op in ("load", "dot") for part in walk(other))
