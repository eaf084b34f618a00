"""Decision lists over extents, grown from times: split where another setting wins, if it pays."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.rewrites.tilings import Choice, Rule, Tiling

LEAST_GAIN = 0.01
"""Of the mean logarithm of the times, that a further rule has to bring."""
MOST_RULES = 4
MOST_LOSS = 0.03
"""That a rule may bring to any case, against the best single setting."""
Extents = Mapping[str, int]


@dataclass(frozen=True)
class Winners:
    """Times of settings on cases.

    Attributes:
        cases: the extents of each case.
        times: of each setting, in microseconds by case; None where it does not run there.
    """

    cases: Sequence[Extents]
    times: Mapping[int, Sequence[float | None]]
    choices: Sequence[Choice]

    def mean_log(self, setting: int, cases: Sequence[int]) -> float:
        """The mean logarithm of its times on some cases; infinite where one does not run."""
        times = [self.times[setting][case] for case in cases]
        known = [time for time in times if time is not None]
        if len(known) < len(cases):
            return math.inf
        return sum(map(math.log, known)) / len(cases)

    def best(self, cases: Sequence[int], against: int | None = None) -> tuple[float, int]:
        """The best single setting of some cases, and its mean logarithm.

        Args:
            against: the setting that it may not lose much to on any case.
        """
        fits = [one for one in self.times if against is None or self._fits(one, against, cases)]
        return min((self.mean_log(setting, cases), setting) for setting in fits)

    def _fits(self, setting: int, against: int, cases: Sequence[int]) -> bool:
        for case in cases:
            mine, other = self.times[setting][case], self.times[against][case]
            if mine is None or (other is not None and mine > other * (1 + MOST_LOSS)):
                return setting == against
        return True


@dataclass(frozen=True)
class _Split:
    gain: float
    extent: str
    bound: int
    above: bool
    setting: int
    inside: tuple[int, ...]


def grown(winners: Winners) -> Tiling | None:
    """The decision list of some times; None where no setting runs on every case.

    Each step takes the rule that saves the most on the cases that no rule covers yet. On no case is
    the list much slower than the best single setting.
    """
    if not winners.times:
        return None
    left = tuple(range(len(winners.cases)))
    score, single = winners.best(left)
    if math.isinf(score):
        return None
    otherwise = single
    rules: list[Rule] = []
    while len(rules) < MOST_RULES:
        split = max(_splits(winners, left, single), key=_worth, default=None)
        if split is None or split.gain / len(winners.cases) < LEAST_GAIN:
            break
        choice = winners.choices[split.setting]
        rules.append(Rule(split.extent, split.bound, split.above, choice))
        left = tuple(case for case in left if case not in split.inside)
        otherwise = winners.best(left, single)[1]
    return Tiling(tuple(rules), winners.choices[otherwise])


def _worth(split: _Split) -> tuple[float, int]:
    """Of equal gains the rule for fewer cases: what it covers is not split any more."""
    return split.gain, -len(split.inside)


def _splits(winners: Winners, left: Sequence[int], single: int) -> Iterator[_Split]:
    """Every split of the cases that are left, with what the best settings of both sides save."""
    whole = winners.best(left, single)[0] * len(left)
    for extent in winners.cases[0]:
        values = sorted({winners.cases[case][extent] for case in left})
        for bound in values[:-1]:
            for above in (False, True):
                inside = tuple(c for c in left if (winners.cases[c][extent] > bound) is above)
                rest = [case for case in left if case not in inside]
                score, setting = winners.best(inside, single)
                after = score * len(inside) + winners.best(rest, single)[0] * len(rest)
                yield _Split(whole - after, extent, bound, above, setting, inside)


def told_apart(cases: Sequence[Extents]) -> list[str]:
    """Extents that differ between cases; of several with the same values the first."""
    seen: set[tuple[int, ...]] = set()
    found = []
    for name in cases[0] if cases else ():
        values = tuple(case[name] for case in cases)
        if len(set(values)) > 1 and values not in seen:
            seen.add(values)
            found.append(name)
    return found
