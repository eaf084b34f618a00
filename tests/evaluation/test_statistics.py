"""Ratios with intervals, from blocks that timed both: how often they lie, how much they find."""

import math
import random
from collections.abc import Callable

import pytest

from tilewright.evaluation.statistics import interval_of, ratio_of
from tilewright.worker.timing import stopping_rule

pytest.importorskip("torch", reason="needs torch and triton: make setup")
from tilewright.worker.timing.noise_floor import floor_of

Noise = Callable[[random.Random, int], list[float]]


def pairs(ratio: float, spread: float, count: int, seed: int) -> list[tuple[float, float]]:
    draw = random.Random(seed)
    drift = [1 + 0.2 * i / count for i in range(count)]
    return [
        (100 * ratio * d * draw.lognormvariate(0, spread), 100 * d * draw.lognormvariate(0, spread))
        for d in drift
    ]


def independent(draw: random.Random, count: int) -> list[float]:
    return [draw.gauss(0, 0.01) for _ in range(count)]


def correlated(draw: random.Random, count: int) -> list[float]:
    """Slots of a device whose speed wanders: each remembers most of the one before."""
    found, now = [], 0.0
    for _ in range(count):
        now = 0.9 * now + draw.gauss(0, 0.006)
        found.append(now)
    return found


def drifting(draw: random.Random, count: int) -> list[float]:
    """A device that warms up throughout, with hiccups."""
    hiccup = [0.2 if draw.random() < 0.05 else 0.0 for _ in range(count)]
    return [0.05 * at / count + draw.gauss(0, 0.004) + hiccup[at] for at in range(count)]


def contest(gain: float, noise: Noise, floor: float, seed: int) -> str | None:
    """What a contest says whose slots lie in time one after another, A B B A or B A A B."""
    draw = random.Random(seed)
    slots = noise(draw, 4 * stopping_rule.LOOKS[-1])
    logs: list[float] = []
    for look in stopping_rule.LOOKS:
        while len(logs) < look:
            first, second, third, last = slots[4 * len(logs) : 4 * len(logs) + 4]
            log = ((first + last) - (second + third)) / 2
            logs.append(gain + (log if draw.random() < 0.5 else -log))
        verdict = stopping_rule.decide(logs, floor)
        if verdict is not None:
            return verdict
    return None


@pytest.mark.parametrize("noise", [independent, correlated, drifting])
def test_identical_kernels_are_called_faster_or_slower_once_in_a_hundred_at_most(
    noise: Noise,
) -> None:
    """Without the help of a noise floor; 400 contests, so at most 8 with 99 % certainty."""
    verdicts = [contest(0.0, noise, 0.0, seed) for seed in range(400)]
    assert sum(verdict in ("faster", "slower") for verdict in verdicts) <= 8


@pytest.mark.parametrize("noise", [independent, correlated, drifting])
def test_a_gain_of_three_percent_is_found(noise: Noise) -> None:
    verdicts = [contest(math.log(1.03), noise, 0.005, seed) for seed in range(100)]
    assert verdicts.count("faster") >= 90


def test_a_gain_below_the_noise_floor_is_not_called_faster() -> None:
    verdicts = [contest(math.log(1.01), independent, 0.012, seed) for seed in range(100)]
    assert verdicts.count("faster") <= 1


def test_a_contest_ends_early_when_it_is_clear() -> None:
    logs = [math.log(2.0)] * stopping_rule.LOOKS[0]
    assert stopping_rule.decide(logs, 0.01) == "faster"
    assert stopping_rule.decide([-log for log in logs], 0.01) == "slower"
    assert stopping_rule.decide([0.0] * stopping_rule.LOOKS[0], 0.01) == "alike"


def test_a_clear_gain_is_found_with_an_interval_that_holds_it() -> None:
    ratio = ratio_of(pairs(1.5, 0.02, 40, 1), seed=7)
    assert ratio.low < 1.5 < ratio.high
    assert ratio.low > 1.45
    assert ratio.samples == 40


def test_drift_that_both_share_does_not_widen_the_interval() -> None:
    ratio = ratio_of(pairs(1.0, 0.001, 40, 2), seed=7)
    assert ratio.high - ratio.low < 0.01


def test_the_interval_holds_the_truth() -> None:
    missed = 0
    for seed in range(200):
        ratio = ratio_of(pairs(1.1, 0.02, 12, seed), seed)
        missed += not ratio.low <= 1.1 <= ratio.high
    assert missed <= 4


def test_more_blocks_detect_smaller_gains_but_none_below_the_floor() -> None:
    few, many = (ratio_of(pairs(1.0, 0.02, count, 5), 1) for count in (12, 80))
    assert few.detectable(0.004) > many.detectable(0.004) > 0.004


def test_the_same_samples_and_seed_give_the_same_interval() -> None:
    data = pairs(1.1, 0.05, 20, 3)
    assert ratio_of(data, 5) == ratio_of(data, 5)


def test_too_few_or_impossible_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="too few"):
        ratio_of([(1.0, 1.0)] * 8, 0)
    with pytest.raises(ValueError, match="not positive"):
        ratio_of([(1.0, 1.0)] * 12 + [(1.0, 0.0)], 0)


def test_the_interval_of_one_sample_set_holds_its_median() -> None:
    middle, low, high = interval_of([10.0, 11.0, 12.0, 13.0, 14.0], 1)
    assert low <= middle <= high
    assert middle == 12.0


def test_the_noise_floor_covers_a_further_session() -> None:
    draw = random.Random(3)
    beyond = 0
    for _ in range(500):
        floor = floor_of([draw.gauss(0, 0.01) for _ in range(8)], [0.0] * 8)
        beyond += abs(draw.gauss(0, 0.01)) > math.log1p(floor)
    assert beyond <= 12


def test_what_sampling_explains_is_not_in_the_noise_floor_again() -> None:
    logs = [0.01, -0.008, 0.012, -0.011, 0.009, -0.01, 0.011, -0.009]
    assert floor_of(logs, [0.0099] * 8) < 0.4 * floor_of(logs, [0.0] * 8)


def test_too_few_sessions_tell_no_noise_floor() -> None:
    with pytest.raises(ValueError, match="3 sessions"):
        floor_of([0.0, 0.1, 0.0], [0.0] * 3)
