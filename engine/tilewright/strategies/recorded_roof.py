"""What a recorded run is compared with: the peaks of its chip, and estimates of what it tried."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from tilewright.costs import Estimate
from tilewright.devices.model import DeviceInfo
from tilewright.evaluation.model import StepName
from tilewright.evaluation.physics import case_roof
from tilewright.hardware.chips import chip
from tilewright.hardware.model import Chip, HardwareError
from tilewright.problems.model import Problem
from tilewright.serialize import dump, load
from tilewright.source import parse_module
from tilewright.store.records import Records, RunRecord
from tilewright.strategies.grades import best_estimates
from tilewright.targets.model import CompileReport, Target

Json = Mapping[str, Any]
MOST_ESTIMATED = 64
"""Trials that are estimated; of longer runs those kept, then the first ones."""


def case_roof_of(records: Records, record: RunRecord, trials: Sequence[Json]) -> dict[str, Any]:
    """The work and the peaks that times are compared with; ``missing`` says why there are none."""
    case_name = next((t["speedup"]["case"] for t in trials if t.get("speedup")), None)
    if case_name is None:
        return {"missing": "no trial was timed"}
    problem, device = record.request.get("problem"), record.request.get("device")
    text = records.text(problem) if problem else None
    if text is None or device is None:
        return {"missing": "the record holds no problem"}
    cases = load(Problem, json.loads(text)).cases.values()
    case = next((one for several in cases for one in several if one.name == case_name), None)
    if case is None:
        return {"missing": f"the problem has no case {case_name}"}
    found = case_roof(case, load(DeviceInfo, device))
    return {"missing": found} if isinstance(found, str) else {**dump(found), "case": case_name}


def estimates(
    records: Records, record: RunRecord, trials: Sequence[Json], evaluations: Mapping[str, Json]
) -> dict[str, Any]:
    """The estimated time of the original (trial 0) and of each trial that compiled.

    Nothing of it is measured. Of a text: microseconds, the tensor operations and the bytes of its
    launches, and their share of the chip's roofline; ``peak_flop`` and ``peak_bytes`` a second, by
    the chip's data sheet. ``missing`` says why there is none.
    """
    on = _chip_of(record)
    if on is None:
        return _by_trials(trials)
    original = record.request.get("text")
    named = [(0, original), *((t["number"], t.get("candidate")) for t in _chosen(trials))]
    found: list[dict[str, Any]] = []
    rates: set[str] = set()
    for number, name in named:
        text = records.text(name) if name else None
        evaluation = evaluations.get(str(name))
        if text is None or evaluation is None:
            continue
        sums = best_estimates(parse_module(text, record.path), _reports(evaluation, on.id))
        if sums:
            rates |= {one.rate for one in sums if one.rate}
            found.append({"trial": number, **_summed(sums)})
    if not found:
        return {"missing": "no text on record was compiled for it, or none can be estimated"}
    peaks = {rate: on.peaks.get(rate) or 0.0 for rate in rates}
    rate = max(peaks, key=lambda rate: peaks[rate], default=None)
    return {
        "chip": on.chip,
        "peak_flop": peaks[rate] * 1e12 if rate else None,
        "peak_bytes": on.bandwidth_gbs * 1e9 if on.bandwidth_gbs else None,
        "rate": rate,
        "texts": found,
        "left_out": max(0, len(trials) - MOST_ESTIMATED),
    }


def _by_trials(trials: Sequence[Json]) -> dict[str, Any]:
    """What the cost model of NKI kernels said as they were tried: times, of nothing else."""
    known = [trial for trial in trials if trial.get("estimate")]
    if not known:
        return {"missing": "there is no estimate for this target"}
    nothing = {"flop": None, "bytes": None, "roof_percent": None}
    first: Json = known[0]["estimate"]
    before = [{"trial": 0, "us": first["before_us"][1], **nothing}]
    after = [
        {"trial": one["number"], "us": one["estimate"]["after_us"][1], **nothing} for one in known
    ]
    peaks = {"peak_flop": None, "peak_bytes": None, "rate": None}
    return {"chip": first["target"], **peaks, "texts": [*before, *after], "left_out": 0}


def _chip_of(record: RunRecord) -> Chip | None:
    target = record.request.get("target")
    try:
        return chip(load(Target, target)) if isinstance(target, Mapping) else None
    except HardwareError:
        return None


def _chosen(trials: Sequence[Json]) -> list[Json]:
    first = sorted(trials, key=lambda trial: (not trial["kept"], trial["number"]))
    return sorted(first[:MOST_ESTIMATED], key=lambda trial: int(trial["number"]))


def _reports(evaluation: Json, target: str) -> list[CompileReport]:
    """Those of a text that compiled for the chip; none where another version wrote them."""
    steps = (step for step in evaluation["steps"] if step["step"] == StepName.COMPILE.value)
    found = [one for step in steps for one in step["data"].get("reports", ()) if one["ok"]]
    try:
        loaded = [load(CompileReport, one) for one in found]
    except ValidationError:
        return []
    return [one for one in loaded if str(one.target) == target]


def _summed(sums: Sequence[Estimate]) -> dict[str, float]:
    """One after the other: times, operations and bytes add up."""
    us = sum(one.us for one in sums)
    return {
        "us": us,
        "flop": sum(one.flop for one in sums),
        "bytes": sum(one.bytes for one in sums),
        "roof_percent": sum(one.roofline_percent * one.us for one in sums) / us,
    }
