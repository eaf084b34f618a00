"""From what a launch asks for to the time that takes.

Two bounds are reckoned. *Work*: what all programs together ask of each part of the chip; parts
overlap, but not wholly, so that they are added as a norm between their sum and their maximum.
*Latency*: the wait of one program through its own steps, as many times as programs follow each
other in one place. Programs that run concurrently hide their latencies behind the work of
others, but not wholly: both are added as another norm. Its power depends on the warps beside each
other and on the rounds of programs, as those of the first round all wait at the same time; it is
another where copies run ahead, so that memory is busy while programs wait. What all programs wait
for at the start, before anything overlaps, is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tilewright.costs.boxes import SECTOR
from tilewright.costs.demand import Demand
from tilewright.costs.phases import NEW, Phase

_REPEATS = 2
_KEPT_WIDTH = 0.05
_STEEP = 40.0
_LEAST_ROOM = 8.0
_USUAL_WARPS = 8
_USUAL_BESIDE = 16
_USUAL_ROUNDS = 3


@dataclass(frozen=True)
class Machine:
    """A chip's figures as the estimate uses them; cycles are of the compute units' clock.

    Attributes:
        units: compute units.
        clock: cycles a microsecond.
        memory, l2: bytes a microsecond of the whole chip.
        l2_bytes: of the cache that all units share; as much of it as keeps what was touched.
        l2_again: of ``l2_bytes``, those that keep what programs read again.
        l2_read: of them, those that keep what several programs read.
        near_bytes: of one unit's own cache and shared memory together.
        tensor: floating point operations a cycle of one unit, by (kind, element type).
        shared, near: bytes a cycle of one unit's shared memory, and of its own cache.
        issue: instructions of warps a cycle and unit.
        special: transcendental results a cycle and unit.
        launch_us: of a launch that does nothing.
        start: cycles from a program's start to its first instruction that counts.
        latency: cycles that a load waits for the caches.
        cold: cycles more where memory has to be asked.
        descriptor: cycles more of a load by tensor descriptor.
        spare: registers of a thread that hold no loaded data.
        step: cycles of one instruction in a program that runs alone.
        barrier: cycles of a barrier of eight warps.
        barrier_growth: the power of the number of warps that a barrier grows by.
        product, new_product: cycles that a tile's product takes in addition to its operations, by
            old and by new tensor instructions.
        atomic: cycles of a sector that is added to; ``slices`` cache lines are at a time.
        request, wavefront: cycles of a warp's access, and of each cache line that it reaches.
        spill: cycles of a byte that is spilled or loaded again.
        dispatch: cycles from one program's start to the next one's, of the whole chip.
        run: bytes that a stretch of memory costs in addition to its own, each time one is begun.
        again: the part of the sectors that loads ask for again, neighbour by neighbour, that is
            not found near where what programs read again is not.
        crowd, many: how much more a byte of memory takes where one turn of the programs beside
            each other reaches e times as many bytes, and the bytes of a unit from which on that
            counts.
        code, code_most: microseconds of a kibibyte of code, and bytes that count at most.
        code_near: bytes of code that each scheduler keeps by itself.
        code_far: how much longer an instruction takes that it does not keep.
        norm: the power of the norm that adds the parts of the chip.
        overlap, overlap_ahead: the power of the norm that adds work and latency; the second where
            copies to shared memory run ahead.
        overlap_growth: the power of the warps next to each other that the first, less 1, grows by.
        overlap_rounds: the power of the rounds of programs that it, less 1, grows by.
        whole: the part of a last round of programs, not full, that latency is waited for.
        ramp: the part of a program's first turns that nothing overlaps.
    """

    units: int
    clock: float
    memory: float
    l2: float
    l2_bytes: float
    l2_again: float
    l2_read: float
    near_bytes: float
    tensor: Mapping[tuple[str, str], float]
    shared: float
    near: float
    issue: float
    special: float
    launch_us: float
    start: float
    latency: float
    cold: float
    descriptor: float
    spare: float
    step: float
    barrier: float
    barrier_growth: float
    product: float
    new_product: float
    atomic: float
    slices: float
    request: float
    wavefront: float
    spill: float
    dispatch: float
    run: float
    again: float
    crowd: float
    many: float
    code: float
    code_most: float
    code_near: float
    code_far: float
    norm: float
    overlap: float
    overlap_ahead: float
    overlap_growth: float
    overlap_rounds: float
    whole: float
    ramp: float


@dataclass(frozen=True)
class Spent:
    """Microseconds by cause, each as if it were alone, and all together.

    What programs wait for is given without their products, and the starting of programs only where
    it takes longer than all else.
    """

    us: float
    parts: Mapping[str, float]


def launch_time(asked: Demand, machine: Machine, resident: int, memory_bytes: float) -> Spent:
    """The time of a launch.

    Args:
        resident: programs that one compute unit keeps at a time.
        memory_bytes: between memory and the last cache, for the whole launch.
    """
    on_unit = math.ceil(asked.programs / machine.units)
    beside = min(resident, on_unit)
    unique = asked.asked.unique * asked.programs
    cold = min(1.0, memory_bytes / unique) if unique else 1.0
    parts = dict(_work(asked, machine, on_unit, beside, memory_bytes))
    parts["memory"] *= _crowded(asked, machine, beside)
    alone, products, first = _alone(asked, machine, cold)
    # What a last round lacks is made up for in part by those that run more alone.
    full = asked.programs / machine.units / beside
    late = _overlap(asked, machine, beside, full)
    rounds = machine.whole * math.ceil(on_unit / beside) + (1.0 - machine.whole) * full
    total = _norm((_norm(parts.values(), machine.norm), rounds * alone / machine.clock), late)
    total += machine.ramp * first / machine.clock
    parts["latency"] = (rounds * (alone - products) + machine.ramp * first) / machine.clock
    # Programs are handed out while others run: all that counts is which of both takes longer.
    handed_out = asked.programs * machine.dispatch / machine.clock
    parts["dispatch"] = handed_out if handed_out > total else 0.0
    total = max(total, handed_out)
    parts["code"] = machine.code * min(asked.code_bytes, machine.code_most) / 1024
    parts["launch"] = machine.launch_us
    return Spent(total + machine.launch_us + parts["code"], parts)


def _overlap(asked: Demand, machine: Machine, beside: int, rounds: float) -> float:
    """The power of the norm that adds latency to the work of the chip."""
    if any(phase.copied for phase in asked.phases):
        return machine.overlap_ahead
    warps = beside * asked.warps / _USUAL_BESIDE
    apart = ((1.0 + rounds) / (1.0 + _USUAL_ROUNDS)) ** machine.overlap_rounds
    return 1.0 + (machine.overlap - 1.0) * float(warps**machine.overlap_growth * apart)


def _work(
    asked: Demand, machine: Machine, on_unit: int, beside: int, memory_bytes: float
) -> Mapping[str, float]:
    """Microseconds that each part of the chip takes for all programs of the launch."""
    cycles = on_unit / machine.clock
    moved = asked.asked
    kept = _cached_share(beside * (moved.unique + asked.spill_slots) / machine.near_bytes)
    missed = _reread(asked, machine) + asked.spill_bytes
    from_l2 = kept * moved.unique + (1.0 - kept) * missed + moved.stored
    each = _memory_each(asked, machine, kept, memory_bytes / asked.programs, beside)
    near = max(
        (moved.requested + moved.common + moved.stored) / machine.near,
        asked.wavefronts * machine.wavefront,
    )
    added = asked.atomic_bytes / SECTOR / min(asked.atomic_lines, machine.slices)
    special = asked.total("transcendental") * asked.warps * asked.lanes
    return {
        "issue": cycles * _issued(asked, machine) * asked.warps / machine.issue,
        "special": cycles * special / machine.special,
        "tensor": cycles * sum(f / _rate(machine, key) for key, f in asked.flops.items()),
        "shared memory": cycles * asked.shared_bytes / machine.shared,
        "near": cycles
        * (near + asked.spill_bytes * machine.spill + asked.requests * machine.request),
        "l2": asked.programs * from_l2 / machine.l2,
        "memory": asked.programs * each / machine.memory,
        "atomics": asked.programs * added * machine.atomic / machine.clock,
    }


def _cached_share(filled: float) -> float:
    """The part of what is read again that a cache keeps, by how much of it is asked for."""
    return 1.0 / (1.0 + math.exp(max(-_STEEP, min(_STEEP, (filled - 1.0) / _KEPT_WIDTH))))


def _memory_each(asked: Demand, machine: Machine, kept: float, each: float, beside: int) -> float:
    """Bytes of memory that one program costs, with what has gone from the caches by then."""
    moved = asked.asked
    running = min(asked.programs, machine.units * beside)
    # What is read again has gone from the shared cache where all that run meanwhile fill it.
    between = running * min(moved.unique, each)
    gone = max(0.0, 1.0 - machine.l2_again / between) if between else 0.0
    each += (1.0 - kept) * gone * max(0.0, _reread(asked, machine) - moved.unique)
    slots = running * asked.spill_slots
    lost = max(0.0, 1.0 - machine.l2_bytes / slots) if slots else 0.0
    each += asked.spill_bytes * lost
    return each * (1.0 + machine.run * moved.per_run)


def _reread(asked: Demand, machine: Machine) -> float:
    """Bytes that a program asks for where its unit's own cache does not keep them.

    Neighbours that a thread loads one by one follow so closely that most are still found there.
    """
    return asked.asked.requested * (1.0 + (asked.again - 1.0) * machine.again)


def _crowded(asked: Demand, machine: Machine, beside: int) -> float:
    """How much longer memory takes a byte where more are under way, which are farther apart."""
    turns = max(1.0, *(phase.turns for phase in asked.phases)) if asked.phases else 1.0
    reached = beside * (asked.asked.unique + asked.asked.stored) / turns
    return 1.0 + machine.crowd * math.log1p(reached / machine.many)


def _issued(asked: Demand, machine: Machine) -> float:
    """Instructions of one warp; those that come from afar count as more than one.

    A loop's code that does not fit a scheduler's own instruction cache is fetched anew in each
    turn; what a warp runs through once is fetched ahead of it anyway.
    """
    total = 0.0
    for phase in asked.phases:
        code = phase.code_bytes if phase.turns >= _REPEATS else 0.0
        far = min(1.0, max(0.0, code / machine.code_near - 1.0))
        total += phase.turns * phase.instructions * (1.0 + machine.code_far * far)
    return total


def _alone(asked: Demand, machine: Machine, cold: float) -> tuple[float, float, float]:
    """Cycles of one program from its start to its end if nothing else kept it waiting.

    Those of them in which nothing but products keeps it; and those of its start and of the first
    turn of each of its loops, with nothing started ahead.
    """
    turns = [(phase.turns, *_turn(phase, machine, asked, cold)) for phase in asked.phases]
    alone = machine.start + sum(count * cycles for count, cycles, _, _ in turns)
    first = machine.start + sum(min(count, 1.0) * cycles for count, _, _, cycles in turns)
    return alone, sum(count * products for count, _, products, _ in turns), first


def _turn(phase: Phase, machine: Machine, asked: Demand, cold: float) -> tuple[float, float, float]:
    """Cycles of a turn, those of them that are nothing but a product's, and of the first turn."""
    is_new = any(kind in NEW for kind, _ in asked.flops)
    lanes = max(1.0, asked.warps / 4)
    busy = phase.instructions * machine.step * lanes
    growth = float((asked.warps / _USUAL_WARPS) ** machine.barrier_growth)
    busy += phase.barriers * machine.barrier * growth
    busy += phase.dots * (machine.new_product if is_new else machine.product)
    product = 0.0
    if phase.tensor_flops:
        rates = [_rate(machine, key) for key in asked.flops] or [1.0]
        product = phase.tensor_flops / max(rates)
    waiting = _waiting(phase, machine, cold)
    first = busy + product + waiting
    if phase.ahead > 0 and phase.turns > 1:
        # Products of the new kind run by themselves: the next turn's are prepared meanwhile,
        # but not where threads compute a factor in the turn itself.
        aside = is_new and not phase.made
        own = max(busy, waiting / phase.ahead)
        late = max(own, product) if aside else max(busy + product, waiting / phase.ahead)
        each = late + waiting / phase.turns
        return each, product if product > own else late - own, first
    return first, product, first


def _waiting(phase: Phase, machine: Machine, cold: float) -> float:
    """Cycles that a turn waits for its loads, if nothing was started ahead.

    Loads are under way together as far as there are registers that they fill; what does not fit
    waits for another round trip.
    """
    trip = machine.latency + phase.cold * cold * machine.cold
    if phase.by_descriptor:
        trip += machine.descriptor
    if phase.copied:
        return phase.depth * trip
    room = max(_LEAST_ROOM, phase.room - machine.spare)
    return phase.depth * trip * max(1.0 / phase.together, phase.words / room)


def _rate(machine: Machine, key: tuple[str, str]) -> float:
    return machine.tensor.get(key) or machine.tensor.get((key[0], "fp16")) or 128.0


def _norm(times: Iterable[float], power: float) -> float:
    values = [t for t in times if t > 0.0]
    most = max(values, default=0.0)
    return most * sum((t / most) ** power for t in values) ** (1 / power) if most else 0.0
