"""Detectors of the device stage: program order, warps, and options of one backend."""

import ast
import re
from collections.abc import Iterator

from tilewright.analysis.detectors.chips import chip_of
from tilewright.analysis.detectors.common import (
    TL,
    triton_kernels,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.detectors.settings import Setting, settings_of, symbolic_tiles
from tilewright.analysis.detectors.sizes import elements_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.per_kernel import per_module
from tilewright.analysis.tiles import Tiles
from tilewright.analysis.values import Flow, Value, values_within, walk
from tilewright.hardware.model import Chip
from tilewright.knowledge.base import option_backends
from tilewright.python_syntax import descendants
from tilewright.source.model import Kernel, Module

_CONFIG = "triton.Config"
_VENDORS = {"hip": {"amd", "hip", "rocm"}, "xpu": {"xpu", "intel"}}
"""Words of a path that say for which backend a file is, by backend."""
_XPU = ('"xpu"', "'xpu'", "torch.xpu")
_CUDA = ('"cuda"', "'cuda'", "torch.cuda")

_NEIGHBOURS = (
    "Neighbouring programs walk along one edge of the output and share only one operand in L2; a "
    "grouped order lets them share both."
)


@detector("no_swizzling")
def no_swizzling(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A matrix product whose programs run through the grid row by row."""
    for kernel, flow in triton_kernels(module):
        grids = [launch.grid for launch in context.launches if launch.kernel == kernel.name]
        if any(len(grid) < 2 or min(grid[0], grid[1]) < 2 for grid in grids):
            continue
        row_by_row = _row_by_row(flow)
        if row_by_row is not None:
            yield Finding(
                module.index.range_of(row_by_row),
                _NEIGHBOURS,
                kernel.name,
            )
            continue
        pids = _plain_tile_ids(module, kernel, flow)
        axes = _dot_axes(flow)
        if pids is None or axes is None:
            continue
        m_axis, n_axis = axes
        yield Finding(
            module.index.range_of(pids[m_axis][1]),
            _NEIGHBOURS,
            kernel.name,
            related=(Related("the other axis", module.index.range_of(pids[n_axis][1])),),
        )


def _row_by_row(flow: Flow) -> ast.expr | None:
    """``pid // tiles_n`` and ``pid % tiles_n`` as the row and the column of a product's tile."""
    for _, value, loops in flow.calls(TL + "dot"):
        if not loops or len(value.positional) < 2 or _is_recurrence(flow, loops[-1]):
            continue
        operands = value.positional[:2]
        if any(part.op == "dot" for o in operands for part in walk(o)):
            # Scores of attention, or another product's result.
            continue
        if not all(loops[-1] in operand.varies for operand in operands):
            continue
        left, right = (_quotients(operand) for operand in operands)
        if len(left) != 1 or len(right) != 1:
            continue
        (row,), (column,) = left, right
        same = all(a is b for a, b in zip(row.operands, column.operands, strict=True))
        same = same and row.operands[0].op == "program_id"
        tiles = row.operands[1]
        if same and {row.detail, column.detail} == {"FloorDiv", "Mod"} and _counts_tiles(tiles):
            return next((n for n, v in flow.values.items() if v is row), None)
    return None


def _quotients(operand: Value) -> set[Value]:
    """Quotients and remainders in a tile's address, none of which is of another."""
    return {v for v in walk(operand) if v.is_binary("FloorDiv", "Mod") and not _is_cdiv(v)}


def _is_cdiv(value: Value) -> bool:
    """``(n + b - 1) // b``: a number of tiles, which follows no program."""
    return not any(part.op == "program_id" for part in walk(value))


def _counts_tiles(value: Value) -> bool:
    """Whether a divisor is a number of tiles, computed here from an extent and a block."""
    return value.is_call(TL + "cdiv", "triton.cdiv") or value.is_binary("FloorDiv")


def _plain_tile_ids(
    module: Module, kernel: Kernel, flow: Flow
) -> dict[int, tuple[str, ast.expr]] | None:
    """Names of program ids 0 and 1, each defined once and never divided or remaindered."""
    found: dict[int, tuple[str, ast.expr]] = {}
    for name, definitions in flow.definitions.items():
        for definition in definitions:
            statement = definition.statement
            if definition.value.op != "program_id" or not isinstance(statement, ast.Assign):
                continue
            axis = definition.value.detail
            if len(definitions) != 1 or not isinstance(axis, int) or axis in found:
                return None
            found[axis] = (name, statement.value)
    if not {0, 1} <= found.keys():
        return None
    for value in flow.values.values():
        if value.is_binary("FloorDiv", "Mod") and value.operands[0].op == "program_id":
            return None
    return found


def _dot_axes(flow: Flow) -> tuple[int, int] | None:
    """(axis of the left operand's rows, axis of the right one's columns) of a dot in a loop."""
    for _, value, loops in flow.calls(TL + "dot"):
        if not loops or len(value.positional) < 2 or _is_recurrence(flow, loops[-1]):
            continue
        if any(_takes_apart(v) for o in value.positional[:2] for v in walk(o)):
            # Tiles taken apart into images and rows: neighbours are not what they seem.
            continue
        left, right = (_program_axes(operand) & {0, 1} for operand in value.positional[:2])
        if len(left) == 1 and len(right) == 1 and left != right:
            return next(iter(left)), next(iter(right))
    return None


def _is_recurrence(flow: Flow, loop: int) -> bool:
    """Whether turns store what they have summed, as steps in time do and products do not."""
    return any(write.loops and write.loops[-1] == loop for write in flow.writes)


def _takes_apart(value: Value) -> bool:
    """Whether an index computed from the program id, not looked up in memory, is divided."""
    if not value.is_binary("FloorDiv"):
        return False
    found = values_within(value.operands[0], lambda part: part.op not in ("load", "program_id"))
    return any(part.op == "program_id" for part in found)


def _program_axes(value: Value) -> set[int]:
    return {v.detail for v in walk(value) if v.op == "program_id" and isinstance(v.detail, int)}


@detector("missing_grf_mode")
def missing_grf_mode(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A large dot tile for an Intel GPU with the small register file."""
    chip = chip_of(context)
    if chip is None or chip.backend != "xpu":
        return
    for kernel, flow in triton_kernels(module):
        dots = [value for _, value, _ in flow.calls(TL + "dot")]
        launches = module.launches_of(kernel.name)
        if not dots or not launches or not all(launch.is_complete for launch in launches):
            continue
        settings = settings_of(module, kernel, context)
        tiles = symbolic_tiles(module, kernel)
        large = [s for s in settings if _wants_registers(s, dots, tiles, chip)]
        if not large or any(_states_mode(setting) for setting in settings):
            continue
        size = max(_accumulator(setting, dots, tiles) or 0 for setting in large)
        where = ""
        if kernel.autotune is not None:
            where = f" in {len(large)} of {len(settings)} configurations"
        yield Finding(
            module.index.range_of(launches[0].node.func),
            f"The accumulator is {size * 4 // 1024} KiB over num_warps={large[0].warps}{where}, "
            "too much for the 128 registers that a thread of this GPU has by default; grf_mode "
            "gives it 256.",
            kernel.name,
        )


def _states_mode(setting: Setting) -> bool:
    values = setting.config.values if setting.config is not None else {}
    return "grf_mode" in setting.options or "grf_mode" in values


def _wants_registers(setting: Setting, dots: list[Value], tiles: Tiles, chip: Chip) -> bool:
    """Whether an accumulator fits its warps with 256 registers a thread, not with 128."""
    size = _accumulator(setting, dots, tiles)
    most = chip.max_warps_large_registers or chip.max_warps
    if size is None or setting.warps is None or setting.warps > most:
        return False
    held = size * 4 / setting.warps
    budget = chip.menu.accumulator_share * chip.register_bytes
    return budget / 2 < held <= budget


def _accumulator(setting: Setting, dots: list[Value], tiles: Tiles) -> int | None:
    """Elements of the largest product tile whose size is known."""
    sizes = [elements_of(tiles.facts_of(dot).shape, setting.numbers) for dot in dots]
    return max((size for size in sizes if size is not None), default=None)


@detector("device_option_on_wrong_backend")
def device_option_on_wrong_backend(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A launch option that the chosen target's backend does not know.

    Silent in files for the backend that the option is of.
    """
    if context.target is None or context.target.backend not in ("cuda", "hip", "xpu"):
        return
    homes = option_backends()
    for kernel, _ in triton_kernels(module):
        foreign: dict[str, list[ast.keyword | ast.expr]] = {}
        for option, node in _stated_options(module, kernel):
            known = homes.get(option, (context.target.backend,))
            if context.target.backend not in known and not _is_for(module, known):
                foreign.setdefault(option, []).append(node)
        for option, nodes in foreign.items():
            places = f" ({len(nodes)} places of this kernel)" if len(nodes) > 1 else ""
            yield Finding(
                module.index.range_of(nodes[0]),
                f"{option} is an option of the {' or '.join(homes[option])} backend; on "
                f"{context.target} the launch fails with an unrecognised keyword{places}.",
                kernel.name,
            )


def _is_for(module: Module, backends: tuple[str, ...]) -> bool:
    """Whether the end of a file's path names a vendor, or its text that device and not CUDA's."""
    near = "/".join(re.split(r"[\\/]", module.path.lower())[-3:])
    words = set(re.split(r"[^a-z0-9]+", near))
    return any(words & _VENDORS[backend] for backend in backends if backend in _VENDORS) or (
        "xpu" in backends
        and any(map(module.lookup.says, _XPU))
        and not any(map(module.lookup.says, _CUDA))
    )


def _stated_options(module: Module, kernel: Kernel) -> Iterator[tuple[str, ast.keyword | ast.expr]]:
    for launch in module.launches_of(kernel.name):
        for keyword in launch.node.keywords:
            if keyword.arg is not None and keyword.arg in launch.options:
                yield keyword.arg, keyword
    configs = kernel.autotune.configs if kernel.autotune else None
    ranges = {config.range for config in configs or ()}
    if not ranges:
        return
    parameters = {parameter.name for parameter in kernel.parameters}
    for node in _config_calls(module):
        if module.index.range_of(node) in ranges:
            for name, place in _config_keys(node):
                if name not in parameters:
                    yield name, place


@per_module
def _config_calls(module: Module) -> tuple[ast.Call, ...]:
    """Every ``triton.Config(...)`` of a file."""
    return tuple(
        node
        for node in descendants(module.tree)
        if isinstance(node, ast.Call) and module.names.is_call(node, _CONFIG)
    )


def _config_keys(call: ast.Call) -> Iterator[tuple[str, ast.keyword | ast.expr]]:
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword
    for argument in call.args[:1]:
        if isinstance(argument, ast.Dict):
            for key in argument.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, key
