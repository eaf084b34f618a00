"""Detector of launches that pass two arguments in exchanged places."""

import ast
from itertools import pairwise

from tilewright.analysis.detectors.common import decorators_known, triton_kernels
from tilewright.analysis.detectors.registry import Reports, kernel_detector
from tilewright.analysis.model import Related
from tilewright.analysis.values import Flow
from tilewright.source.model import Kernel, Launch, Module

_ENDS = ("_pointer", "_ptr", "_tensor")


@kernel_detector("exchanged_arguments", triton_kernels)
def exchanged_arguments(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """``kernel[grid](x, n, m)`` of ``kernel(x_ptr, m, n)``: each name in the other's place."""
    if not decorators_known(module, kernel) or len(module.lookup.named[kernel.name]) != 1:
        return
    for launch in module.launches_of(kernel.name):
        pairs = _exchanged(kernel, launch) if launch.is_certain else []
        if len(pairs) == 1 and not _is_transposed(launch):
            one, two = pairs[0]
            text = (
                f"{kernel.parameters[one].name} of {kernel.name} gets "
                f"{ast.unparse(launch.node.args[one])} and {kernel.parameters[two].name} gets "
                f"{ast.unparse(launch.node.args[two])}: each has the other's name."
            )
            yield launch.node.args[one], text, (Related("parameters", kernel.name_range),)


def _is_transposed(launch: Launch) -> bool:
    """Whether the tensors are transposed, by their names or by strides in falling order of axes.

    The extents are exchanged with them.
    """
    names = [node.id.lower() for node in launch.node.args if isinstance(node, ast.Name)]
    if any("transpose" in name or name.endswith("_t") for name in names):
        return True
    axes = [_stride(node) for node in launch.node.args]
    return any(
        one is not None and two is not None and one[0] == two[0] and one[1] > two[1]
        for one, two in pairwise(axes)
    )


def _stride(node: ast.expr) -> tuple[str, int] | None:
    """Tensor and axis of ``tensor.stride(axis)``."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=tensor, attr="stride"), args=[ast.Constant(value=int(axis))]
        ):
            return ast.dump(tensor), axis
    return None


def _exchanged(kernel: Kernel, launch: Launch) -> list[tuple[int, int]]:
    """Places of two positional arguments whose names are those of each other's parameters."""
    given = [_name(node.id) if isinstance(node, ast.Name) else "" for node in launch.node.args]
    known = [_name(parameter.name) for parameter in kernel.parameters]
    places = range(min(len(given), len(known)))
    return [
        (one, two)
        for one in places
        for two in places[one + 1 :]
        if given[one]
        and given[one] != given[two]
        and given[one] == known[two]
        and given[two] == known[one]
        and known.count(known[one]) == known.count(known[two]) == 1
    ]


def _name(name: str) -> str:
    """A name without what only says that it is a pointer; its case may mean another thing."""
    for end in _ENDS:
        name = name.removesuffix(end)
    return name
