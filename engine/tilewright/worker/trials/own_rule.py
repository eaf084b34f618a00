"""The verdict of a benchmark itself, next to Tilewright's, which it does not change.

The rule of NKIBench: for a few seeds, each output's error against the reference in its own
precision has a Euclidean norm below a share of the reference's. One norm for a whole output does
not see elements that are small next to the others, and the inputs are of one distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch

from .baselines import Base, Originals, message_of
from .runner_handle import CandidateEndedError, Handle

if TYPE_CHECKING:
    from ..messages.trial import Check, TrialJob

_BLOCK = 1 << 24


def verdict(
    originals: Originals, candidate: Handle, job: TrialJob, patience_s: float
) -> dict[str, Any]:
    """What the rule of a job says of its candidate: ``passed``, ``message``, ``largest_error``
    (relative, of any output and seed), ``seeds``.

    Raises RunnerEndedError where the reference fails.
    """
    rule = job["own_rule"]
    asked = {
        **job["checks"][0], "values": "normal", "layout": "plain", "order": "forward",
        "guard": False,
    }  # fmt: skip
    largest = 0.0
    made: list[int] = []
    for seed in rule["seeds"]:
        check = cast("Check", {**asked, "exact_seed": seed})
        base = Base(originals.inputs(job, check))
        with originals.lock:
            wanted = originals.reference_results(job, base, check)
        try:
            given = originals.results(candidate, base, message_of(check), patience_s)
        except CandidateEndedError as ended:
            return _result_record(
                rule, largest, made, f"seed {seed}: the candidate failed: {ended}"
            )
        made.append(seed)
        relative, wrong = _error(wanted.tensors, given.tensors)
        largest = max(largest, relative)
        if wrong or not relative < rule["tolerance"]:
            why = wrong or f"relative error {relative:.3g}, {rule['tolerance']:g} is the limit"
            return _result_record(rule, largest, made, f"seed {seed}: {why}")
    return _result_record(rule, largest, made, "")


def _result_record(
    rule: Mapping[str, Any], largest: float, seeds: list[int], message: str
) -> dict[str, Any]:
    return {
        "passed": not message, "message": message, "largest_error": largest, "seeds": seeds,
        "name": rule["name"], "tolerance": rule["tolerance"],
    }  # fmt: skip


def _error(
    wanted: Sequence[torch.Tensor], given: Sequence[torch.Tensor]
) -> tuple[float, str]:  # fmt: skip
    """(the largest relative error of an output, what is wrong other than that)."""
    if len(wanted) != len(given):
        return math.inf, f"{len(given)} outputs, the reference has {len(wanted)}"
    largest = 0.0
    for one, other in zip(wanted, given, strict=True):
        if one.shape != other.shape:
            return math.inf, f"shape {tuple(other.shape)}, the reference's is {tuple(one.shape)}"
        error, norm = _norms(one.reshape(-1), other.reshape(-1))
        largest = max(largest, error / norm if norm and math.isfinite(error) else math.inf)
    return largest, ""


def _norms(wanted: torch.Tensor, given: torch.Tensor) -> tuple[float, float]:
    """(of the error, of the reference), summed in double precision."""
    error = norm = 0.0
    for start in range(0, wanted.numel(), _BLOCK):
        wide = wanted[start : start + _BLOCK].double()
        norm += float(wide.square().sum())
        error += float((given[start : start + _BLOCK].double() - wide).square().sum())
    return math.sqrt(error) if error >= 0 else math.nan, math.sqrt(norm)
