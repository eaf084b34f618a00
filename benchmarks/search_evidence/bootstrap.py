"""Intervals over landscapes: whole landscapes are drawn, as runs on one are not independent."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from finding import median

RESAMPLES = 2000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)


def estimate(
    runs: Mapping[object, Sequence[float]],
    statistic: Callable[[Sequence[float]], float] = mean,
) -> Estimate:
    """A statistic of all runs, with a bootstrap interval over landscapes.

    Args:
        runs: values by landscape, one for each seed.
    """
    groups = [list(values) for values in runs.values()]
    value = statistic([one for group in groups for one in group])
    draw = random.Random(0)
    drawn = sorted(
        statistic([one for group in draw.choices(groups, k=len(groups)) for one in group])
        for _ in range(RESAMPLES)
    )
    tail = (1 - CONFIDENCE) / 2
    return Estimate(value, drawn[int(tail * RESAMPLES)], drawn[int((1 - tail) * RESAMPLES) - 1])


def paired(
    first: Mapping[object, Sequence[float]], second: Mapping[object, Sequence[float]]
) -> dict[object, list[float]]:
    """By how much the second is above the first, in each landscape and seed."""
    assert first.keys() == second.keys()
    return {name: [b - a for a, b in zip(first[name], second[name], strict=True)] for name in first}


def ratio_of_medians(
    first: Mapping[object, Sequence[float]], second: Mapping[object, Sequence[float]]
) -> Estimate:
    """Median of the first over median of the second; landscapes are drawn for both alike."""
    names = list(first)
    assert first.keys() == second.keys()

    def ratio(chosen: Sequence[object]) -> float:
        above = median([one for name in chosen for one in first[name]])
        return above / median([one for name in chosen for one in second[name]])

    draw = random.Random(0)
    drawn = sorted(ratio(draw.choices(names, k=len(names))) for _ in range(RESAMPLES))
    tail = (1 - CONFIDENCE) / 2
    value = ratio(names)
    return Estimate(value, drawn[int(tail * RESAMPLES)], drawn[int((1 - tail) * RESAMPLES) - 1])


def share_of_wins(differences: Mapping[object, Sequence[float]]) -> float:
    """The share of pairs in which the second is above the first."""
    every = [one for values in differences.values() for one in values]
    return sum(one > 0 for one in every) / len(every)
