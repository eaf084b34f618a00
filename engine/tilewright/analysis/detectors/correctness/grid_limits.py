"""Detector of grids that are longer along an axis than the chip launches."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import triton_kernels
from tilewright.analysis.detectors.correctness.index_steps import kernel_sizes
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.host_sizes import is_called_once
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_of
from tilewright.python_syntax import descendants
from tilewright.source.host import host_of
from tilewright.source.model import Kernel, Launch, Module

_LIMITS = (2**31 - 1, 65_535, 65_535)
"""Of x, y and z: CUDA C++ Programming Guide, technical specifications per compute capability."""


@detector("grid_limit")
def grid_limit(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """More than 65,535 programs along axis 1 or 2, as the file or a captured launch says."""
    if context.target is not None and context.target.backend != "cuda":
        return
    for kernel, _ in triton_kernels(module):
        for launch in module.launches_of(kernel.name):
            for axis, count in enumerate(_counts(module, kernel, launch, context)):
                if axis < len(_LIMITS) and count is not None and count > _LIMITS[axis]:
                    yield Finding(
                        module.index.range_of(launch.grid),
                        f"The grid has {count:,} programs along axis {axis}, and CUDA launches at "
                        f"most {_LIMITS[axis]:,} there: the launch raises an error.",
                        kernel.name,
                    )


def _counts(
    module: Module, kernel: Kernel, launch: Launch, context: AnalysisContext
) -> tuple[int | None, ...]:
    captured = [facts.grid for facts in context.launches if facts.kernel == kernel.name]
    if captured:
        return tuple(max(sizes) for sizes in zip(*captured, strict=False))
    if _is_guarded(module, launch):
        return ()
    found: list[int | None] = []
    for asks_callers in (False, True) if is_called_once(module, launch) else (False,):
        sizes = kernel_sizes(module, kernel, launch, asks_callers=asks_callers).grid
        found = [None if size is None else size.number for size in sizes]
        if None not in found:
            break
    return tuple(found)


def _is_guarded(module: Module, launch: Launch) -> bool:
    """Whether the host function compares sizes before it launches: it may keep long grids out."""
    host = host_of(module, launch)
    return host is not None and any(
        isinstance(part, ast.Compare)
        and any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in part.ops)
        for node in nodes_of(host)
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert)
        and node.lineno <= launch.range.line
        for part in descendants(node.test)
    )
