"""Detector of launches that pass two arguments in exchanged places."""

import ast
from collections.abc import Iterator
from itertools import pairwise

from tilewright.analysis.detectors.common import decorators_known, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.knowledge.model import HINT
from tilewright.source.model import Kernel, Launch, Module

_ENDS = ("_pointer", "_ptr", "_tensor")


@detector("exchanged_arguments")
def exchanged_arguments(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``kernel[grid](x, n, m)`` of ``kernel(x_ptr, m, n)``: each name in the other's place."""
    for kernel, _ in triton_kernels(module):
        if not decorators_known(module, kernel) or len(module.lookup.named[kernel.name]) != 1:
            continue
        for launch in module.launches_of(kernel.name):
            pairs = _exchanged(kernel, launch) if launch.is_certain else []
            if len(pairs) == 1 and not _is_transposed(launch):
                yield _finding(module, kernel, launch, pairs[0])


def _finding(module: Module, kernel: Kernel, launch: Launch, pair: tuple[int, int]) -> Finding:
    one, two = pair
    usual = _in_place_elsewhere(module, kernel, launch, pair)
    related = [Related("parameters", kernel.name_range)]
    if usual is not None:
        related.append(Related("in their places here", usual.range))
    return Finding(
        module.index.range_of(launch.node.args[one]),
        f"{kernel.parameters[one].name} of {kernel.name} gets "
        f"{ast.unparse(launch.node.args[one])} and {kernel.parameters[two].name} gets "
        f"{ast.unparse(launch.node.args[two])}: each has the other's name"
        f"{'.' if usual is None else ', which the other operands of this launch may ask for.'}",
        kernel.name,
        tuple(related),
        severity=None if usual is None else HINT,
    )


def _in_place_elsewhere(
    module: Module, kernel: Kernel, launch: Launch, pair: tuple[int, int]
) -> Launch | None:
    """Another launch of other operands that has both names in their own places.

    Who wrote both knows the order, and the roles of the operands change with them: the gradient
    of a product is a product of other operands, with rows, columns and sum exchanged.
    """
    for other in module.launches_of(kernel.name):
        given = _names(other)
        is_usual = all(
            place < len(given) and given[place] == _name(kernel.parameters[place].name)
            for place in pair
        )
        if other is not launch and is_usual and _has_other_operands(launch, other, pair):
            return other
    return None


def _has_other_operands(one: Launch, two: Launch, pair: tuple[int, int]) -> bool:
    """Whether the launches give different variables for a parameter that is not of the pair."""
    return any(
        isinstance(a, ast.Name) and isinstance(b, ast.Name) and a.id != b.id
        for place, (a, b) in enumerate(zip(one.node.args, two.node.args, strict=False))
        if place not in pair
    )


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
    given = _names(launch)
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


def _names(launch: Launch) -> list[str]:
    """The names of positional arguments; "" for what is no variable."""
    return [_name(node.id) if isinstance(node, ast.Name) else "" for node in launch.node.args]


def _name(name: str) -> str:
    """A name without what only says that it is a pointer; its case may mean another thing."""
    for end in _ENDS:
        name = name.removesuffix(end)
    return name
