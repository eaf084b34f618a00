"""Numbers of warps that do not fit the tiles of a launch."""

import ast
from collections.abc import Iterator
from math import prod

from tilewright.analysis.detectors.common import (
    DOTS,
    TL,
    context_numbers,
    decorators_known,
    source_numbers,
    triton_kernels,
)
from tilewright.analysis.detectors.correctness.language import is_for_a_fork
from tilewright.analysis.detectors.host_code.facts import is_measuring
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.detectors.sizes import sides_of
from tilewright.analysis.intervals import Numbers
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.tiles import Tiles, tiles_of
from tilewright.analysis.values import Flow, Value
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Launch, Module

_LARGE_DOT = 128 * 128
_LARGE_ROW = 16384
_LARGE_REDUCED_ROW = 8192
"""Of a loop whose turns reduce the tile: more than one copy of it is held."""
_THREADS = 32
_MANY_WARPS = 16
_REDUCTIONS = tuple(TL + name for name in ("sum", "max", "min", "argmax", "argmin", "softmax"))


@detector("suboptimal_warps")
def suboptimal_warps(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A large tile launched with the default of 4 warps; many warps for rows of any width."""
    if is_for_a_fork(module):
        return
    for kernel, flow in triton_kernels(module):
        if kernel.autotune is not None or not decorators_known(module, kernel):
            continue
        captured = context_numbers(context, kernel.name)
        for launch, known in source_numbers(module, kernel):
            message = _misfit(module, kernel, flow, launch, [known, *captured])
            if message is not None and not is_measuring(launch.host_function or ""):
                where = launch.options.get("num_warps", launch.node.func)
                yield Finding(
                    module.index.range_of(where),
                    message,
                    kernel.name,
                )


def _misfit(
    module: Module, kernel: Kernel, flow: Flow, launch: Launch, numbers: list[Numbers]
) -> str | None:
    if "num_warps" in launch.options:
        return _fixed_for_any_width(module, kernel, flow, launch)
    wanted = _wanted_warps(flow, tiles_of(module, kernel), numbers) if launch.is_complete else None
    if wanted is None:
        return None
    size, what = wanted
    return (
        f"{what} at the default of 4 warps is {size // (4 * _THREADS)} elements a "
        f"thread with {_THREADS} threads a warp, before any intermediate result; state "
        "num_warps."
    )


def _wanted_warps(flow: Flow, tiles: Tiles, numbers: list[Numbers]) -> tuple[int, str] | None:
    """The size of a tile that needs more than 4 warps, and its text."""
    dot = _largest(numbers, tiles, [v for _, v, _ in flow.calls(TL + "dot")])
    if dot is not None:
        return (dot[0], f"A {dot[1]} accumulator") if dot[0] >= _LARGE_DOT else None
    row = _largest(numbers, tiles, [a.pointer for a in flow.loads])
    reduces = any(loops for *_, loops in flow.calls(*_REDUCTIONS))
    least = _LARGE_REDUCED_ROW if reduces else _LARGE_ROW
    if row is None or row[0] < least or row[0] & (row[0] - 1) != 0:
        return None
    return row[0], f"A tile of {row[1]} elements"


def _largest(numbers: list[Numbers], tiles: Tiles, values: list[Value]) -> tuple[int, str] | None:
    """Elements of the largest tile among values whose shape is known, and its text."""
    best: tuple[int, str] | None = None
    for known in numbers:
        for value in values:
            sides = sides_of(tiles.facts_of(value).shape, known)
            if sides is not None and (best is None or prod(sides) > best[0]):
                best = (prod(sides), "x".join(map(str, sides)))
    return best


def _fixed_for_any_width(module: Module, kernel: Kernel, flow: Flow, launch: Launch) -> str | None:
    """Many warps as a literal for a tile whose one side is the next power of two of an extent."""
    given = resolve(module, launch, launch.options["num_warps"])
    warps = given.value if isinstance(given, ast.Constant) else None
    if type(warps) is not int or warps < _MANY_WARPS:
        return None
    if any(True for _ in flow.calls(*DOTS)):
        return None
    tiles = tiles_of(module, kernel)
    sides = {side for a in flow.loads for side in tiles.facts_of(a.pointer).shape or ()}
    names = {str(s.detail) for s in sides if not isinstance(s, int) and s.op == "param"}
    followed = [name for name in sorted(names) if _follows_width(module, launch, name)]
    if not followed or len(names) > 1 or any(isinstance(s, int) and s > 1 for s in sides):
        return None
    return (
        f"{warps} warps are started for whatever {followed[0]} is, which follows the width of the "
        f"rows: below {warps * _THREADS} elements lanes have nothing to do, and each reduction "
        f"goes through all {warps}; let num_warps follow the width as well."
    )


def _follows_width(module: Module, launch: Launch, name: str) -> bool:
    """``BLOCK=triton.next_power_of_2(n)``, with no lower bound in it."""
    given = launch.arguments.get(name)
    node = None if given is None else resolve(module, launch, given)
    if not isinstance(node, ast.Call):
        return False
    dotted = module.names.resolve(node.func) or ""
    return dotted.rpartition(".")[2] == "next_power_of_2"
