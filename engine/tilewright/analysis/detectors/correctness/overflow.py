"""Detector of offsets that leave 32 bits at the captured shapes."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import triton_kernels
from tilewright.analysis.detectors.correctness.loaded_rows import narrow_bounds, narrow_rows
from tilewright.analysis.detectors.correctness.narrow_offsets import narrow_offsets
from tilewright.analysis.detectors.correctness.reach import greatest_offset
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.intervals import Numbers, interval_of
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.tiles import Tiles, tiles_of
from tilewright.analysis.values import Access, Flow, Value, walk
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import ArgumentFacts, LaunchFacts

_INT32_LIMIT = 2**31


@detector("int32_offset_overflow")
def int32_offset_overflow(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Offsets computed in 32 bits into a tensor with 2**31 elements of extent or more.

    Without a captured launch, those next to others that are widened: advice.
    """
    for kernel, flow in triton_kernels(module):
        reported: set[ast.expr] = set()
        if not any(launch.kernel == kernel.name for launch in context.launches):
            yield from _without_sizes(module, kernel, flow)
        for launch in context.launches:
            if launch.kernel != kernel.name:
                continue
            tiles = tiles_of(module, kernel, context)
            numbers = Numbers.of_launch(launch)
            for access in flow.accesses:
                tensor = _large_tensor(launch, access)
                if tensor is None:
                    continue
                for node, reach in _overflowing(kernel, flow, access, tiles, numbers):
                    if node not in reported:
                        reported.add(node)
                        yield _overflow_finding(module, kernel, flow, node, reach, tensor)


def _without_sizes(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """The first thing that other lines of the file say is too narrow."""
    for found in (narrow_offsets, narrow_rows, narrow_bounds):
        finding = next(found(module, kernel, flow), None)
        if finding is not None:
            yield finding
            return


def _large_tensor(launch: LaunchFacts, access: Access) -> ArgumentFacts | None:
    tensor = None if access.base is None else launch.argument(access.base)
    if tensor is None or (greatest_offset(tensor) or 0) < _INT32_LIMIT:
        return None
    return tensor


def _overflowing(
    kernel: Kernel, flow: Flow, access: Access, tiles: Tiles, numbers: Numbers
) -> Iterator[tuple[ast.expr, int]]:
    """The innermost products and sums below an address that leave 32 bits."""
    parts = {v for v in walk(access.pointer) if v.is_binary("Mult", "Add")}
    for node in nodes_like(kernel.node, ast.BinOp):
        value = flow.values.get(node)
        if value not in parts or value is None:
            continue
        if not _leaves_int32(value, tiles, numbers):
            continue
        if any(_leaves_int32(operand, tiles, numbers) for operand in value.operands):
            continue
        reach = interval_of(value, numbers)
        if reach is not None:
            yield node, reach[1]


def _leaves_int32(value: Value, tiles: Tiles, numbers: Numbers) -> bool:
    if not value.is_binary("Mult", "Add") or tiles.facts_of(value).dtype != "i32":
        return False
    reach = interval_of(value, numbers)
    return reach is not None and reach[1] >= _INT32_LIMIT


def _overflow_finding(
    module: Module,
    kernel: Kernel,
    flow: Flow,
    node: ast.expr,
    reach: int,
    tensor: ArgumentFacts,
) -> Finding:
    return Finding(
        module.index.range_of(node),
        f"This offset into {tensor.name} reaches {reach:,} and is computed in 32 bits, which "
        f"end at {_INT32_LIMIT - 1:,}: it wraps to a wrong address.",
        kernel.name,
    )
