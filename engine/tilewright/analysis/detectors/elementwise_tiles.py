"""Literal tiles that are far from what the threads of a program want."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import (
    DOTS,
    TL,
    loads_in,
    stated_arguments,
    triton_kernels,
)
from tilewright.analysis.detectors.correctness.language import is_for_a_fork
from tilewright.analysis.detectors.host_code.facts import is_elementwise, is_measuring
from tilewright.analysis.detectors.program_counts import grows_with_the_problem, is_one_program
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.tiles.infer import tiles_of
from tilewright.analysis.tiles.model import Shape
from tilewright.analysis.values import Flow
from tilewright.knowledge.model import ADVICE
from tilewright.source.model import Kernel, Launch, Module

_THREADS = {"cuda": 32, "hip": 64}
_MOST_A_THREAD = 32
_MOST_AT_ALL = 128
"""Half of the 255 registers of a thread, one for each element in fp32."""
_DEFAULT_WARPS = 4
_FEW = 64
"""Elements of a tile that takes so little time that its launch is most of it."""
_REDUCTIONS = tuple(TL + name for name in ("sum", "max", "min", "reduce", "cumsum", "argmax"))
_MADE = tuple(TL + name for name in ("zeros", "full"))
_MOST_ATOMICS = 8
"""Elements a thread from which on a tile of 128 was four times faster (NVIDIA/Megatron-LM#6334)."""


def misfits(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Launches with elementwise tiles too large, or any tiles far smaller than their threads."""
    width = _THREADS.get(context.target.backend if context.target is not None else "cuda")
    # Chips of vendors with a Triton of their own count threads otherwise, or have none.
    if width is None or is_for_a_fork(module):
        return
    for kernel, flow in triton_kernels(module):
        if kernel.autotune is not None or not _moves_tiles(flow):
            continue
        is_plain = is_elementwise(module, kernel)
        for launch in module.launches_of(kernel.name):
            size = _elements(module, kernel, flow, launch)
            warps = _warps(launch)
            if size is None or warps is None or is_measuring(launch.host_function or ""):
                continue
            message = _misfit(size, warps, width, is_plain)
            severity = _weight(module, launch, size, warps * width)
            if message is None and _scatters(flow) and size >= _MOST_ATOMICS * warps * width:
                message = (
                    f"Each of {warps * width} threads adds {size // (warps * width)} elements to "
                    "computed addresses, one atomic after another; a tile of as many elements as "
                    "threads has more of them in flight."
                )
                severity = 1
            if message is not None:
                yield Finding(launch.range, message, kernel.name, severity=severity)
            elif size <= warps * width and _is_short(module, kernel, flow, launch):
                yield Finding(
                    launch.range,
                    f"A program has {size} elements for {warps * width} threads, and for each such "
                    "tile all warps exchange a reduction or load again what their neighbours "
                    "load; several tiles a program share that, and have more loads in flight.",
                    kernel.name,
                    severity=1,
                )


def _weight(module: Module, launch: Launch, size: int, threads: int) -> int | None:
    """The severity of a tile's size where less is lost than by others."""
    is_held = threads < size <= _MOST_AT_ALL * threads
    is_little = size < threads and (size <= _FEW or is_one_program(module, launch))
    return ADVICE if is_held or is_little else None


def _is_short(module: Module, kernel: Kernel, flow: Flow, launch: Launch) -> bool:
    """Whether each of many programs moves one tile, which it reduces or has partly in common."""
    axes = {v.detail for v in flow.values.values() if v.op == "program_id"}
    if flow.loops or any(access.kind == "atomic" for access in flow.accesses):
        return False
    if not any(
        isinstance(axis, int) and grows_with_the_problem(module, kernel, launch, axis)
        for axis in axes
    ):
        return False
    if any(True for _ in flow.calls(*_REDUCTIONS)):
        return True
    tiles = tiles_of(module, kernel)
    facts = [tiles.facts_of(load.pointer) for load in flow.loads]
    return any(f.shape and f.programs is not None and f.programs < axes for f in facts)


def _scatters(flow: Flow) -> bool:
    """Whether atomics go to addresses that were loaded, as those of a histogram do."""
    return any(
        access.kind == "atomic" and not access.loops and any(True for _ in loads_in(access.pointer))
        for access in flow.accesses
    )


def _moves_tiles(flow: Flow) -> bool:
    """Whether a kernel stores tiles and makes no product, whose threads have other work."""
    return bool(flow.writes) and not any(True for _ in flow.calls(*DOTS))


def _misfit(size: int, warps: int, width: int, is_plain: bool) -> str | None:
    threads = warps * width
    if is_plain and size > _MOST_A_THREAD * threads:
        return (
            f"Each of {threads} threads has {size // threads} elements of the tile of {size}, "
            "whose loads and results are all held at once; tiles of 4 to 16 elements a thread "
            "leave more programs to hide the latency of memory."
        )
    if size > _MOST_AT_ALL * threads:
        return (
            f"Each of {threads} threads has {size // threads} elements of the largest tile, more "
            "than its registers hold; fewer rows a program, or more warps, keep the tile in them."
        )
    if size <= threads // 4 and warps > 1:
        return (
            f"The largest tile has {size} elements, and {threads} threads are started for it: "
            f"{warps * size // threads or 1} of {warps} warps would do, and the others repeat "
            "the same elements."
        )
    return None


def _elements(module: Module, kernel: Kernel, flow: Flow, launch: Launch) -> int | None:
    """Elements of the largest tile that is moved or filled, where the launch states them all."""
    numbers = Numbers(stated_arguments(module, kernel, launch))
    tiles = tiles_of(module, kernel)
    made = [value for _, value, _ in flow.calls(*_MADE)]
    values = [*(access.pointer for access in flow.accesses), *made]
    sizes = [_size(tiles.facts_of(value).shape, numbers) for value in values]
    known = [size for size in sizes if size is not None]
    return max(known) if known and len(known) == len(sizes) and max(known) > 1 else None


def _size(shape: Shape | None, numbers: Numbers) -> int | None:
    if shape is None:
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
