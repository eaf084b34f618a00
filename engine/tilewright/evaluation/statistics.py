"""Intervals for ratios of times, from paired samples."""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.99
RESAMPLES = 2000


@dataclass(frozen=True)
class Ratio:
    """Median of first over second, with its bootstrap interval; both medians in the pairs' unit."""

    value: float
    low: float
    high: float
    first: float
    second: float
    samples: int


def ratio_of(pairs: Sequence[tuple[float, float]], seed: int) -> Ratio:
    """The ratio of a pair's members and its percentile bootstrap interval over pairs.

    Pairs are resampled whole, so drift of the clock that both members share cancels. The
    estimate is the median of the log ratios (Hodges and Lehmann's idea of a paired location).

    Raises:
        ValueError: fewer than five pairs, or a time that is not positive.
    """
    if len(pairs) < 5:
        raise ValueError(f"{len(pairs)} pairs are too few for an interval; at least 5 are needed")
    if any(first <= 0 or second <= 0 for first, second in pairs):
        raise ValueError("a measured time is not positive")
    logs = [math.log(first / second) for first, second in pairs]
    value, low, high = interval_of(logs, seed)
    return Ratio(
        value=math.exp(value),
        low=math.exp(low),
        high=math.exp(high),
        first=statistics.median(first for first, _ in pairs),
        second=statistics.median(second for _, second in pairs),
        samples=len(pairs),
    )


def noise_of(null_pairs: Sequence[tuple[float, float]], seed: int) -> float:
    """How far from 1 the ratio of identical kernels strays: the larger side of its interval."""
    ratio = ratio_of(null_pairs, seed)
    return max(ratio.high - 1.0, 1.0 - ratio.low, 0.0)


def interval_of(samples: Sequence[float], seed: int) -> tuple[float, float, float]:
    """Median and its percentile bootstrap interval: (median, low, high), in the samples' unit."""
    draw = random.Random(seed)
    medians = sorted(
        statistics.median(draw.choices(samples, k=len(samples))) for _ in range(RESAMPLES)
    )
    tail = (1 - CONFIDENCE) / 2
    low = medians[int(tail * RESAMPLES)]
    high = medians[min(RESAMPLES - 1, math.ceil((1 - tail) * RESAMPLES) - 1)]
    return statistics.median(samples), low, high
