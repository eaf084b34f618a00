"""When enough was seen: a rule that is fixed before the first sample and keeps its error rate.

A block times both versions in an order drawn at random, so for identical kernels the sign of a
block's log ratio is a fair coin, however noise drifts or is correlated. Wilcoxon's signed-rank
interval (inverted over Walsh averages; estimate: Hodges and Lehmann's) rests on that symmetry
alone. The samples are looked at after fixed numbers of blocks, and the error is shared out among
the looks (Bonferroni), so stopping early does not add to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

CONFIDENCE = 0.99
LOOKS = (12, 16, 24, 36, 56, 88)
"""Blocks after which the samples are looked at."""

ALPHA = (1 - CONFIDENCE) / len(LOOKS)
"""Two-sided error that one look may spend."""

WORTH = 0.01
"""A gain by less than this beyond the noise floor is not searched for."""

FUTILE = 0.02
"""Two-sided error at which a gain is given up: that can miss one, and never invents one."""

FASTER = "faster"
SLOWER = "slower"
ALIKE = "alike"


@dataclass(frozen=True)
class Interval:
    """An estimate of a log ratio with the interval that holds it at the confidence of one look."""

    value: float
    low: float
    high: float


def interval_of(logs: Sequence[float], alpha: float = ALPHA) -> Interval:
    """Signed-rank interval at two-sided error ``alpha``, and the median of the Walsh averages.

    Raises:
        ValueError: too few samples for an interval at this error rate.
    """
    count = len(logs)
    cut = _cut(count, alpha)
    if cut < 0:
        raise ValueError(f"{count} blocks are too few for an interval; {LOOKS[0]} are needed")
    walsh = sorted((logs[i] + logs[j]) / 2 for i in range(count) for j in range(i, count))
    middle = len(walsh) // 2
    value = walsh[middle] if len(walsh) % 2 else (walsh[middle - 1] + walsh[middle]) / 2
    return Interval(value, walsh[cut], walsh[len(walsh) - 1 - cut])


def decide(logs: Sequence[float], floor: float) -> str | None:
    """What the samples of one look say, None where it takes more of them to tell.

    ``floor``: how far from 1 the ratio of identical kernels strays on this device. Searching ends
    where a gain by more than ``WORTH`` beyond it is excluded.
    """
    seen = interval_of(logs)
    if seen.low > math.log1p(floor):
        return FASTER
    if seen.high < -math.log1p(floor):
        return SLOWER
    hoped = interval_of(logs, FUTILE).high
    return ALIKE if hoped < math.log1p(floor + WORTH) else None


@cache
def _cut(count: int, alpha: float) -> int:
    """How many Walsh averages to leave out at either end: largest k, P(W <= k) <= alpha / 2."""
    ways = [1]
    for rank in range(1, count + 1):
        more = ways + [0] * rank
        for at, number in enumerate(ways):
            more[at + rank] += number
        ways = more
    total, bound = 0, alpha / 2 * 2**count
    for statistic, number in enumerate(ways):
        total += number
        if total > bound:
            return statistic - 1
    return -1
