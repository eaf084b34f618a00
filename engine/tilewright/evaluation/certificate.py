"""Certificates: the evidence that travels with an accepted edit."""

from collections.abc import Mapping
from datetime import UTC, datetime

import tilewright
from tilewright.evaluation.correctness import SEEDS
from tilewright.evaluation.model import Certificate, Evaluation, StepName, StepStatus
from tilewright.evaluation.workbench import Workbench
from tilewright.targets.model import Target


def certify(evaluation: Evaluation, bench: Workbench | None, target: Target | None) -> Certificate:
    """The certificate of an evaluation: its figures, and where and with what they were had."""
    return Certificate(
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
    )


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


def evidence(certificate: Certificate) -> str:
    """One line for a person: how far it was verified, where, with what numbers, and what not."""
    parts = [certificate.level.value]
    speedup = certificate.speedup
    if speedup is not None:
        parts.append(
            f"{speedup.value:.2f}x [{speedup.low:.2f}, {speedup.high:.2f}] on {speedup.device}, "
            f"{speedup.case}: {speedup.original_us:.1f} us -> {speedup.candidate_us:.1f} us"
        )
    for step in certificate.steps:
        if step.status is StepStatus.SKIPPED:
            parts.append(f"{step.step.value} not verified ({step.message})")
        elif step.step is StepName.COMPILE and step.status is StepStatus.PASSED:
            parts.append(f"compiled for {certificate.target}")
        elif step.step is StepName.CORRECTNESS and step.status is StepStatus.PASSED:
            parts.append(
                f"{len(step.data.get('checks', []))} comparisons on {step.data.get('device')}"
            )
    return "; ".join(parts)
