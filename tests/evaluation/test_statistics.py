"""Ratios with intervals, from paired samples."""

import random

import pytest

from tilewright.evaluation.statistics import interval_of, noise_of, ratio_of


def pairs(ratio: float, spread: float, count: int, seed: int) -> list[tuple[float, float]]:
    draw = random.Random(seed)
    drift = [1 + 0.2 * i / count for i in range(count)]
    return [
        (100 * ratio * d * draw.lognormvariate(0, spread), 100 * d * draw.lognormvariate(0, spread))
        for d in drift
    ]


def test_a_clear_gain_is_found_with_an_interval_that_holds_it() -> None:
    ratio = ratio_of(pairs(1.5, 0.02, 40, 1), seed=7)
    assert ratio.low < 1.5 < ratio.high
    assert ratio.low > 1.45
    assert ratio.samples == 40


def test_drift_that_both_share_does_not_widen_the_interval() -> None:
    ratio = ratio_of(pairs(1.0, 0.001, 40, 2), seed=7)
    assert ratio.high - ratio.low < 0.01


def test_identical_kernels_are_seldom_called_faster_or_slower() -> None:
    wrong = 0
    for seed in range(200):
        noise = noise_of(pairs(1.0, 0.02, 24, 1000 + seed), seed)
        ratio = ratio_of(pairs(1.0, 0.02, 24, seed), seed)
        wrong += ratio.low > 1 + noise or ratio.high < 1 - noise
    assert wrong <= 2


def test_the_same_samples_and_seed_give_the_same_interval() -> None:
    data = pairs(1.1, 0.05, 20, 3)
    assert ratio_of(data, 5) == ratio_of(data, 5)


def test_too_few_or_impossible_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="too few"):
        ratio_of([(1.0, 1.0)] * 4, 0)
    with pytest.raises(ValueError, match="not positive"):
        ratio_of([(1.0, 1.0)] * 5 + [(1.0, 0.0)], 0)


def test_the_interval_of_one_sample_set_holds_its_median() -> None:
    middle, low, high = interval_of([10.0, 11.0, 12.0, 13.0, 14.0], 1)
    assert low <= middle <= high
    assert middle == 12.0
