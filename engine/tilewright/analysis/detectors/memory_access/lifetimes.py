"""Detectors of what a program holds in registers at once, and for how long."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.analysis.detectors.chips import chip_of
from tilewright.analysis.detectors.common import TL, assigned_name, triton_kernels
from tilewright.analysis.detectors.registry import Reports, detector, kernel_detector
from tilewright.analysis.detectors.settings import Setting, SizedTiles, settings_of
from tilewright.analysis.detectors.sizes import BYTES, elements_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import Kind, TileFacts, tiles_of
from tilewright.analysis.values import Access, Flow, Loop, Value
from tilewright.hardware.model import Chip
from tilewright.source.model import Kernel, Module

_SURE = 0.85
"""Share of the registers beyond which tiles that a loop carries leave too little for all else."""
_FEW = 0.25
"""Share of a tuner's configurations below which those that spill cost the trial alone."""
_TENSOR_MEMORY = (100, 120)
"""Architectures of NVIDIA whose accumulators live in tensor memory, from and below."""


@dataclass(frozen=True)
class _Held:
    """A tile that is in registers all through a loop."""

    name: str
    facts: TileFacts
    node: ast.stmt
    is_accumulator: bool


@detector("high_register_pressure")
def high_register_pressure(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Tiles carried through a loop that together exceed the registers of the warps."""
    chip = chip_of(context)
    if chip is None:
        return
    for kernel, flow in triton_kernels(module):
        if not flow.back_edges:
            continue
        settings = [s for s in settings_of(module, kernel, context) if _states_warps(s)]
        if not settings:
            continue
        tiles, read = SizedTiles(module, kernel, context), _read(flow)
        for loop in flow.loops.values():
            held = _carried(flow, loop, tiles, read)
            if not held:
                continue
            finding = _pressure(module, kernel, chip, held, settings)
            if finding is not None:
                yield finding
                break


def _states_warps(setting: Setting) -> bool:
    """Whether num_warps was chosen; a launch that leaves it to its default is another issue."""
    return setting.config is not None or "num_warps" in setting.options


def _carried(flow: Flow, loop: Loop, tiles: SizedTiles, read: set[Value]) -> list[_Held]:
    """Tiles that each iteration of a loop gets from the one before."""
    found = []
    for phi, end in flow.back_edges.items():
        number, _, name = str(phi.detail).partition(":")
        if int(number) != loop.number or end is phi or phi not in read:
            continue
        facts = tiles.facts_of(phi)
        if facts.kind is not Kind.TILE or not facts.shape:
            facts = tiles.facts_of(end)
        if facts.kind is Kind.TILE and facts.shape:
            statement = flow.definitions[name][0].statement
            found.append(_Held(name, facts, statement, _is_accumulator(end)))
    return found


def _read(flow: Flow) -> set[Value]:
    """Values that something is computed from."""
    assigned = (d.value for found in flow.definitions.values() for d in found)
    used = {operand for value in (*flow.values.values(), *assigned) for operand in value.operands}
    return used | {a.result for a in flow.writes if a.result is not None}


def _is_accumulator(end: Value) -> bool:
    return "dot" in end.operations


def _pressure(
    module: Module,
    kernel: Kernel,
    chip: Chip,
    held: Sequence[_Held],
    settings: Sequence[Setting],
) -> Finding | None:
    over = [
        (taken, setting)
        for setting in settings
        if (taken := held_bytes(held, setting, chip)) is not None
        and taken > _limit(chip, held, setting)
    ]
    is_tuned = settings[0].config is not None
    if not over or (is_tuned and len(over) < _FEW * len(settings)):
        return None
    taken, setting = max(over, key=lambda pair: pair[0])
    fitting = [s for s in settings if s not in [spilling for _, spilling in over]]
    names = ", ".join(item.name for item in held)
    room = register_bytes(chip, setting)
    is_sure = taken > _SURE * room
    where = f"in {len(over)} of {len(settings)} configurations " if is_tuned else ""
    is_lost = any(
        not is_tuned
        or (amount <= _SURE * chip.register_file_bytes and not _has_same_tile(spilling, fitting))
        for amount, spilling in over
    )
    others = "" if is_lost else ", and the tuner has other settings."
    return Finding(
        setting.range,
        f"Through a loop {names} {'takes' if len(held) == 1 else 'take'} {taken // 1024} KiB of "
        f"registers {where}where num_warps={setting.warps} has "
        f"{room // 1024} KiB on {chip.id}, too little for what else the "
        f"loop needs: it {'spills' if is_sure else 'may spill'} to memory"
        f"{others or '.'}",
        kernel.name,
        related=tuple(Related("held", module.index.range_of(item.node)) for item in held[:4]),
    )


def _has_same_tile(setting: Setting, others: Sequence[Setting]) -> bool:
    """Whether a tuner that has one setting also has one with the same sizes for more warps."""
    return setting.config is not None and any(
        other.config is not None
        and other.numbers == setting.numbers
        and (other.warps or 0) > (setting.warps or 0)
        for other in others
    )


def _limit(chip: Chip, held: Sequence[_Held], setting: Setting) -> float:
    """Bytes beyond which a loop spills: less where operands of a product come on top."""
    share = chip.menu.accumulator_share if any(item.is_accumulator for item in held) else 1.0
    return share * register_bytes(chip, setting)


def held_bytes(held: Sequence[_Held], setting: Setting, chip: Chip) -> int | None:
    """Least bytes of registers that tiles take; None where none of their sizes is known.

    None as well for a tile that Triton does not have, since its sides are powers of two.
    """
    total, is_known = 0, False
    for item in held:
        if item.is_accumulator and _has_tensor_memory(chip):
            continue
        size = elements_of(item.facts.shape, setting.numbers)
        if size is not None and size & (size - 1):
            return None
        width = 4 if item.is_accumulator else BYTES.get(item.facts.dtype or "")
        if size is not None and width is not None:
            total += size * width
            is_known = True
    return total if is_known else None


def _has_tensor_memory(chip: Chip) -> bool:
    digits = "".join(c for c in chip.arch if c.isdigit())
    first, last = _TENSOR_MEMORY
    return chip.backend == "cuda" and digits != "" and first <= int(digits) < last


def register_bytes(chip: Chip, setting: Setting) -> int:
    """Registers of all warps of a program, in the mode that is stated."""
    return chip.register_bytes * (setting.warps or chip.max_warps)


@detector("fusion_register_pressure")
def fusion_register_pressure(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Tiles loaded behind a product's loop that no longer fit next to its accumulator."""
    chip = chip_of(context)
    if chip is None or _has_tensor_memory(chip):
        return
    for kernel, flow in triton_kernels(module):
        if not any(loops for _, _, loops in flow.calls(TL + "dot")):
            continue
        settings = [s for s in settings_of(module, kernel, context) if _states_warps(s)]
        tiles, read = SizedTiles(module, kernel, context), _read(flow)
        for loop in flow.loops.values() if settings else ():
            held = [h for h in _carried(flow, loop, tiles, read) if h.is_accumulator]
            extra = _epilogue(flow, loop, held, tiles) if held else []
            if not extra:
                continue
            finding = _fused(module, kernel, chip, held, extra, settings)
            if finding is not None:
                yield finding
                break


def _epilogue(flow: Flow, loop: Loop, held: Sequence[_Held], tiles: SizedTiles) -> list[_Held]:
    """Tiles of the accumulator's shape that are loaded behind the loop, and not one by one."""
    shapes = [item.facts.shape for item in held]
    found = []
    for access in flow.loads:
        behind = access.order > loop.number and not access.loops
        facts = tiles.facts_of(access.result) if behind and access.result is not None else None
        if facts is not None and facts.shape in shapes and len(facts.shape or ()) == 2:
            name = assigned_name(access) or access.base or "a tile"
            found.append(_Held(name, facts, access.statement, False))
    return found


def _fused(
    module: Module,
    kernel: Kernel,
    chip: Chip,
    held: Sequence[_Held],
    extra: Sequence[_Held],
    settings: Sequence[Setting],
) -> Finding | None:
    over: list[tuple[int, Setting]] = []
    for setting in settings:
        alone = held_bytes(held, setting, chip)
        more = held_bytes(extra, setting, chip)
        budget = register_bytes(chip, setting)
        if alone is not None and more is not None and alone <= budget < alone + more:
            over.append((alone + more, setting))
    if not over:
        return None
    taken, setting = max(over, key=lambda pair: pair[0])
    where = f"in {len(over)} of {len(settings)} configurations " if setting.config else ""
    return Finding(
        module.index.range_of(extra[0].node),
        f"With the accumulator {', '.join(e.name for e in extra)} come to {taken // 1024} KiB of "
        f"registers {where}where num_warps={setting.warps} has "
        f"{register_bytes(chip, setting) // 1024} KiB on {chip.id}: the epilogue spills, or loads "
        "its tiles piece by piece and waits each time.",
        kernel.name,
        related=(Related("the accumulator", module.index.range_of(held[0].node)),),
    )


@kernel_detector("long_liveness", triton_kernels)
def long_liveness(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A 2-D tile loaded before a loop that does not use it, and used behind it."""
    busy = [loop for loop in flow.loops.values() if not loop.is_static and _loads(flow, loop)]
    if not busy:
        return
    for access in flow.loads:
        loop = _slept_through(flow, access, busy)
        if loop is None or _rank(module, kernel, access) != 2:
            continue
        if any(w.order > access.order for w in flow.writes if loop.number in w.loops):
            continue
        text = (
            f"{assigned_name(access)} is loaded before a loop that does not use it, and keeps "
            "its registers all through the loop."
        )
        yield access.node, text, (Related("not used in here", module.index.range_of(loop.node)),)


def _rank(module: Module, kernel: Kernel, access: Access) -> int | None:
    """The axes of a loaded tile that have more than one element."""
    shape = tiles_of(module, kernel).facts_of(access.pointer).shape
    return None if shape is None else sum(side != 1 for side in shape)


def _loads(flow: Flow, loop: Loop) -> bool:
    return any(loop.number in access.loops for access in flow.loads)


def _slept_through(flow: Flow, access: Access, busy: Sequence[Loop]) -> Loop | None:
    """The loop before which a named tile is loaded and behind which all its uses are."""
    name = assigned_name(access)
    if name is None or len(flow.definitions.get(name, ())) != 1:
        return None
    lines = [use.lineno for use in flow.uses.get(name, ())]
    for loop in busy:
        before = access.order < loop.number and access.loops == _enclosing_loops(flow, loop)
        if before and lines and min(lines) > (loop.node.end_lineno or 0):
            inside = set(_enclosing_loops(flow, loop))
            if not any(loop.branches) or set(access.branches) <= set(loop.branches) | inside:
                return loop
    return None


def _enclosing_loops(flow: Flow, loop: Loop) -> tuple[int, ...]:
    found: list[int] = []
    parent = loop.parent
    while parent is not None:
        found.insert(0, parent)
        parent = flow.loops[parent].parent
    return tuple(found)
