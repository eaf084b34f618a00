"""Intervals for ratios of times, from blocks that timed both sides."""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.worker.timing.stopping_rule import ALPHA, CONFIDENCE
from tilewright.worker.timing.stopping_rule import interval_of as signed_rank

RESAMPLES = 2000
POWER = 0.8
"""How likely an effect of the minimum detectable size is found."""


@dataclass(frozen=True)
class Ratio:
    """First over second, with its interval; medians of both in the pairs' unit."""

    value: float
    low: float
    high: float
    first: float
    second: float
    samples: int

    def detectable(self, floor: float) -> float:
        """The smallest gain that as many blocks as noisy as these find with ``POWER``: 0.03 is 3 %.

        The noise floor, and beyond it what the interval's half-width (of a normal estimate)
        leaves undecided at the confidence of one look.
        """
        normal = statistics.NormalDist()
        half = (math.log(self.high) - math.log(self.low)) / 2
        beyond = 1 + normal.inv_cdf(POWER) / normal.inv_cdf(1 - ALPHA / 2)
        return math.expm1(math.log1p(floor) + half * beyond)


def ratio_of(pairs: Sequence[tuple[float, float]], seed: int) -> Ratio:
    """The ratio of a pair's members over blocks; the interval holds at ``CONFIDENCE``.

    Blocks are taken whole, so drift that both members share cancels. The interval is the wider, on
    either side, of the percentile bootstrap over blocks and Wilcoxon's signed-rank interval at the
    error rate of one look: the first is too narrow for few blocks and knows nothing of looks, the
    second is exact where the order within blocks was drawn at random.

    Raises:
        ValueError: too few pairs for an interval, or a time that is not positive.
    """
    if any(first <= 0 or second <= 0 for first, second in pairs):
        raise ValueError("a measured time is not positive")
    logs = [math.log(first / second) for first, second in pairs]
    ranked = signed_rank(logs)
    _, low, high = interval_of(logs, seed)
    return Ratio(
        value=math.exp(ranked.value),
        low=math.exp(min(low, ranked.low)),
        high=math.exp(max(high, ranked.high)),
        first=statistics.median(first for first, _ in pairs),
        second=statistics.median(second for _, second in pairs),
        samples=len(pairs),
    )


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
