"""Whether settings by the extents of a call beat the best single setting, on times of an H200.

The times are those of ``benchmarks/static_cost``: kernels at several shapes, each with many launch
settings, in several rounds. A list is grown from all rounds but the last two, and judged by those.
"""

import gzip
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bootstrap import estimate, mean
from finding import Evidence, Finding, Table
from tabulated import tables

from tilewright.rewrites.tilings import Tiling
from tilewright.strategies.decision_lists import MOST_LOSS, Winners, grown, told_apart

STORED = False
_TIMES = Path(__file__).resolve().parents[1] / "static_cost"
_FILES = ("layers", "h200_other_shapes", "h200_whole", "blind", "more", "h200_known", "h200_fresh")
_LEAST_SHAPES, _LEAST_SETTINGS = 4, 12
_HELD_BACK = 2
_SHUFFLES = 5
Rounds = Mapping[str, Mapping[str, Sequence[float]]]
"""Microseconds of each round, by shape and setting."""


@dataclass(frozen=True)
class Case:
    """What a list does on one kernel, as logarithms of times over those of the best single one.

    Attributes:
        gains: of each shape, on rounds that the list was not grown from.
        left_out: likewise, of lists that were grown without that shape.
        shuffled: mean gain of lists grown from the times of other shapes, as a control.
        rules: of the list.
    """

    gains: tuple[float, ...]
    left_out: tuple[float, ...]
    shuffled: float
    rules: int


def evidence(size: str) -> Evidence:
    """The claim, and a row for each kernel."""
    times = _times()
    names = sorted(times) if size == "whole" else sorted(times)[:4]
    cases = {name: _case(times[name]) for name in names}
    judged = _judged_times()
    of_l1 = {name: _case(one) for name, one in judged.items()}
    return Evidence(
        "Tilings by the extents of a call",
        (_claim(cases), _elsewhere(cases), *([_on_l1(of_l1)] if of_l1 else [])),
        (_table(cases, times), _table(of_l1, judged, ", landscape L1")),
        (),
        (_ABOUT,),
        "on one NVIDIA H200, by the method of benchmarks/static_cost",
    )


_ABOUT = (
    "The stored times have no verdict on correctness, which a setting that covers the whole output "
    f"keeps. Kernels of at least {_LEAST_SHAPES} shapes with {_LEAST_SETTINGS} settings in common "
    "take part. Settings of landscape L1 were judged and timed once at each shape, so that a list "
    "is grown from the times that it is compared by: only a shape that is left out is evidence."
)


def _times() -> dict[str, Rounds]:
    """Settings that all shapes of a kernel have in common."""
    found: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    for name in _FILES:
        with gzip.open(_TIMES / f"{name}.json.gz") as file:
            for point in json.load(file)["points"]:
                rounds = point.get("round_medians") or []
                if point.get("us") and len(rounds) > _HELD_BACK:
                    shape = json.dumps(point["shape"], sort_keys=True)
                    setting = json.dumps(point["config"])
                    found[point["kernel"]][shape][setting] = rounds
    return _comparable(found)


def _judged_times() -> dict[str, Rounds]:
    """Settings of landscape L1 that are correct at all shapes of their kernel, timed once."""
    found: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(dict)
    for table in tables().values():
        unit = table.unit
        if unit.shape is not None:
            alive = {
                setting: math.exp(-table.verdicts[text].log_speed)
                for setting, text in zip(unit.settings, unit.points.values(), strict=True)
                if text in table.alive
            }
            shape = json.dumps(unit.shape, sort_keys=True)
            rounds = 1 + _HELD_BACK
            found[unit.name.partition("@")[0]][shape] = {
                setting: [time] * rounds for setting, time in alive.items()
            }
    return _comparable(found)


def _comparable(found: Mapping[str, Rounds]) -> dict[str, Rounds]:
    """Kernels with shapes enough, each with the settings that were timed at all of them."""
    kept: dict[str, Rounds] = {}
    for kernel, shapes in found.items():
        common = set.intersection(*(set(settings) for settings in shapes.values()))
        if len(shapes) >= _LEAST_SHAPES and len(common) >= _LEAST_SETTINGS:
            kept[kernel] = {
                shape: {one: settings[one] for one in sorted(common)}
                for shape, settings in shapes.items()
            }
    return kept


def _case(times: Rounds) -> Case:
    shapes = list(times)
    tiling, single = _learned(times, shapes)
    draw, shuffled = random.Random(0), []
    for _ in range(_SHUFFLES):
        others = draw.sample(shapes, len(shapes))
        wrong, alone = _learned({s: times[o] for s, o in zip(shapes, others, strict=True)}, shapes)
        shuffled.append(mean([_gain(times, wrong, alone, shape) for shape in shapes]))
    left_out = []
    for shape in shapes:
        rest = [other for other in shapes if other != shape]
        left_out.append(_gain(times, *_learned(times, rest), shape))
    gains = tuple(_gain(times, tiling, single, shape) for shape in shapes)
    return Case(gains, tuple(left_out), mean(shuffled), len(tiling.rules))


def _learned(times: Rounds, shapes: Sequence[str]) -> tuple[Tiling, str]:
    """The list and the best single setting, from the rounds that are not held back."""
    settings = list(next(iter(times.values())))
    extents = [json.loads(shape) for shape in shapes]
    apart = told_apart(extents)
    winners = Winners(
        [{name: one[name] for name in apart} for one in extents],
        {
            number: [_median(times[shape][setting][:-_HELD_BACK]) for shape in shapes]
            for number, setting in enumerate(settings)
        },
        [{"setting": number} for number in range(len(settings))],
    )
    tiling = grown(winners)
    assert tiling is not None
    return tiling, settings[winners.best(range(len(shapes)))[1]]


def _gain(times: Rounds, tiling: Tiling, single: str, shape: str) -> float:
    """The logarithm of the single setting's time over the list's, on the rounds held back."""
    settings = list(times[shape])
    chosen = settings[tiling.choice(json.loads(shape))["setting"]]
    before, after = (_median(times[shape][one][-_HELD_BACK:]) for one in (single, chosen))
    return math.log(before / after)


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _claim(cases: Mapping[str, Case]) -> Finding:
    not_behind = [name for name, one in cases.items() if mean(one.gains) >= -0.001]
    lowest = min(gain for one in cases.values() for gain in one.gains)
    share = len(not_behind) / len(cases)
    gain = estimate({name: list(one.gains) for name, one in cases.items()})
    control = estimate({name: [one.shuffled] for name, one in cases.items()})
    return Finding(
        "A tiling by extents is not slower than the best single setting",
        f"H200 times, {len(cases)} kernels",
        "the geometric mean not slower on 3 of 4 kernels, no shape more than 3 % slower",
        f"not slower on {len(not_behind)} of {len(cases)}, the worst shape {_percent(lowest)}; "
        f"mean gain {_percent(gain.value)}", gain.low, gain.high,
        f"a list grown from the times of other shapes: {_percent(control.value)} "
        f"[{_percent(control.low)}, {_percent(control.high)}]",
        share >= 0.75 and lowest >= math.log(1 - MOST_LOSS),
    )  # fmt: skip


def _elsewhere(cases: Mapping[str, Case]) -> Finding:
    gain = estimate({name: list(one.left_out) for name, one in cases.items()})
    lowest = min(value for one in cases.values() for value in one.left_out)
    return Finding(
        "A tiling is not slower at a shape that it was not grown from",
        f"H200 times, {len(cases)} kernels, each shape left out once",
        "a mean gain over the best single setting of the other shapes that is not below 0",
        f"mean gain {_percent(gain.value)}, the worst shape {_percent(lowest)}",
        gain.low, gain.high, "the best single setting of the same other shapes", gain.low >= 0.0,
    )  # fmt: skip


def _on_l1(cases: Mapping[str, Case]) -> Finding:
    behind = [name for name, one in cases.items() if mean(one.left_out) < -0.001]
    gain = estimate({name: list(one.left_out) for name, one in cases.items()})
    lowest = min(value for one in cases.values() for value in one.left_out)
    return Finding(
        "A tiling of checked settings is not slower at a shape that it was not grown from",
        f"L1 shapes, {len(cases)} kernels ({', '.join(cases)}), each shape left out once",
        "a mean gain that is not below 0, no shape more than 3 % slower",
        f"mean gain {_percent(gain.value)}, the worst shape {_percent(lowest)}, behind on "
        f"{len(behind)} of {len(cases)}", gain.low, gain.high,
        "the best single setting of the same other shapes",
        gain.low >= 0.0 and lowest >= math.log(1 - MOST_LOSS),
    )  # fmt: skip


def _percent(gain: float) -> str:
    return f"{100 * (math.exp(gain) - 1):+.1f} %"


def _table(cases: Mapping[str, Case], times: Mapping[str, Rounds], where: str = "") -> Table:
    return Table(
        f"Gain over the best single setting{where}",
        ("kernel", "shapes", "settings", "rules", "mean", "worst shape", "shape left out, mean"),
        tuple(_rows(cases, times)),
    )


def _rows(cases: Mapping[str, Case], times: Mapping[str, Rounds]) -> Iterator[tuple[str, ...]]:
    for name, one in cases.items():
        yield (
            name, str(len(one.gains)), str(len(next(iter(times[name].values())))), str(one.rules),
            _percent(mean(one.gains)), _percent(min(one.gains)), _percent(mean(one.left_out)),
        )  # fmt: skip
