"""Detectors of tile extents that do not compile."""

from collections.abc import Iterator

from tilewright.analysis.detectors.common import all_numbers, triton_kernels
from tilewright.analysis.detectors.correctness.language import is_for_a_fork
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.tiles import created_shapes
from tilewright.source.model import Module


@detector("non_power_of_two_arange")
def non_power_of_two_arange(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``tl.arange`` over a count that is no power of two: it does not compile."""
    if is_for_a_fork(module):
        return
    for kernel, _ in triton_kernels(module):
        numbers = all_numbers(module, context, kernel) or [Numbers()]
        for node, value, shape in created_shapes(module, kernel):
            extents = {number_of(extent, known) for known in numbers for extent in shape}
            wrong = sorted(n for n in extents if n is not None and (n <= 0 or n & (n - 1)))
            if wrong and value.op == "arange":
                yield Finding(
                    module.index.range_of(node),
                    f"tl.arange over {wrong[0]} elements does not compile: the count has to be "
                    "a power of two.",
                    kernel.name,
                )
