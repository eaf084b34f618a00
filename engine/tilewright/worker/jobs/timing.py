"""``time``: the candidate against the original, interleaved in one process on one device."""

from __future__ import annotations

import time
from typing import Any

import torch

from .. import modules, tensors
from ..clocks import Clock, HostClock, clock_for, holding
from ..contest import InputPool, Pace, Version, block, warm_up
from . import running

_WARM_UP_S = 0.3
_MIN_PAIRS = 8
_MAX_PAIRS = 200
_NULL_EVERY = 2


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Pairs of times, pairs of the original against itself, and the last timed call's outputs."""
    with running.surroundings(job, {}), torch.no_grad(), holding(job.get("gpu_lock")) as waited:
        return {**_contest(job), "waited_s": waited}


def _contest(job: dict[str, Any]) -> dict[str, Any]:
    device = "cpu" if job["device"] == running.INTERPRETER else job["device"]
    clock = clock_for(device, job.get("flush_bytes"))
    pristine = tensors.load(job["inputs"], device)
    original, candidate, mutates = _versions(job, clock, pristine, device)
    warm_up(clock, (original, candidate), _WARM_UP_S)
    pace = Pace(clock, original)
    pairs, nulls = _pairs(clock, original, candidate, pace, float(job["budget_s"]))
    outputs, tree = _last_outputs(job, candidate, pristine, mutates)
    return {
        "pairs": pairs,
        "null_pairs": nulls,
        "candidate_outputs": outputs,
        "output_tree": tree,
        "device_name": clock.device_name,
        "clock_note": clock.note,
        "repeats": pace.repeats,
        "input_sets": len(candidate.pool.sets),
    }


def _versions(
    job: dict[str, Any], clock: Clock | HostClock, pristine: dict[str, Any], device: str
) -> tuple[Version, Version, bool]:
    """Both versions after their first call, and whether a call changes its inputs."""
    state = tensors.load(job["state"], device) if job.get("state") else None
    module = modules.load_for(job, job["original"])
    original, model = modules.build_call(job, module, device, state)
    if state is None and model is not None:
        state = model.state_dict()
    module = modules.load_for(job, job["candidate"])
    candidate, _ = modules.build_call(job, module, device, state)
    pool = InputPool(pristine, clock.free_bytes())
    versions = Version(original, pool), Version(candidate, pool)
    for version in versions:
        version()
    clock.synchronize()
    changed = any(
        not running.same_bits(value, copy)
        for copies in pool.sets
        for value, copy in zip(pristine.values(), copies, strict=True)
        if isinstance(value, torch.Tensor)
    )
    return *versions, changed


def _pairs(
    clock: Clock | HostClock, original: Version, candidate: Version, pace: Pace, budget_s: float
) -> tuple[list[list[float]], list[list[float]]]:
    pairs: list[list[float]] = []
    nulls: list[list[float]] = []
    end = time.perf_counter() + budget_s
    while len(pairs) < _MAX_PAIRS:
        if len(pairs) >= _MIN_PAIRS and time.perf_counter() > end:
            break
        turned = len(pairs) % 2 == 1
        original.pool.restore()
        pairs.append(list(block(clock, original, candidate, pace, turned)))
        if len(pairs) % _NULL_EVERY == 0:
            original.pool.restore()
            nulls.append(list(block(clock, original, original.twin(), pace, turned)))
    return pairs, nulls


def _last_outputs(
    job: dict[str, Any], candidate: Version, pristine: dict[str, Any], mutates: bool
) -> tuple[tensors.Manifest, dict[str, Any]]:
    """What the last timed call returned; an in-place function is called once more, afresh."""
    changed: dict[str, Any] = {}
    returned = candidate.returned
    if mutates:
        arguments = [
            tensors.copy_of(value) if isinstance(value, torch.Tensor) else value
            for value in pristine.values()
        ]
        returned = candidate.call_on(arguments)
        running.synchronize(job["device"])
        changed = running.changed_inputs(job, dict(zip(pristine, arguments, strict=True)))
    leaves, tree = tensors.flatten(returned)
    saved = tensors.save(leaves, job["out"], "timed")
    return [*saved, *tensors.save(changed, job["out"], "changed")], tree
