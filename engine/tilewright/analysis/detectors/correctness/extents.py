"""Detectors of tile extents that do not compile."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, all_numbers, nodes_of, triton_kernels
from tilewright.analysis.detectors.correctness.language import is_for_a_fork
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.values import Flow, Value
from tilewright.source.model import Kernel, Module


@detector("non_power_of_two_arange")
def non_power_of_two_arange(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``tl.arange`` over a count that is no power of two: it does not compile."""
    if is_for_a_fork(module):
        return
    for kernel, flow in triton_kernels(module):
        numbers = all_numbers(module, context, kernel) or [Numbers()]
        for node, value in _aranges(module, kernel, flow):
            bad = {_length(value, known) for known in numbers}
            wrong = sorted(n for n in bad if n is not None and (n <= 0 or n & (n - 1)))
            if wrong:
                yield Finding(
                    module.index.range_of(node),
                    f"tl.arange over {wrong[0]} elements does not compile: the count has to be "
                    "a power of two.",
                    kernel.name,
                )


def _aranges(module: Module, kernel: Kernel, flow: Flow) -> Iterator[tuple[ast.Call, Value]]:
    for node in nodes_of(kernel.node):
        if isinstance(node, ast.Call) and module.names.is_call(node, TL + "arange"):
            value = flow.values.get(node)
            if value is not None and value.op == "arange":
                yield node, value


def _length(arange: Value, numbers: Numbers) -> int | None:
    start, end = (number_of(v, numbers) for v in arange.operands)
    return None if start is None or end is None else end - start
