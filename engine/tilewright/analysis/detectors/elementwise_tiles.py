"""Tiles of elementwise kernels that are far from what a program's threads want."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import stated_arguments, triton_kernels
from tilewright.analysis.detectors.host_code.facts import is_elementwise, is_measuring
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.tiles.infer import tiles_of
from tilewright.analysis.values import Flow
from tilewright.source.model import Kernel, Launch, Module

_THREADS = {"cuda": 32, "hip": 64}
_MOST_A_THREAD = 32
_DEFAULT_WARPS = 4


def misfits(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Launches of elementwise kernels whose literal tile is too large, or below one warp's."""
    width = _THREADS.get(context.target.backend if context.target is not None else "cuda")
    if width is None:
        return
    for kernel, flow in triton_kernels(module):
        if kernel.autotune is not None or not is_elementwise(module, kernel):
            continue
        for launch in module.launches_of(kernel.name):
            size = _elements(module, kernel, flow, launch)
            warps = _warps(launch)
            if size is None or warps is None or is_measuring(launch.host_function or ""):
                continue
            message = _misfit(size, warps, width)
            if message is not None:
                yield Finding(launch.range, message, kernel.name)


def _misfit(size: int, warps: int, width: int) -> str | None:
    threads = warps * width
    if size > _MOST_A_THREAD * threads:
        return (
            f"Each of {threads} threads has {size // threads} elements of the tile of {size}, "
            "whose loads and results are all held at once; tiles of 4 to 16 elements a thread "
            "leave more programs to hide the latency of memory."
        )
    if size <= width and warps > 1:
        return (
            f"The tile of {size} elements has work for one warp, and {warps} are started: the "
            "other threads repeat the same elements."
        )
    return None


def _elements(module: Module, kernel: Kernel, flow: Flow, launch: Launch) -> int | None:
    """Elements of the tile that is stored, where the launch states them."""
    numbers = Numbers(stated_arguments(module, kernel, launch))
    shape = tiles_of(module, kernel).of(flow.writes[0].pointer).shape
    if not shape:
        return None
    size = 1
    for dim in shape:
        side = number_of(dim, numbers)
        if side is None:
            return None
        size *= side
    return size


def _warps(launch: Launch) -> int | None:
    given = launch.options.get("num_warps")
    if given is None:
        return _DEFAULT_WARPS if launch.is_complete else None
    if isinstance(given, ast.Constant) and type(given.value) is int:
        return given.value
    return None
