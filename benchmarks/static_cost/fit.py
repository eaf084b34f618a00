"""Chooses the estimate's constants by what an H200 measured, and says how kernels left out fare.

    python benchmarks/static_cost/fit.py [--leave-one-out] [--steps N] [--prior X]

Needs no GPU. ``costs/timing.py`` is written here a second time, over all points at once and with
gradients; each run first compares both, and stops where they differ. Constants start from the
round values of ``START``, not from the repository's. What is made small, summed over groups with
the same weight for each kernel: the logarithm of estimated over measured time, apart from a factor
that the group shares, with the weight on fast configurations; the cross entropy between orders;
and, weakly, the distance from the start. Kernels of ``score.SET_ASIDE`` are never fitted to.

``--leave-one-out`` fits once for each kernel on the others, and scores it by what that gave.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import score
import torch
from score import SET_ASIDE

from tilewright.costs.demand import Demand, demand
from tilewright.costs.machines import machine_of
from tilewright.costs.phases import NEW, Phase
from tilewright.costs.timing import Machine, spent
from tilewright.costs.traffic import memory_bytes
from tilewright.costs.workload import workload
from tilewright.hardware import chip
from tilewright.serialize import load
from tilewright.source import parse_module
from tilewright.targets.model import CompileReport
from tilewright.targets.occupancy import occupancy_of

START: Mapping[str, float] = {
    "memory": 4.1e6, "l2": 15e6, "near": 131, "near_bytes": 190e3, "shared": 127, "issue": 3.2,
    "special": 23, "launch_us": 4, "start": 115, "latency": 350, "cold": 700, "descriptor": 200,
    "spare": 12, "step": 1.1, "barrier": 90, "barrier_growth": 0.6, "product": 28,
    "new_product": 200, "atomic": 1.5, "request": 0.26, "wavefront": 0.73, "spill": 0.028,
    "dispatch": 1, "run": 8, "code": 0.062, "code_near": 8000, "code_far": 0.78, "l2_again": 14e6,
    "norm": 4, "overlap": 1.7, "new": 0.75, "old": 0.72,
}  # fmt: skip
"""Round values; ``new`` and ``old`` are parts of the peak rate of products."""
SETS = (
    (score.TIMES, score.REPORTS),
    (score.HERE / "h200_other_shapes.json.gz", score.HERE / "reports_other_shapes.json.gz"),
    (score.HERE / "h200_whole.json.gz", score.HERE / "reports_whole.json.gz"),
)
_NEAR, _SHARPNESS, _TRUTH, _BIAS, _NEVER = 0.25, 0.03, 0.01, 0.05, 1e6
Constants = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Case:
    """A measured point with what the estimate makes of it."""

    group: str
    kernel: str
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
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--prior", type=float, default=0.0005)
    options = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)  # more are slower: each step is small
    machine = machine_of(chip(score.TARGET))
    every = list(cases(machine))
    arrays = arrays_of(every)
    _check(every, arrays, machine)
    kernels = sorted({case.kernel for case in every})
    inside = [name for name in kernels if name not in SET_ASIDE]
    if options.leave_one_out:
        found = torch.zeros(len(every))
        for name in inside:
            rest = [other for other in inside if other != name]
            values = fit(every, arrays, machine, rest, options.steps, options.prior)
            mine = torch.tensor([case.kernel == name for case in every])
            found = torch.where(mine, estimated(arrays, machine, values), found)
            print(f"fitted without {name}", flush=True)
        print(_told("left out", every, found, inside))
        return 0
    values = fit(every, arrays, machine, inside, options.steps, options.prior)
    print("\n".join(f"{name}: {float(value):.4g}" for name, value in values.items()))
    found = estimated(arrays, machine, values)
    for told, names in (("fitted", inside), ("set aside", SET_ASIDE)):
        print(_told(told, every, found, names))
    return 0


def cases(machine: Machine) -> Sequence[Case]:
    """Every point that was timed, of all three sets."""
    modules, found = {}, []
    for number, (times, file) in enumerate(SETS):
        compiled = score.reports(file)
        for point in score.measured(times):
            name = point["kernel"]
            if name not in modules:
                path = score.file_of(name)
                modules[name] = parse_module(path.read_text("utf-8"), str(path))
            raw = {**compiled[score.specialization(point)], "launch": point["launch"]}
            report = load(CompileReport, raw)
            kernel, occupancy = modules[name].kernel(report.kernel), occupancy_of(report)
            if kernel is None or occupancy is None or not occupancy.programs:
                continue
            work = workload(modules[name], kernel, report.launch)
            moved = memory_bytes(
                work, report.launch, machine.units * occupancy.programs, machine.l2_bytes
            )
            group = f"{number} {name} {sorted(point['shape'].items())}"
            asked = demand(work, report)
            found.append(Case(group, name, point, asked, occupancy.programs, moved))
    return found


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
        "requested": moved.requested * asked.again, "asked": moved.requested + moved.common,
        "unique": moved.unique, "stored": moved.stored, "requests": asked.requests,
        "wavefronts": asked.wavefronts, "spilled": asked.spill_bytes, "slots": asked.spill_slots,
        "atomics": asked.atomics, "code": asked.code_bytes, "per_run": asked.per_run,
    }  # fmt: skip


def estimated(at: Arrays, machine: Machine, c: Constants) -> torch.Tensor:
    """Microseconds of all cases: ``timing.spent`` over arrays."""
    one = at.one
    on_unit = torch.ceil(one["programs"] / machine.units)
    beside = torch.minimum(one["resident"], on_unit)
    cold = (one["memory"] / (one["unique"] * one["programs"]).clamp(min=1e-9)).clamp(max=1.0)
    work = _norm(_work(at, machine, c, on_unit, beside), c["norm"])
    turns = (at.phase["turns"] * _turn(at, machine, c, cold)).sum(1)
    latency = torch.ceil(on_unit / beside) * (c["start"] + turns) / machine.clock
    total = _norm([work, latency], c["overlap"])
    total = torch.maximum(total, one["programs"] * c["dispatch"] / machine.clock)
    return total + c["launch_us"] + c["code"] * one["code"].clamp(max=machine.code_most) / 1024


def _work(
    at: Arrays, machine: Machine, c: Constants, on_unit: torch.Tensor, beside: torch.Tensor
) -> Sequence[torch.Tensor]:
    one, cycles = at.one, on_unit / machine.clock
    filled = beside * (one["unique"] + one["slots"]) / c["near_bytes"]
    kept = torch.sigmoid((1.0 - filled) / 0.05)
    from_l2 = kept * one["unique"] + (1 - kept) * (one["requested"] + one["spilled"])
    running = torch.minimum(one["programs"], machine.units * beside)
    each = one["memory"] / one["programs"]
    between = (running * torch.minimum(one["unique"], each)).clamp(min=1e-9)
    gone = (1 - c["l2_again"] / between).clamp(min=0)
    each = each + (1 - kept) * gone * (one["requested"] - one["unique"]).clamp(min=0)
    lost = (1 - machine.l2_bytes / (running * one["slots"]).clamp(min=1e-9)).clamp(min=0)
    each = (each + one["spilled"] * lost) * (1 + c["run"] * one["per_run"])
    near = torch.maximum(
        (one["asked"] + one["stored"]) / c["near"], one["wavefronts"] * c["wavefront"]
    )
    near = near + one["spilled"] * c["spill"] + one["requests"] * c["request"]
    special = (at.phase["turns"] * at.phase["transcendental"]).sum(1) * one["warps"] * 32
    peak = _peak(machine)
    tensor = one["new"] / (c["new"] * peak) + one["old"] / (c["old"] * peak) + one["fma"] / 256
    return (
        cycles * _issued(at, c) * one["warps"] / c["issue"], cycles * special / c["special"],
        cycles * tensor, cycles * one["shared"] / c["shared"], cycles * near,
        one["programs"] * (from_l2 + one["stored"]) / c["l2"],
        one["programs"] * each / c["memory"],
        one["programs"] * one["atomics"] * c["atomic"] / machine.clock / machine.units,
    )  # fmt: skip


def _peak(machine: Machine) -> float:
    return machine.tensor["wgmma", "fp16"] / _own(machine)["new"]


def _issued(at: Arrays, c: Constants) -> torch.Tensor:
    phase = at.phase
    code = torch.where(phase["turns"] >= 2, phase["code_bytes"], at.one["code"][:, None])
    far = (code / c["code_near"] - 1).clamp(0, 1)
    return (phase["turns"] * phase["instructions"] * (1 + c["code_far"] * far)).sum(1)


def _turn(at: Arrays, machine: Machine, c: Constants, cold: torch.Tensor) -> torch.Tensor:
    phase, warps, peak = at.phase, at.one["warps"][:, None], _peak(machine)
    is_new = (at.one["new"] > 0)[:, None]
    busy = phase["instructions"] * c["step"] * (warps / 4).clamp(min=1)
    busy = busy + phase["barriers"] * c["barrier"] * (warps / 8) ** c["barrier_growth"]
    busy = busy + phase["dots"] * torch.where(is_new, c["new_product"], c["product"])
    old = torch.where((at.one["old"] > 0)[:, None], c["old"] * peak, torch.tensor(256.0))
    product = phase["tensor_flops"] / torch.where(is_new, c["new"] * peak, old)
    trip = c["latency"] + phase["cold"] * cold[:, None] * c["cold"]
    trip = phase["depth"] * (trip + phase["by_descriptor"] * c["descriptor"])
    room = (phase["room"] - c["spare"]).clamp(min=4)
    trips = torch.maximum(1 / phase["together"], phase["words"] / room)
    waiting = trip * torch.where(phase["copied"] > 0, torch.tensor(1.0), trips)
    runs_ahead = (phase["ahead"] > 0) & (phase["turns"] > 1)
    ahead = torch.where(runs_ahead, phase["ahead"], 1.0)
    beside = torch.where(is_new, torch.maximum(busy, product), busy + product)
    late = torch.maximum(beside, waiting / ahead) + waiting / phase["turns"].clamp(min=1)
    return torch.where(runs_ahead, late, busy + product + waiting)


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
    }
    return {name: own.get(name) or float(getattr(machine, name)) for name in START}


def _check(every: Sequence[Case], arrays: Arrays, machine: Machine) -> None:
    """Stop if this file's form is not the package's."""
    own = {name: torch.tensor(value) for name, value in _own(machine).items()}
    ours = estimated(arrays, machine, own)
    for case, value in zip(every, ours.tolist(), strict=True):
        theirs = spent(case.asked, machine, case.resident, case.memory).us
        if abs(math.log(value / theirs)) > 0.001:
            raise SystemExit(f"{case.group} {case.point['config']}: {value:.3f}, not {theirs:.3f}")


def fit(
    every: Sequence[Case], arrays: Arrays, machine: Machine, kernels: Sequence[str], steps: int,
    prior: float,
) -> Constants:  # fmt: skip
    """Constants by the points of some kernels."""
    start = {name: math.log(value) for name, value in START.items()}
    moved = torch.zeros(len(start), requires_grad=True)
    rate = 0.03
    optimizer = torch.optim.Adam([moved], lr=rate)
    lost = _loss(every, arrays, kernels)
    best, kept = math.inf, moved.detach().clone()
    for step in range(steps):
        if step == int(0.7 * steps):
            optimizer.param_groups[0]["lr"] = rate / 4
        values = _constants(start, moved)
        loss = lost(torch.log(estimated(arrays, machine, values))) + prior * (moved**2).sum()
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
    shared: dict[str, int] = {}
    for numbers in members.values():
        name = every[numbers[0]].kernel
        shared[name] = shared.get(name, 0) + 1
    parts = torch.tensor(
        [1.0 / (shared[every[n[0]].kernel] * len(shared)) for n in members.values()]
    )
    most = max(map(len, members.values()))
    at = torch.tensor([[*n, *[n[0]] * (most - len(n))] for n in members.values()])
    real = torch.tensor([[i < len(n) for i in range(most)] for n in members.values()])
    measured = torch.log(arrays.one["us"])[at]

    def lost(found: torch.Tensor) -> torch.Tensor:
        return (parts * _group_losses(found[at], measured, real)).sum()

    return lost


def _group_losses(found: torch.Tensor, measured: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """What each group adds: rows are groups, and ``real`` are the points that they have."""
    behind = (measured - measured.min(1, keepdim=True).values).masked_fill(~real, _NEVER)
    weights = torch.softmax(-behind / _NEAR, 1)
    over = found - measured
    mean = (weights * over).sum(1, keepdim=True)
    spread = (weights * torch.sqrt((over - mean) ** 2 + 1e-4)).sum(1) + _BIAS * mean[:, 0].abs()
    truth = torch.softmax(-behind / _TRUTH, 1)
    orders = torch.log_softmax(-found.masked_fill(~real, _NEVER) / _SHARPNESS, 1)
    entropy = -(truth * torch.log(truth.clamp(min=1e-30))).sum(1)
    return spread + _SHARPNESS * (-(truth * orders.masked_fill(~real, 0.0)).sum(1) - entropy)


def _told(name: str, every: Sequence[Case], found: torch.Tensor, kernels: Sequence[str]) -> str:
    lines = []
    for told, whole in (("parts of lists", False), ("whole lists", True)):
        pairs: dict[str, list[tuple[Mapping[str, Any], float]]] = {}
        for case, us in zip(every, found.tolist(), strict=True):
            if case.kernel in kernels and case.group.startswith("2") == whole:
                pairs.setdefault(case.group, []).append((case.point, us))
        groups = [score.group_of(group, some) for group, some in pairs.items()]
        lines.append(score.summed(f"{name}, {told}", groups))
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
