"""Two certificates of one text: when the repetition says the same, and when it does not."""

from dataclasses import replace
from typing import Any

import pytest
from certified_samples import certificate

from tilewright.certificates.model import DeviceFacts, SpeedFigures, Step
from tilewright.evaluation.recheck import Outcome, Recheck, compared, renewed

B200 = DeviceFacts("cuda:0", "NVIDIA B200", "cuda:100", can_time=True)
INTERPRETER = DeviceFacts("interpreter", "Triton interpreter on CPU")


def speed(value: float, *, half: float = 0.01, noise: float | None = 0.004) -> Any:
    ends = (value, value - half, value + half)
    return (SpeedFigures("big[0]", *ends, 0.99, 200.0, 200.0 / value, 40, noise),)


def error(value: float) -> Any:
    return (replace(certificate().checks[0], max_abs_error=value),)


def against(failed: str | None = None, **changes: Any) -> Recheck:
    return compared(certificate(), certificate(**changes), failed)


@pytest.mark.parametrize("changes", [
    {}, {"speed": speed(1.92)}, {"speed": speed(1.918)}, {"speed": speed(2.6)},
    {"checks": error(1.9e-6)}, {"checks": error(0.0)}, {"seeds": (1, 2)},
    {"checks": error(1e-4), "seeds": (1, 2)},
])  # fmt: skip
def test_the_same_within_intervals_and_noise_holds(changes: dict[str, Any]) -> None:
    assert against(**changes).outcome is Outcome.HOLDS


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"speed": speed(1.90)}, "big[0]: 1.90x [1.89, 1.91], certified 1.94x [1.93, 1.95]"),
        ({"speed": speed(1.2), "level": "correct"}, "certified faster, now correct"),
        ({"checks": error(1e-4)}, "the largest difference is 0.0001, certified 1e-06"),
        ({"level": "compiled", "speed": ()}, "certified faster, now compiled"),
    ],
)
def test_less_than_certified_does_not_hold(changes: dict[str, Any], said: str) -> None:
    result = against(**changes)
    assert result.outcome is Outcome.FAILS
    assert said in result.text


def test_a_rejected_text_does_not_hold_and_the_reason_is_told() -> None:
    result = compared(certificate(), None, "correctness: ci[0]: 3 of 9 differ")
    assert result.text == "does not hold: correctness: ci[0]: 3 of 9 differ"


def test_errors_at_extents_that_were_drawn_anew_are_not_compared() -> None:
    drawn = replace(certificate().checks[0], case="ci-ragged[0]")
    before = certificate(checks=(*certificate().checks, drawn))
    now = certificate(checks=(*certificate().checks, replace(drawn, max_abs_error=1e-4)))
    assert compared(before, now, None).outcome is Outcome.HOLDS


def test_errors_far_below_the_tolerance_are_as_good_as_none() -> None:
    before = certificate(checks=(replace(certificate().checks[0], atol=1e-3),))
    now = certificate(checks=(replace(certificate().checks[0], max_abs_error=9e-5),))
    assert compared(before, now, None).outcome is Outcome.HOLDS


def test_another_device_is_named_and_its_figures_are_its_own() -> None:
    result = against(device=B200, speed=speed(1.3), checks=error(1e-3))
    assert result.text == "holds on another device: NVIDIA B200 instead of NVIDIA H200"
    assert "big[0]: 1.30x [1.29, 1.31] there, certified 1.94x [1.93, 1.95]" in result.notes


def test_another_device_on_which_it_is_not_faster_does_not_do() -> None:
    result = against("speed: not measurably faster", device=B200, level="correct")
    assert result.outcome is Outcome.FAILS
    assert "not measurably faster" in result.text


def test_a_device_that_cannot_time_repeats_the_rest_and_says_so() -> None:
    steps = (*certificate().steps[:-1], Step("speed", "skipped", "cannot time a kernel"))
    result = against(device=INTERPRETER, level="correct", speed=(), steps=steps)
    assert result.outcome is Outcome.ELSEWHERE
    assert "speed was not repeated: cannot time a kernel" in result.notes


def test_what_claims_times_of_a_device_that_has_none_does_not_hold() -> None:
    claims = certificate(device=INTERPRETER, speed=())
    result = compared(claims, replace(claims, level="correct"), None)
    assert result.outcome is Outcome.FAILS
    assert "certified faster, now correct" in result.text


def test_a_missing_compiler_means_it_cannot_be_repeated() -> None:
    steps = tuple(
        Step("compile", "skipped", "no compiler for xpu:pvc") if s.step == "compile" else s
        for s in certificate().steps
    )
    result = against(steps=steps)
    assert result.outcome is Outcome.CANNOT
    assert result.reasons == ("compile was not repeated: no compiler for xpu:pvc",)


def test_other_versions_are_noted() -> None:
    notes = against(toolchain={"python": "3.12.3", "torch": "2.11.0", "triton": "3.7.0"}).notes
    assert notes == ("with triton 3.7.0 instead of 3.6.0",)


def test_another_text_takes_its_place_only_if_it_gets_as_far() -> None:
    better = renewed(certificate(), certificate(unverified=("This.",)), None)
    assert (better.outcome, better.notes) == (Outcome.RENEWED, ("not verified: This.",))
    slower = renewed(certificate(), certificate(level="correct"), "speed: slower")
    assert slower.text == "does not hold: certified faster, now correct: speed: slower"
    wrong = renewed(certificate(), None, "correctness: differs")
    assert wrong.text == "does not hold: correctness: differs"
