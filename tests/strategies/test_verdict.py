"""What is kept on which evidence."""

from dataclasses import replace

import pytest

from tilewright.evaluation.model import (
    Candidate,
    EstimatedGain,
    Evaluation,
    Level,
    Promise,
    Speedup,
    StepName,
    StepResult,
    StepStatus,
)
from tilewright.knowledge.stages import Stage
from tilewright.serialize import dump
from tilewright.strategies.model import Trial
from tilewright.strategies.present import dump_trial
from tilewright.strategies.verdict import decide
from tilewright.targets.model import CompileReport, LaunchFacts, Target

PASSED = StepResult(StepName.CORRECTNESS, StepStatus.PASSED)
NO_COMPILER = StepResult(StepName.COMPILE, StepStatus.SKIPPED, "no toolchain for xpu")
NOT_TIMED = StepResult(StepName.SPEED, StepStatus.SKIPPED, "not measured")


def compiled(spills: int) -> StepResult:
    report = CompileReport(
        Target("cuda", "90"), "k", LaunchFacts("k", (1,), ()), True, spill_bytes=spills
    )
    return StepResult(StepName.COMPILE, StepStatus.PASSED, data={"reports": [dump(report)]})


def evaluation(level: Level, *steps: StepResult, ratio: float | None = None) -> Evaluation:
    speedup = (
        Speedup(ratio, ratio * 0.99, ratio * 1.01, 0.99, 0.002, 1, 1, "b", "GPU", "c", 9)
        if ratio
        else None
    )
    return Evaluation("after", "before", level, steps, speedup)


BEFORE = evaluation(Level.CORRECT, compiled(0), PASSED, NOT_TIMED)


def test_without_a_device_it_is_kept_when_correct_and_it_compiles_no_worse() -> None:
    after = evaluation(Level.CORRECT, compiled(0), PASSED, NOT_TIMED)
    verdict = decide(Stage.DTYPE_FIX, BEFORE, after, can_time=False)
    assert verdict.kept
    assert "speed not measured" in verdict.reason


def test_without_a_device_more_spills_than_before_are_refused() -> None:
    after = evaluation(Level.CORRECT, compiled(64), PASSED, NOT_TIMED)
    verdict = decide(Stage.FUSION, BEFORE, after, can_time=False)
    assert not verdict.kept
    assert "spills 64 bytes" in verdict.reason


@pytest.mark.parametrize(("stage", "kept"), [(Stage.AUTOTUNING, False), (Stage.DTYPE_FIX, True)])
def test_launch_configurations_need_a_compiler_or_a_device(stage: Stage, kept: bool) -> None:
    before = evaluation(Level.CORRECT, NO_COMPILER, PASSED, NOT_TIMED)
    verdict = decide(stage, before, before, can_time=False)
    assert verdict.kept is kept
    assert ("no toolchain for xpu" in verdict.reason) is not kept


def test_a_fault_is_fixed_even_if_that_costs_time() -> None:
    slower = evaluation(Level.CORRECT, compiled(0), PASSED, ratio=0.9)
    verdict = decide(Stage.CORRECTNESS, BEFORE, slower, can_time=True)
    assert verdict.kept
    assert "0.900x" in verdict.reason


def estimated(ratio: float | None) -> Evaluation:
    """An NKI kernel that is right in the simulator; the cost model errs by 1.2."""
    if ratio is None:
        step = StepResult(StepName.ESTIMATE, StepStatus.SKIPPED, "not estimated: its sizes")
        return evaluation(Level.CORRECT, PASSED, step, NOT_TIMED)
    times = (9.0, 10.0, 12.0)
    gain = EstimatedGain(ratio, 1.2, times, times, ("dma", "vector"), "neuron:trn2", "ci[0]", "b")
    step = StepResult(StepName.ESTIMATE, StepStatus.PASSED, f"estimated: {gain.words}")
    return replace(evaluation(Level.CORRECT, PASSED, step, NOT_TIMED), estimate=gain)


@pytest.mark.parametrize(("ratio", "kept"), [(1.4, True), (1.1, False), (0.7, False)])
def test_an_nki_kernel_is_kept_beyond_the_error_of_the_cost_model(ratio: float, kept: bool) -> None:
    verdict = decide(Stage.FUSION, BEFORE, estimated(ratio), can_time=False)
    assert verdict.kept is kept
    assert "by the cost model for neuron:trn2" in verdict.reason


def test_an_nki_kernel_without_an_estimate_is_not_kept() -> None:
    verdict = decide(Stage.FUSION, BEFORE, estimated(None), can_time=False)
    assert not verdict.kept
    assert "not estimated: its sizes" in verdict.reason


def test_what_could_not_be_checked_is_not_applied() -> None:
    parsed = evaluation(Level.PARSED, NOT_TIMED)
    assert not decide(Stage.DTYPE_FIX, parsed, parsed, can_time=False).kept


def test_with_a_device_only_time_counts() -> None:
    faster = evaluation(Level.FASTER, compiled(64), PASSED, ratio=1.5)
    assert decide(Stage.FUSION, BEFORE, faster, can_time=True).kept
    missed = StepResult(StepName.SPEED, StepStatus.FAILED, "not measurably faster")
    tied = evaluation(Level.CORRECT, compiled(0), PASSED, missed, ratio=1.0)
    verdict = decide(Stage.FUSION, BEFORE, tied, can_time=True)
    assert (verdict.kept, verdict.reason) == (False, "not measurably faster")


def test_what_screening_promised_is_told_and_decides_nothing() -> None:
    missed = StepResult(StepName.SPEED, StepStatus.FAILED, "not measurably faster")
    tied = evaluation(Level.CORRECT, compiled(0), PASSED, missed, ratio=1.0)
    promise = Promise(us=10.0, present_us=18.0)
    verdict = decide(Stage.AUTOTUNING, BEFORE, tied, can_time=True, promise=promise)
    assert not verdict.kept
    assert verdict.reason == "not measurably faster; screened at 1.80x"


def test_a_trial_gives_both_gains() -> None:
    faster = evaluation(Level.FASTER, compiled(64), PASSED, ratio=1.5)
    promise = Promise(us=10.0, present_us=18.0)
    candidate = Candidate("text", None, "tuner:launch", "Launch it", promise=promise)
    told = dump_trial(Trial(1, Stage.AUTOTUNING, candidate, faster, True, "faster"))
    assert told["screened"] == {"us": 10.0, "present_us": 18.0, "gain": 1.8}
    assert told["speedup"]["value"] == 1.5
    unscreened = replace(candidate, promise=None)
    told = dump_trial(Trial(1, Stage.AUTOTUNING, unscreened, faster, True, "faster"))
    assert told["screened"] is None
