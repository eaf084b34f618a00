"""Kernels that address a transposed view in the order of what lies in memory."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.flow import flow_of
from tilewright.analysis.host_graph.model import HostValue, Origin
from tilewright.analysis.host_graph.operations import short
from tilewright.analysis.values import Flow, Value, values_within
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Launch, Module


def is_in_memory_order(
    module: Module, kernel: Kernel, launch: Launch, parameter: str, view: HostValue
) -> bool:
    """Whether a kernel goes through a transposed view as if it were not transposed.

    ``x.view(B, S, H, D).transpose(1, 2)`` has the order B, S, H, D in memory. A grid of B, H and S
    with the address ``program_id(2) * num_programs(1) * D`` counts in that order: a step along S
    skips all of H.
    """
    axes, sizes = _exchanged(view), _sizes(view)
    grid = resolve(module, launch, launch.grid)
    if axes is None or not isinstance(grid, ast.Tuple) or max(axes) >= len(sizes):
        return False
    outer, inner = (sizes[axis] for axis in axes)
    counts = [ast.unparse(part) for part in grid.elts]
    is_clear = outer != inner and counts.count(inner) == 1
    return is_clear and (outer, inner) in _steps(module, kernel, launch, parameter, counts)


def _exchanged(view: HostValue) -> tuple[int, int] | None:
    """The two axes of a transposition, in their order in memory."""
    node = view.node
    if short(view.operation) != "transpose" or not isinstance(node, ast.Call):
        return None
    axes = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
    known = sorted(axis for axis in axes if type(axis) is int and axis >= 0)
    return (known[0], known[1]) if len(node.args) == len(known) == 2 else None


def _sizes(view: HostValue) -> list[str]:
    """The sizes that the tensor was given just before, as they are written."""
    before = view.sources[0] if view.sources else None
    if before is None or before.origin is not Origin.VIEW or not isinstance(before.node, ast.Call):
        return []
    is_reshaped = short(before.operation) in ("view", "reshape")
    return [ast.unparse(arg) for arg in before.node.args] if is_reshaped else []


def _steps(
    module: Module, kernel: Kernel, launch: Launch, parameter: str, counts: list[str]
) -> Iterator[tuple[str, str]]:
    """The counts of ``i`` and of axis j in each ``i * num_programs(j)`` in a parameter's addresses.

    ``i`` is the number of a program, or of a loop over an extent that the launch passes.
    """
    flow = flow_of(module, kernel)
    for access in flow.accesses:
        if access.base != parameter:
            continue
        for part in values_within(access.pointer, lambda v: v.is_binary("Add")):
            factors = list(values_within(part, lambda v: v.is_binary("Mult")))
            walked = [_walked(flow, launch, v, counts) for v in factors]
            skipped = [_of_axis(v, counts) for v in factors if v.is_call(TL + "num_programs")]
            yield from ((i, j) for i in walked for j in skipped if i is not None and j is not None)


def _walked(flow: Flow, launch: Launch, index: Value, counts: list[str]) -> str | None:
    """What a program's number, or a loop's, counts up to, as the host writes it."""
    if index.op == "program_id":
        return _count_at(counts, index.detail)
    loop = flow.loops.get(int(index.detail or 0)) if index.op == "loop_index" else None
    if loop is None or loop.bounds is None or loop.bounds[1].op != "param":
        return None
    given = launch.arguments.get(str(loop.bounds[1].detail))
    return None if given is None else ast.unparse(given)


def _of_axis(value: Value, counts: list[str]) -> str | None:
    axis = value.argument(0, "axis")
    return None if axis is None else _count_at(counts, axis.detail)


def _count_at(counts: list[str], axis: object) -> str | None:
    return counts[axis] if isinstance(axis, int) and 0 <= axis < len(counts) else None
