"""Detectors of the device stage: product tiles against the shape, and how programs share them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tilewright.analysis.detectors.block_extents import Extents, extent, extents_of
from tilewright.analysis.detectors.chips import chip_of
from tilewright.analysis.detectors.common import TL, first_line, triton_kernels
from tilewright.analysis.detectors.elementwise_tiles import misfits
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.detectors.settings import Setting, settings_of, symbolic_tiles
from tilewright.analysis.detectors.sizes import sides_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import Dim, Polynomial, tiles_of
from tilewright.analysis.values import Access, Flow, Loop, Value, walk
from tilewright.hardware.configs import next_power_of_two
from tilewright.hardware.model import Chip
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.text import Range

_LARGE_EXTENT = 1024
_SMALL_REUSE = 24.0
"""Multiplications an element loaded, as a 32 x 64 tile makes 21 and a 64 x 64 tile 32."""


@dataclass(frozen=True)
class _Product:
    """The one ``tl.dot`` in a loop: its row and column blocks."""

    node: ast.Call
    rows: Dim
    columns: Dim


@detector("suboptimal_tile_size")
def suboptimal_tile_size(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Product tiles that the captured shape cannot use; tiles of elementwise kernels."""
    yield from misfits(module, context)
    for kernel, flow in triton_kernels(module):
        if not any(launch.kernel == kernel.name for launch in context.launches):
            continue
        dot = _product(module, kernel, flow)
        settings = [s for s in settings_of(module, kernel, context) if s.captured]
        if dot is None or not settings:
            continue
        extents = extents_of(flow)
        chip = chip_of(context)
        found = [_misfit(dot, extents, setting, chip) for setting in settings]
        reasons = [reason for reason in found if reason is not None]
        if reasons and len(reasons) == len(found):
            count = f" in all {len(found)} configurations" if kernel.autotune else ""
            yield Finding(
                module.index.range_of(dot.node.func),
                f"{reasons[0]}{count}.",
                kernel.name,
            )


def _product(module: Module, kernel: Kernel, flow: Flow) -> _Product | None:
    dots = [(node, value) for node, value, loops in flow.calls(TL + "dot") if loops]
    if len(dots) != 1:
        return None
    shape = symbolic_tiles(module, kernel).facts_of(dots[0][1]).shape
    if shape is None or len(shape) != 2:
        return None
    return _Product(dots[0][0], shape[0], shape[1])


def _misfit(dot: _Product, extents: Extents, setting: Setting, chip: Chip | None) -> str | None:
    """How the tile fails to suit the shape, None where it does or where that is not known."""
    sides = sides_of((dot.rows, dot.columns), setting.numbers)
    rows = _extent(dot.rows, extents, setting)
    columns = _extent(dot.columns, extents, setting)
    if sides is None or rows is None or columns is None:
        return None
    for side, bound in zip(sides, (rows, columns), strict=True):
        if side > max(16, next_power_of_two(bound)):
            return (
                f"A tile {side} wide over an extent of {bound} is padding from "
                f"{next_power_of_two(bound)} on, and multiplies it all the same"
            )
    reuse = sides[0] * sides[1] / (sides[0] + sides[1])
    units = chip.compute_units if chip is not None else 0
    larger = -(-rows // 64) * -(-columns // 64)
    if min(rows, columns) >= _LARGE_EXTENT and reuse < _SMALL_REUSE and larger >= 4 * units:
        return (
            f"A {sides[0]} x {sides[1]} tile makes {reuse:.0f} multiplications of each element it "
            f"loads, where 128 x 128 makes 64 and {rows} x {columns} has room for it"
        )
    return None


def _extent(side: Dim, extents: Extents, setting: Setting) -> int | None:
    if isinstance(side, int) or side.op != "param":
        return None
    return extent(extents, str(side.detail), setting.numbers)


@detector("serialized_n_tiles")
def serialized_n_tiles(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A loop over independent column tiles of a product, inside each program."""
    chip = chip_of(context)
    for kernel, flow in triton_kernels(module):
        for loop in flow.loops.values():
            if not _is_over_columns(flow, loop):
                continue
            grids = [x.grid for x in context.launches if x.kernel == kernel.name]
            programs = min(map(prod, grids), default=None)
            if chip is not None and programs is not None and programs >= chip.compute_units:
                continue
            idle = "a matrix of few rows leaves compute units idle"
            if chip is not None and programs is not None:
                idle = f"{programs} programs leave {chip.compute_units - programs} of "
                idle += f"{chip.compute_units} compute units idle"
            yield Finding(
                first_line(module, loop.node),
                "Each program computes every column tile in turn, though no iteration needs the "
                f"one before: {idle}.",
                kernel.name,
            )


def _is_over_columns(flow: Flow, loop: Loop) -> bool:
    """Whether turns store independent products whose columns only this loop counts."""
    if loop.bounds is None or loop.is_static or loop.bounds[0].op != "const":
        return False
    stores = [
        a for a in flow.writes if a.kind == "store" and a.loops and a.loops[-1] == loop.number
    ]
    if not stores or any(_is_carried(store, loop) for store in stores):
        return False
    return all(_stores_product(store, loop) for store in stores)


def _is_carried(store: Access, loop: Loop) -> bool:
    """Whether what a turn stores hangs on something of the turn before."""
    given = (store.pointer, store.result, store.mask)
    return any(
        part.op == "phi" and str(part.detail).partition(":")[0] == str(loop.number)
        for value in given
        if value is not None and "phi" in value.operations
        for part in walk(value)
    )


def _stores_product(store: Access, loop: Loop) -> bool:
    """Whether columns of a product are stored, and its rows are loaded, not computed."""
    if store.result is None or not _moves(store.pointer, loop):
        return False
    if "dot" not in store.result.operations:
        return False
    dots = [part for part in walk(store.result) if part.op == "dot"]
    rows = [part for dot in dots for part in walk(dot.operands[0])]
    columns = [part for dot in dots for part in walk(dot.operands[1])]
    reduced = any(part.op == "dot" or _is_reduction(part) for part in rows)
    split = any(part.op == "program_id" for part in columns)
    moving = any(part.op == "loop_index" and part.detail == loop.number for part in columns)
    return moving and not split and not reduced and any(p.op == "program_id" for p in rows)


def _is_reduction(value: Value) -> bool:
    return value.is_call(*(TL + name for name in ("sum", "max", "min", "softmax", "reduce")))


def _moves(value: Value, loop: Loop) -> bool:
    return any(part.op == "loop_index" and part.detail == loop.number for part in walk(value))


@detector("missing_packed_transpose")
def missing_packed_transpose(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A right operand stored as (N, K) that a product on an Intel GPU reads across its rows."""
    if context.target is None or context.target.backend != "xpu":
        return
    for kernel, flow in triton_kernels(module):
        for access in _right_operands(flow):
            swapped = _exchanged(module, kernel, context, access)
            if swapped is not None:
                yield Finding(
                    module.index.range_of(access.node),
                    f"{access.base} is stored by columns of this product's right operand, so its "
                    "tiles are read against the layout that block loads want; a packed (K, N) copy "
                    "of a weight is read along it.",
                    kernel.name,
                    related=(Related("strides exchanged here", swapped),),
                )


def _right_operands(flow: Flow) -> Iterator[Access]:
    loads = {access.result: access for access in flow.loads if access.loops}
    for _, value, loops in flow.calls(TL + "dot"):
        right = value.positional[1] if loops and len(value.positional) > 1 else None
        if right is not None and right.uncast in loads:
            yield loads[right.uncast]


def _exchanged(
    module: Module, kernel: Kernel, context: AnalysisContext, access: Access
) -> Range | None:
    """Where a launch passes stride 1 of a 2-D tensor for the rows and stride 0 for the columns."""
    strides = tiles_of(module, kernel, context).facts_of(access.pointer).strides
    if strides is None or len(strides) != 2 or access.base is None:
        return None
    names = [_parameter(stride) for stride in strides]
    if names[0] is None or names[1] is None:
        return None
    for launch in module.launches_of(kernel.name):
        rows, columns = (_stride_axis(module, launch, name) for name in names if name)
        if rows is None or columns is None or rows[0] != columns[0]:
            continue
        if (rows[1] % 2, columns[1] % 2) == (1, 0) and _is_weight(rows[0]):
            return launch.range
    return None


def _parameter(stride: Polynomial | None) -> str | None:
    monomials = [] if stride is None else list(stride)
    if len(monomials) == 1 and monomials[0][1] == 1 and len(monomials[0][0]) == 1:
        factor = monomials[0][0][0]
        return str(factor.detail) if factor.op == "param" else None
    return None


def _stride_axis(module: Module, launch: Launch, name: str) -> tuple[str, int] | None:
    """(tensor, axis) of an argument ``tensor.stride(axis)``."""
    node = launch.arguments.get(name)
    node = None if node is None else resolve(module, launch, node)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "stride" or len(node.args) != 1:
        return None
    try:
        axis = ast.literal_eval(node.args[0])
    except ValueError:
        return None
    return (ast.unparse(node.func.value), axis) if axis in (0, 1, -1, -2) else None


def _is_weight(tensor: str) -> bool:
    """Whether a tensor is a parameter that may be repacked once: ``self.weight``, ``w2``."""
    name = tensor.rpartition(".")[2].lower()
    return tensor.startswith("self.") or name.startswith(("w", "weight"))
