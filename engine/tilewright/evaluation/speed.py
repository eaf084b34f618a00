"""The fifth step: is it faster, on a device that can tell?"""

from dataclasses import dataclass

from tilewright.devices.model import JobStatus
from tilewright.evaluation.correctness import cases_for
from tilewright.evaluation.model import Speedup, StepName, StepResult, StepStatus, text_hash
from tilewright.evaluation.replaying import concerned
from tilewright.evaluation.statistics import CONFIDENCE, noise_of, ratio_of
from tilewright.evaluation.workbench import TIMEOUT_S, Workbench, explain
from tilewright.problems.model import Case
from tilewright.serialize import dump

BUDGET_S = 2.0


@dataclass(frozen=True)
class Timed:
    """The speed step and the ratio it found; the slowest ratio where several cases are timed."""

    step: StepResult
    speedup: Speedup | None = None


def check_speed(bench: Workbench, baseline: str, candidate: str) -> Timed:
    """Time both in one process, interleaved, on every measured case; the worst ratio counts.

    The outputs of the last timed call are compared once more, so that what was timed is what
    was checked.
    """
    if not bench.device.info.can_time:
        return Timed(
            StepResult(
                StepName.SPEED,
                StepStatus.SKIPPED,
                f"not measured: {bench.device.info.name} cannot time a kernel",
            )
        )
    cases = bench.problem.measured_cases() or cases_for(bench)
    cases = concerned(bench.problem, str(bench.source_path), baseline, candidate, cases)
    found: list[Speedup] = []
    for case in cases:
        timed = _time(bench, baseline, candidate, case)
        if timed.speedup is None:
            return timed
        found.append(timed.speedup)
    worst = min(found, key=lambda speedup: speedup.low)
    data = {"cases": [dump(speedup) for speedup in found]}
    if worst.is_faster:
        return Timed(StepResult(StepName.SPEED, StepStatus.PASSED, data=data), worst)
    verdict = "slower than" if worst.is_slower else "not measurably faster than"
    message = (
        f"{verdict} its input on {worst.device}, {worst.case}: {worst.value:.3f}x "
        f"[{worst.low:.3f}, {worst.high:.3f}], noise {worst.noise or 0:.3f}"
    )
    return Timed(StepResult(StepName.SPEED, StepStatus.FAILED, message, data=data), worst)


def _time(bench: Workbench, baseline: str, candidate: str, case: Case) -> Timed:
    inputs = bench.inputs(case, 0)
    if inputs.status is not JobStatus.OK:
        return _failed(f"inputs could not be made: {explain(inputs)}")
    base = bench.outputs(baseline, case, 0)
    job = bench.job("time", candidate) | {
        "original": str(bench.place(baseline)),
        "candidate": str(bench.place(candidate)),
        "case": dump(case),
        "inputs": inputs.value["inputs"],
        "state": base.state,
        "device": bench.device.info.id,
        "out": str(bench.scratch / "timed" / text_hash(candidate) / case.name),
        "budget_s": BUDGET_S,
    }
    outcome = bench.run(job, TIMEOUT_S + BUDGET_S)
    if outcome.status is not JobStatus.OK:
        return _failed(f"timing failed: {explain(outcome)}")
    compared = bench.compare(base.manifest, outcome.value["candidate_outputs"], case)
    if compared.status is not JobStatus.OK or not compared.value["equal"]:
        told = compared.value.get("message") or explain(compared)
        return _failed(f"the outputs of the timed calls are wrong: {told}")
    pairs = [(first, second) for first, second in outcome.value["pairs"]]
    null_pairs = [(first, second) for first, second in outcome.value["null_pairs"]]
    try:
        ratio, noise = ratio_of(pairs, bench.seed), noise_of(null_pairs, bench.seed)
    except ValueError as error:
        return _failed(f"timing gave no interval: {error}")
    return Timed(
        StepResult(StepName.SPEED, StepStatus.PASSED),
        Speedup(
            value=ratio.value,
            low=ratio.low,
            high=ratio.high,
            confidence=CONFIDENCE,
            noise=noise,
            original_us=ratio.first,
            candidate_us=ratio.second,
            baseline=text_hash(baseline),
            device=bench.device.info.name,
            case=case.name,
            samples=ratio.samples,
        ),
    )


def _failed(message: str) -> Timed:
    return Timed(StepResult(StepName.SPEED, StepStatus.FAILED, message))
