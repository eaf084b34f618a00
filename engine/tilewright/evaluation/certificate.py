"""Certificates: the evidence that travels with an accepted edit."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import tilewright
from tilewright.evaluation.correctness import SEEDS
from tilewright.evaluation.limits_of_evidence import unverified
from tilewright.evaluation.model import Certificate, Evaluation, StepName
from tilewright.evaluation.workbench import Workbench
from tilewright.targets.model import Target


def certify(evaluation: Evaluation, bench: Workbench | None, target: Target | None) -> Certificate:
    """The certificate of an evaluation: its figures, and where and with what they were had."""
    certificate = Certificate(
        level=evaluation.level,
        original=evaluation.baseline,
        candidate=evaluation.candidate,
        problem=bench.problem.content_hash if bench else None,
        target=str(target) if target else None,
        device=f"{bench.device.info.id} ({bench.device.info.name})" if bench else None,
        toolchain=_toolchain(evaluation, bench),
        steps=evaluation.steps,
        speedup=evaluation.speedup,
        seeds=tuple(bench.seed + seed for seed in SEEDS) if bench else (),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        tilewright=tilewright.__version__,
        isolation=_isolation(evaluation),
        estimate=evaluation.estimate,
    )
    return replace(certificate, unverified=unverified(certificate))


def _toolchain(evaluation: Evaluation, bench: Workbench | None) -> Mapping[str, str]:
    versions: dict[str, str] = {}
    if bench is not None:
        info = bench.device.info
        versions |= {"python": info.python, "torch": info.torch, "triton": info.triton}
    compiled = evaluation.step(StepName.COMPILE)
    reports = compiled.data.get("reports", []) if compiled else []
    if reports:
        versions["compiler"] = reports[0]["toolchain"]
    return versions


def _isolation(evaluation: Evaluation) -> Mapping[str, Any] | None:
    """What held while the candidate ran: the weakest of what its steps report."""
    found = [step.data.get("isolation") for step in evaluation.steps]
    order = ("weak", "partial", "strong")
    known = [
        {"level": one["isolation"], "reasons": list(one.get("reasons", ()))}
        for one in found
        if isinstance(one, Mapping) and one.get("isolation") in order
    ]
    return min(known, key=lambda one: order.index(one["level"]), default=None)
