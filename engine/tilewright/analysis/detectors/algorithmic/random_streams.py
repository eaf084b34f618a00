"""Calls for random numbers that compute four and drop three."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, nodes_of, triton_kernels
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.values import Value
from tilewright.knowledge.model import ADVICE
from tilewright.source.model import Module

_ONE_OF_FOUR = ("rand", "randn", "randint", "random.rand", "random.randn", "random.randint")


def dropped_numbers(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Two calls of ``tl.rand`` and the like with one seed, where ``tl.rand4x`` gives four tiles.

    Philox computes four 32-bit numbers for each offset: Salmon et al., "Parallel Random Numbers:
    As Easy as 1, 2, 3", 2011. ``tl.rand`` keeps the first.
    """
    names = tuple(TL + name for name in _ONE_OF_FOUR)
    for kernel, flow in triton_kernels(module):
        calls: dict[tuple[object, ...], list[tuple[ast.Call, Value]]] = {}
        for node, value, loops in flow.calls(*names):
            if len(value.operands) > 1:
                key = (value.detail, value.operands[0], loops, _branches(kernel.node, node))
                calls.setdefault(key, []).append((node, value))
        for same in calls.values():
            if len({value for _, value in same}) > 1:
                name = str(same[0][1].detail).rpartition(".")[2]
                yield Finding(
                    module.index.range_of(same[0][0]),
                    f"Each of {len(same)} calls of tl.{name} with this seed computes four numbers "
                    f"for an element and drops three; one tl.{name}4x gives four tiles.",
                    kernel.name,
                    related=tuple(
                        Related("drawn here", module.index.range_of(node)) for node, _ in same[1:4]
                    ),
                    # The numbers are others then: a project may hold on to those it has.
                    severity=ADVICE,
                )


def _branches(kernel: ast.FunctionDef, call: ast.Call) -> tuple[int, ...]:
    """Where the sides of conditionals that a call stands in begin."""
    return tuple(
        side[0].lineno
        for node in nodes_of(kernel)
        if isinstance(node, ast.If)
        for side in (node.body, node.orelse)
        if side and side[0].lineno <= call.lineno <= (side[-1].end_lineno or 0)
    )
