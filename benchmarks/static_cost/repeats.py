"""How well one measurement predicts another: what ``score.py`` can ask for at most.

    python benchmarks/static_cost/repeats.py

Needs no GPU. Configurations that two of the timed sets have in common are taken as a list, and one
set's times stand in the place of the estimate for the other's, both ways.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence

from score import LEAST_SPREAD, SETS, Group, Point, group_of, measured

LEAST_POINTS = 15
NEAR = 1.1
"""What counts as near the fastest, as a multiple of its time."""
Pairs = Sequence[tuple[Point, Point]]


def main() -> int:
    lists = [pairs for pairs in twice() if _is_reckoned(pairs)]
    groups = [group for pairs in lists for group in both_ways(pairs)]
    top, tied = sum(group.top for group in groups), sum(group.tied for group in groups)
    print(
        f"{len(lists)} lists timed twice; the best of one among the other's tenth: strictly in "
        f"{top} of {len(groups)}, indistinguishable from it in {tied}"
    )
    for told, some in (
        ("no more than a tenth", [group.top for group in groups if group.settled]),
        ("more than a tenth", [group.top for group in groups if not group.settled]),
    ):
        print(f"where {told} cannot be told from the best: in {sum(some)} of {len(some)}")
    moved = sorted(itertools.chain.from_iterable(map(moves, lists)))
    print(
        f"near the fastest a configuration moved against its list by {statistics.median(moved):.1%}"
        f" at the median, {moved[len(moved) * 9 // 10]:.1%} at the ninth decile ({len(moved)})"
    )
    return 0


def twice() -> list[Pairs]:
    """Of each kernel and shape that two sets have: the configurations that both have timed."""
    sets = [{_key(point): point for point in measured(times)} for _, times, _ in SETS]
    lists: list[Pairs] = []
    for one, other in itertools.combinations(sets, 2):
        groups = defaultdict(list)
        for key in sorted(one.keys() & other.keys()):
            groups[key[:2]].append((one[key], other[key]))
        lists += groups.values()
    return lists


def _key(point: Point) -> tuple[str, str, str]:
    shape, config = (json.dumps(point[name], sort_keys=True) for name in ("shape", "config"))
    return point["kernel"], shape, config


def _is_reckoned(pairs: Pairs) -> bool:
    times = [one["us"] for one, _ in pairs]
    return len(pairs) >= LEAST_POINTS and max(times) / min(times) >= LEAST_SPREAD


def both_ways(pairs: Pairs) -> list[Group]:
    """Each measurement held against the other's times."""
    name = str(pairs[0][0]["kernel"])
    forth = [(one, float(other["us"])) for one, other in pairs]
    back = [(other, float(one["us"])) for one, other in pairs]
    return [group_of(name, forth), group_of(name, back)]


def moves(pairs: Pairs) -> list[float]:
    """By what part configurations near the fastest differ, apart from what all differ by."""
    ratios = [math.log(one["us"] / other["us"]) for one, other in pairs]
    usual = statistics.median(ratios)
    limit = NEAR * min(one["us"] for one, _ in pairs)
    return [
        abs(ratio - usual)
        for ratio, (one, _) in zip(ratios, pairs, strict=True)
        if one["us"] <= limit
    ]


if __name__ == "__main__":
    sys.exit(main())
