"""From what a launch asks for to the time that takes: the slowest part of each round of programs.

Programs run in rounds of as many as the chip holds. A round takes as long as its slowest part:
the wait of one program through its own steps, or what all its programs together ask of one part
of the chip. Parts overlap, but not wholly: they are added as a norm between sum and maximum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.costs.demand import Demand, Phase

_REPEATS = 2
_BEHIND = ("wgmma", "tcgen05_mma")


@dataclass(frozen=True)
class Machine:
    """A chip's figures as the estimate uses them; cycles are of the compute units' clock.

    Attributes:
        units: compute units.
        clock: cycles a microsecond.
        memory, l2: bytes a microsecond of the whole chip.
        l2_bytes: of the cache that all units share; as much of it as keeps what was touched.
        near_bytes: of one unit's own cache and shared memory together.
        tensor: floating point operations a cycle of one unit, by (kind, element type).
        shared, near: bytes a cycle of one unit's shared memory, and of its own cache.
        issue: instructions of warps a cycle and unit.
        special: transcendental results a cycle and unit.
        dispatch: cycles from one program's start to the next one's, of the whole chip.
        code_near: bytes of code that each scheduler keeps by itself.
        code_far: how much longer an instruction takes that it does not keep.
        l2_again: of ``l2_bytes``, those that keep what programs read again.
    """

    units: int
    clock: float
    memory: float
    l2: float
    l2_bytes: float
    near_bytes: float
    tensor: Mapping[tuple[str, str], float]
    shared: float
    near: float
    issue: float
    special: float
    launch_us: float
    start: float
    latency: float
    step: float
    barrier: float
    product: float
    atomic: float
    request: float
    wavefront: float
    spill: float
    dispatch: float
    code: float
    code_most: float
    norm: float
    code_near: float
    code_far: float
    l2_again: float


@dataclass(frozen=True)
class Spent:
    """Microseconds by cause, each as if it were alone, and all together."""

    us: float
    parts: Mapping[str, float]


def spent(asked: Demand, machine: Machine, resident: int, memory_bytes: float) -> Spent:
    """The time of a launch.

    Args:
        resident: programs that one compute unit keeps at a time.
        memory_bytes: between memory and the last cache, for the whole launch.
    """
    slots = machine.units * resident
    full, rest = divmod(asked.programs, slots)
    per_program = memory_bytes / asked.programs
    parts: dict[str, float] = {}
    total = 0.0
    for rounds, programs in ((full, slots), (1 if rest else 0, rest)):
        if not rounds or not programs:
            continue
        each = _round(asked, machine, programs, per_program)
        total += rounds * _norm(each.values(), machine.norm)
        for name, us in each.items():
            parts[name] = parts.get(name, 0.0) + rounds * us
    parts["dispatch"] = asked.programs * machine.dispatch / machine.clock
    # Programs are handed out while others run: all that counts is which of both takes longer.
    total = max(total, parts["dispatch"])
    parts["code"] = machine.code * min(asked.code_bytes, machine.code_most) / 1024
    parts["launch"] = machine.launch_us
    return Spent(total + machine.launch_us + parts["code"], parts)


def _round(
    asked: Demand, machine: Machine, programs: int, memory_bytes: float
) -> Mapping[str, float]:
    """Microseconds that each part of the chip takes for programs that run at the same time."""
    on_unit = math.ceil(programs / machine.units)
    cycle = 1.0 / machine.clock
    moved = asked.asked
    held = on_unit * (moved.unique + asked.spill_slots) <= machine.near_bytes
    missed = moved.requested * asked.again + asked.spill_bytes
    from_l2 = (moved.unique if held else missed) + moved.stored
    if not held:
        # What is read again has gone from the shared cache where the rest of the round fills it.
        between = programs * min(moved.unique, memory_bytes)
        gone = max(0.0, 1.0 - machine.l2_again / between) if between else 0.0
        memory_bytes += gone * (moved.requested * asked.again - moved.unique)
    slots = programs * asked.spill_slots
    lost = max(0.0, 1.0 - machine.l2_bytes / slots) if slots else 0.0
    memory_bytes += asked.spill_bytes * lost
    return {
        "latency": cycle * _alone(asked, machine, on_unit),
        "issue": cycle * on_unit * _issued(asked, machine) * asked.warps / machine.issue,
        "special": cycle * on_unit * asked.total("transcendental") * asked.warps * asked.lanes
        / machine.special,
        "tensor": cycle * on_unit * sum(
            flops / _rate(machine, key) for key, flops in asked.flops.items()
        ),
        "shared memory": cycle * on_unit * asked.shared_bytes / machine.shared,
        "near": cycle * on_unit * (
            max(
                (moved.requested + moved.common + moved.stored) / machine.near,
                asked.wavefronts * machine.wavefront,
            )
            + asked.spill_bytes * machine.spill
            + asked.requests * machine.request
        ),
        "l2": programs * from_l2 / machine.l2,
        "memory": programs * memory_bytes / machine.memory,
        "atomics": cycle * programs * asked.atomics * machine.atomic / machine.units,
    }  # fmt: skip


def _issued(asked: Demand, machine: Machine) -> float:
    """Instructions of one warp; those that come from afar count as more than one.

    Code that does not fit a scheduler's own instruction cache is fetched anew by each warp.
    """
    total = 0.0
    for phase in asked.phases:
        code = phase.code_bytes if phase.turns >= _REPEATS else asked.code_bytes
        far = min(1.0, max(0.0, code / machine.code_near - 1.0))
        total += phase.turns * phase.instructions * (1.0 + machine.code_far * far)
    return total


def _alone(asked: Demand, machine: Machine, on_unit: int) -> float:
    """Cycles of one program from its start to its end if nothing else kept it waiting."""
    return machine.start + sum(phase.turns * _turn(phase, machine, asked) for phase in asked.phases)


def _turn(phase: Phase, machine: Machine, asked: Demand) -> float:
    lanes = max(1.0, asked.warps / 4)
    busy = phase.instructions * machine.step * lanes + phase.barriers * machine.barrier
    busy += phase.dots * machine.product
    if phase.tensor_flops:
        rates = [_rate(machine, key) for key in asked.flops] or [1.0]
        product = phase.tensor_flops / max(rates)
        # Such products run by themselves: the next turn's are prepared meanwhile.
        behind = phase.ahead > 0 and any(kind in _BEHIND for kind, _ in asked.flops)
        busy = max(busy, product) if behind else busy + product
    waiting = phase.waits * machine.latency
    if phase.ahead > 0 and phase.turns > 1:
        return max(busy, waiting / phase.ahead) + waiting / phase.turns
    return busy + waiting


def _rate(machine: Machine, key: tuple[str, str]) -> float:
    return machine.tensor.get(key) or machine.tensor.get((key[0], "fp16")) or 128.0


def _norm(times: object, power: float) -> float:
    values = [t for t in times if t > 0.0]  # type: ignore[attr-defined]
    most = max(values, default=0.0)
    return most * sum((t / most) ** power for t in values) ** (1 / power) if most else 0.0
