"""Chooses the estimate's constants by what an H200 measured, and says how kernels left out fare.

    python benchmarks/static_cost/fit.py [--leave-one-out] [--steps N] [--prior X]

Needs no GPU. ``costs/timing.py`` is written here a second time, over all points at once and with
gradients; each run first compares both, and stops where they differ. Constants start from the
round values of ``START``, not from the repository's. What is made small, summed over groups with
the same weight for each kernel, whole lists counting twice: the logarithm of estimated over
measured time, apart from a factor that the group shares, with the weight on fast configurations;
the cross entropy between orders; how many are predicted before the best, of a tenth; and, weakly,
the distance from the start. Parts of lists are left out where the whole list was timed.

``--leave-one-out`` fits once for each kernel on the others, and scores it by what that gave.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import score
import torch
from launch_key import launch_key
from losses import group_losses

from tilewright.costs.boxes import SECTOR
from tilewright.costs.demand import Demand, demand
from tilewright.costs.estimate import machine_of
from tilewright.costs.phases import NEW, Phase
from tilewright.costs.timing import Machine, launch_time
from tilewright.costs.traffic import memory_bytes
from tilewright.costs.workload import workload
from tilewright.hardware.chips import chip
from tilewright.serialize import load
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.targets.model import CompileReport
from tilewright.targets.occupancy import occupancy_of

START: Mapping[str, float] = {
    "memory": 5.5e6, "l2": 20e6, "near": 140, "near_bytes": 150e3, "shared": 140, "issue": 4.5,
    "special": 25, "launch_us": 4.2, "start": 80, "latency": 250, "cold": 500, "descriptor": 200,
    "spare": 15, "step": 0.37, "barrier": 125, "barrier_growth": 0.5, "product": 28,
    "new_product": 240, "atomic": 5, "slices": 400, "request": 0.26, "wavefront": 0.65,
    "spill": 0.03, "dispatch": 1.06, "run": 10, "again": 0.3, "crowd": 0.08, "many": 32e3,
    "code": 0.055, "code_near": 10000, "code_far": 0.6, "l2_again": 26e6, "norm": 2,
    "overlap": 1.8, "overlap_ahead": 1.4, "overlap_growth": 0.9,
    "overlap_rounds": 1.2, "whole": 1.7, "ramp": 0.35, "new": 0.9, "old": 0.9,
}  # fmt: skip
"""Round values; ``new`` and ``old`` are parts of the peak rate of products, growths are one more
than in ``Machine``, and ``whole`` is the odds of the part that counts in whole rounds."""
LOOSE = ("atomic", "slices", "run", "again", "crowd", "many", "overlap_rounds")
"""Constants that are held to their start a tenth as much."""
Constants = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Case:
    """A measured point with what the estimate makes of it."""

    group: str
    kernel: str
    is_whole: bool
    point: Mapping[str, Any]
    asked: Demand
    resident: int
    memory: float


@dataclass(frozen=True)
class Arrays:
    """All cases: by name, one number a case; of phases, one row a case."""

    one: Mapping[str, torch.Tensor]
    phase: Mapping[str, torch.Tensor]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leave-one-out", action="store_true")
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--prior", type=float, default=0.005)
    options = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)  # more are slower: each step is small
    machine = machine_of(chip(score.TARGET))
    every = list(cases(machine))
    arrays = arrays_of(every)
    _check(every, arrays, machine)
    inside = sorted({case.kernel for case in every})
    if options.leave_one_out:
        found = torch.zeros(len(every))
        for name in inside:
            rest = [other for other in inside if other != name]
            values = fit(every, arrays, machine, rest, options.steps, options.prior)
            mine = torch.tensor([case.kernel == name for case in every])
            found = torch.where(mine, estimated(arrays, machine, values), found)
            print(f"fitted without {name}", flush=True)
        print(_told("left out", every, found))
        return 0
    values = fit(every, arrays, machine, inside, options.steps, options.prior)
    print("\n".join(f"{name}: {float(value):.4g}" for name, value in values.items()))
    found = estimated(arrays, machine, values)
    print(_told("fitted", every, found))
    return 0


def cases(machine: Machine) -> Sequence[Case]:
    """Every point that was timed, of all sets; whole lists in place of their parts."""
    modules: dict[str, Module] = {}
    found = []
    for is_whole, times, file in score.SETS:
        compiled = score.reports(file)
        for point in score.measured(times):
            name = point["kernel"]
            if name not in modules:
                path = score.file_of(name)
                modules[name] = parse_module(path.read_text("utf-8"), str(path))
            raw = {**compiled[launch_key(point)], "launch": point["launch"]}
            group = f"{name} {sorted(point['shape'].items())}"
            made = _reckoned(modules[name], load(CompileReport, raw), machine)
            if made is not None:
                found.append(Case(group, name, is_whole, point, *made))
    listed = {case.group for case in found if case.is_whole}
    kept = [case for case in found if case.is_whole or case.group not in listed]
    times_of: dict[str, list[float]] = {}
    for case in kept:
        times_of.setdefault(case.group, []).append(case.point["us"])
    apart = {g for g, us in times_of.items() if max(us) >= score.LEAST_SPREAD * min(us)}
    return [case for case in kept if case.group in apart]


def _reckoned(
    module: Module, report: CompileReport, machine: Machine
) -> tuple[Demand, int, float] | None:
    kernel, occupancy = module.kernel(report.kernel), occupancy_of(report)
    if kernel is None or occupancy is None or not occupancy.programs:
        return None
    work = workload(module, kernel, report.launch)
    concurrent = machine.units * occupancy.programs
    moved = memory_bytes(work, report.launch, concurrent, machine.l2_read)
    return demand(work, report, concurrent=concurrent), occupancy.programs, moved


def arrays_of(every: Sequence[Case]) -> Arrays:
    """The numbers of all cases that the form uses."""
    one: dict[str, list[float]] = {}
    for case in every:
        for name, value in _numbers(case).items():
            one.setdefault(name, []).append(value)
    most = max(len(case.asked.phases) for case in every)
    none = Phase(turns=0.0, room=1e9, cold=0.0)
    padded = [[*case.asked.phases, *[none] * (most - len(case.asked.phases))] for case in every]
    phase = {
        field.name: torch.tensor(
            [[min(1e9, float(getattr(one_, field.name))) for one_ in row] for row in padded]
        )
        for field in fields(Phase)
    }
    return Arrays({name: torch.tensor(values) for name, values in one.items()}, phase)


def _numbers(case: Case) -> Mapping[str, float]:
    asked, moved = case.asked, case.asked.asked
    new = sum(flops for (kind, _), flops in asked.flops.items() if kind in NEW)
    plain = sum(flops for (kind, _), flops in asked.flops.items() if kind == "fma")
    return {
        "us": case.point["us"], "resident": case.resident, "memory": case.memory,
        "programs": asked.programs, "warps": asked.warps, "new": new, "fma": plain,
        "old": sum(asked.flops.values()) - new - plain, "shared": asked.shared_bytes,
        "requested": moved.requested, "again": asked.again - 1.0,
        "asked": moved.requested + moved.common,
        "unique": moved.unique, "stored": moved.stored, "requests": asked.requests,
        "wavefronts": asked.wavefronts, "spilled": asked.spill_bytes, "slots": asked.spill_slots,
        "atomics": asked.atomic_bytes / SECTOR, "added": asked.atomic_lines,
        "code": asked.code_bytes, "per_run": moved.per_run,
    }  # fmt: skip


def estimated(at: Arrays, machine: Machine, c: Constants) -> torch.Tensor:
    """Microseconds of all cases: ``timing.launch_time`` over arrays."""
    one = at.one
    on_unit = torch.ceil(one["programs"] / machine.units)
    beside = torch.minimum(one["resident"], on_unit)
    cold = (one["memory"] / (one["unique"] * one["programs"]).clamp(min=1e-9)).clamp(max=1.0)
    full = one["programs"] / machine.units / beside
    work = _norm(_work(at, machine, c, on_unit, beside), c["norm"])
    turn, opening = _turn(at, machine, c, cold)
    alone = (c["start"] + (at.phase["turns"] * turn).sum(1)) / machine.clock
    first = (c["start"] + (at.phase["turns"].clamp(max=1.0) * opening).sum(1)) / machine.clock
    whole = c["whole"] / (1 + c["whole"])
    rounds = whole * torch.ceil(on_unit / beside) + (1 - whole) * full
    late = _overlap(at, c, beside, full)
    total = _norm([work, rounds * alone], late) + c["ramp"] * first
    total = torch.maximum(total, one["programs"] * c["dispatch"] / machine.clock)
    return total + c["launch_us"] + c["code"] * one["code"].clamp(max=machine.code_most) / 1024


def _overlap(at: Arrays, c: Constants, beside: torch.Tensor, rounds: torch.Tensor) -> torch.Tensor:
    warps, runs_ahead = beside * at.one["warps"] / 16, at.phase["copied"].amax(1) > 0
    apart = ((1 + rounds) / 4) ** (c["overlap_rounds"] - 1)
    grown = (c["overlap"] - 1) * warps ** (c["overlap_growth"] - 1) * apart
    return torch.where(runs_ahead, c["overlap_ahead"], 1 + grown)


def _work(
    at: Arrays, machine: Machine, c: Constants, on_unit: torch.Tensor, beside: torch.Tensor
) -> Sequence[torch.Tensor]:
    one, cycles = at.one, on_unit / machine.clock
    filled = beside * (one["unique"] + one["slots"]) / c["near_bytes"]
    kept = torch.sigmoid((1.0 - filled) / 0.05)
    from_l2 = kept * one["unique"] + (1 - kept) * (_reread(at, c) + one["spilled"])
    near = torch.maximum(
        (one["asked"] + one["stored"]) / c["near"], one["wavefronts"] * c["wavefront"]
    )
    near = near + one["spilled"] * c["spill"] + one["requests"] * c["request"]
    special = (at.phase["turns"] * at.phase["transcendental"]).sum(1) * one["warps"] * 32
    peak = _peak(machine)
    tensor = one["new"] / (c["new"] * peak) + one["old"] / (c["old"] * peak) + one["fma"] / 256
    each = _memory_each(at, machine, c, kept, beside)
    added = one["atomics"] / torch.minimum(one["added"], c["slices"])
    return (
        cycles * _issued(at, c) * one["warps"] / c["issue"], cycles * special / c["special"],
        cycles * tensor, cycles * one["shared"] / c["shared"], cycles * near,
        one["programs"] * (from_l2 + one["stored"]) / c["l2"],
        one["programs"] * each / c["memory"],
        one["programs"] * added * c["atomic"] / machine.clock,
    )  # fmt: skip


def _memory_each(
    at: Arrays, machine: Machine, c: Constants, kept: torch.Tensor, beside: torch.Tensor
) -> torch.Tensor:
    one = at.one
    running = torch.minimum(one["programs"], machine.units * beside)
    each = one["memory"] / one["programs"]
    between = (running * torch.minimum(one["unique"], each)).clamp(min=1e-9)
    gone = (1 - c["l2_again"] / between).clamp(min=0)
    each = each + (1 - kept) * gone * (_reread(at, c) - one["unique"]).clamp(min=0)
    lost = (1 - machine.l2_bytes / (running * one["slots"]).clamp(min=1e-9)).clamp(min=0)
    each = (each + one["spilled"] * lost) * (1 + c["run"] * one["per_run"])
    reached = beside * (one["unique"] + one["stored"]) / at.phase["turns"].amax(1).clamp(min=1)
    return each * (1 + c["crowd"] * torch.log1p(reached / c["many"]))


def _reread(at: Arrays, c: Constants) -> torch.Tensor:
    return at.one["requested"] * (1 + at.one["again"] * c["again"])


def _peak(machine: Machine) -> float:
    return machine.tensor["wgmma", "fp16"] / _own(machine)["new"]


def _issued(at: Arrays, c: Constants) -> torch.Tensor:
    phase = at.phase
    code = torch.where(phase["turns"] >= 2, phase["code_bytes"], torch.tensor(0.0))
    far = (code / c["code_near"] - 1).clamp(0, 1)
    return (phase["turns"] * phase["instructions"] * (1 + c["code_far"] * far)).sum(1)


def _turn(
    at: Arrays, machine: Machine, c: Constants, cold: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    phase, warps, peak = at.phase, at.one["warps"][:, None], _peak(machine)
    is_new = (at.one["new"] > 0)[:, None]
    busy = phase["instructions"] * c["step"] * (warps / 4).clamp(min=1)
    busy = busy + phase["barriers"] * c["barrier"] * (warps / 8) ** c["barrier_growth"]
    busy = busy + phase["dots"] * torch.where(is_new, c["new_product"], c["product"])
    old = torch.where((at.one["old"] > 0)[:, None], c["old"] * peak, torch.tensor(256.0))
    product = phase["tensor_flops"] / torch.where(is_new, c["new"] * peak, old)
    trip = c["latency"] + phase["cold"] * cold[:, None] * c["cold"]
    trip = phase["depth"] * (trip + phase["by_descriptor"] * c["descriptor"])
    room = (phase["room"] - c["spare"]).clamp(min=8)
    trips = torch.maximum(1 / phase["together"], phase["words"] / room)
    waiting = trip * torch.where(phase["copied"] > 0, torch.tensor(1.0), trips)
    runs_ahead = (phase["ahead"] > 0) & (phase["turns"] > 1)
    ahead = torch.where(runs_ahead, phase["ahead"], 1.0)
    aside = is_new & (phase["made"] == 0)
    beside = torch.where(aside, torch.maximum(busy, product), busy + product)
    late = torch.maximum(beside, waiting / ahead) + waiting / phase["turns"].clamp(min=1)
    first = busy + product + waiting
    return torch.where(runs_ahead, late, first), first


def _norm(parts: Sequence[torch.Tensor], power: torch.Tensor) -> torch.Tensor:
    every = torch.stack(list(parts)).clamp(min=1e-9)
    most = every.max(0).values
    return most * ((every / most) ** power).sum(0) ** (1 / power)


def _own(machine: Machine) -> Mapping[str, float]:
    """The repository's constants by the names that are fitted."""
    peak = 4096.0
    own = {
        "new": machine.tensor["wgmma", "fp16"] / peak,
        "old": machine.tensor["mma", "fp16"] / peak,
        "overlap_growth": 1.0 + machine.overlap_growth,
        "overlap_rounds": 1.0 + machine.overlap_rounds,
        "whole": machine.whole / (1.0 - machine.whole),
    }
    return {name: own.get(name) or float(getattr(machine, name)) for name in START}


def _check(every: Sequence[Case], arrays: Arrays, machine: Machine) -> None:
    """Stop if this file's form is not the package's."""
    own = {name: torch.tensor(value) for name, value in _own(machine).items()}
    ours = estimated(arrays, machine, own)
    for case, value in zip(every, ours.tolist(), strict=True):
        theirs = launch_time(case.asked, machine, case.resident, case.memory).us
        if abs(math.log(value / theirs)) > 0.001:
            raise SystemExit(f"{case.group} {case.point['config']}: {value:.3f}, not {theirs:.3f}")


def fit(
    every: Sequence[Case], arrays: Arrays, machine: Machine, kernels: Sequence[str], steps: int,
    prior: float,
) -> Constants:  # fmt: skip
    """Constants by the points of some kernels."""
    start = {name: math.log(value) for name, value in START.items()}
    moved = torch.zeros(len(start), requires_grad=True)
    held = torch.tensor([0.1 if name in LOOSE else 1.0 for name in start])
    rate = 0.03
    optimizer = torch.optim.Adam([moved], lr=rate)
    lost = _loss(every, arrays, kernels)
    best, kept = math.inf, moved.detach().clone()
    for step in range(steps):
        if step == int(0.7 * steps):
            optimizer.param_groups[0]["lr"] = rate / 4
        values = _constants(start, moved)
        loss = lost(torch.log(estimated(arrays, machine, values))) + prior * (held * moved**2).sum()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if loss.item() < best:
            best, kept = loss.item(), moved.detach().clone()
        optimizer.step()
    return _constants(start, kept)


def _constants(start: Mapping[str, float], moved: torch.Tensor) -> Constants:
    return {name: torch.exp(at + moved[i]) for i, (name, at) in enumerate(start.items())}


def _loss(
    every: Sequence[Case], arrays: Arrays, kernels: Sequence[str]
) -> Callable[[torch.Tensor], torch.Tensor]:
    members: dict[str, list[int]] = {}
    for number, case in enumerate(every):
        if case.kernel in kernels:
            members.setdefault(case.group, []).append(number)
    heads = [every[numbers[0]] for numbers in members.values()]
    weights = [2.0 if head.is_whole else 1.0 for head in heads]
    shared: dict[str, float] = {}
    for head, weight in zip(heads, weights, strict=True):
        shared[head.kernel] = shared.get(head.kernel, 0.0) + weight
    parts = torch.tensor(
        [w / shared[head.kernel] / len(shared) for head, w in zip(heads, weights, strict=True)]
    )
    most = max(map(len, members.values()))
    at = torch.tensor([[*n, *[n[0]] * (most - len(n))] for n in members.values()])
    real = torch.tensor([[i < len(n) for i in range(most)] for n in members.values()])
    measured = torch.log(arrays.one["us"])[at]

    def lost(found: torch.Tensor) -> torch.Tensor:
        return (parts * group_losses(found[at], measured, real)).sum()

    return lost


def _told(name: str, every: Sequence[Case], found: torch.Tensor) -> str:
    lines = []
    for told, whole in (("parts of lists", False), ("whole lists", True)):
        pairs: dict[tuple[str, str], list[tuple[Mapping[str, Any], float]]] = {}
        for case, us in zip(every, found.tolist(), strict=True):
            if case.is_whole == whole:
                pairs.setdefault((case.kernel, case.group), []).append((case.point, us))
        groups = {key: score.group_of(key[1], some) for key, some in pairs.items()}
        for kernel in sorted({kernel for kernel, _ in groups}):
            lines.append(_row(kernel, [g for key, g in groups.items() if key[0] == kernel]))
        lines.append(score.summed(f"{name}, {told}", list(groups.values())))
    return "\n".join(lines)


def _row(kernel: str, groups: Sequence[score.Group]) -> str:
    """A kernel's lists: how many, of how many configurations, and how they fare."""
    points = sorted(g.points for g in groups)
    correlation = statistics.median(g.rank_correlation for g in groups)
    cells = (
        kernel, len(groups), f"{points[0]}-{points[-1]}", f"{correlation:.2f}",
        sum(g.top for g in groups), sum(g.tied for g in groups),
        f"{max(g.lost for g in groups):.1%}",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    raise SystemExit(main())
