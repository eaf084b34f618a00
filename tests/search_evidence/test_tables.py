"""Tables of landscape L1: verdicts are given again, and a table's shape is that of its times."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from landscape_plan import Unit, write
from table_search import staged, table_search
from tabulated import FILE, Table, TabulatedJudge, kernels, label, shape, tables

from tilewright.evaluation.model import Level, StepName, text_hash
from tilewright.search.spec import StrategySpec
from tilewright.serialize import dump

STAGES = ("dtype_fix", "memory_access", "algorithmic")
# Alone, the first two sites cost; together they are worth more than the third, which excludes both.
VALLEY = {0b000: 0.0, 0b001: 0.05, 0b010: 0.04, 0b011: -0.60, 0b100: -0.10}


def made(times: Mapping[int, float], folder: Path, **lines: Mapping[str, Any]) -> Table:
    """A table of three sites and two settings; the second setting takes 10 % off."""
    points, verdicts = {}, {}
    for sites, log_time in times.items():
        for setting in (0, 1):
            name = f"t{sites}{setting}"
            points[f"{sites}:{setting}"] = text_hash(name)
            ratio = math.exp(-log_time + 0.1 * setting)
            line = {
                "anchor": text_hash("t00"), "level": "correct", "noise": 0.004, "facts": {},
                "ratio": [ratio, ratio * 0.99, ratio * 1.01],
                "anchor_us": 100.0, "us": 100.0 / ratio,
            }  # fmt: skip
            verdicts[text_hash(name)] = {**line, **lines.get(name, {})}
    del verdicts[text_hash("t00")]["ratio"]
    sites = tuple({"name": f"site {n}", "stage": stage} for n, stage in enumerate(STAGES))
    unit = Unit(
        name="made", kernel="k", source="", spec="", base=text_hash("t00"), sites=sites,
        settings=("", "num_warps=8"), start="0:0", blind=False, points=points, anchors=(),
    )  # fmt: skip
    file = folder / "table.xz"
    write(file, {"units": [dump(unit)], "texts": {}, "verdicts": {"made": verdicts}})
    return tables(file)["made"]


def test_a_table_knows_its_valley(tmp_path: Path) -> None:
    table = made(VALLEY, tmp_path)
    found = shape(table)
    assert (found.texts, found.alive) == (10, 10)
    assert found.optimum == pytest.approx(0.7)
    assert (found.optima, found.near) == (2, 1)
    assert found.from_start == pytest.approx(0.2 / 0.7), "the lure, at the better setting"
    # From the lure back to the start costs 0.10, and one of the pair alone 0.04 more.
    assert found.valley == pytest.approx(0.14)


def test_a_table_without_interactions_has_one_optimum(tmp_path: Path) -> None:
    gains = (-0.2, -0.1, 0.1)
    times = {m: sum(g for n, g in enumerate(gains) if m >> n & 1) for m in range(8)}
    found = shape(made(times, tmp_path))
    assert (found.optima, found.near, found.climbing, found.valley) == (1, 1, 1.0, 0.0)


def test_a_beam_crosses_the_valley_and_greedy_search_does_not(tmp_path: Path) -> None:
    table = made(VALLEY, tmp_path)
    greedy = [
        table_search(table, StrategySpec(strategy="incumbent"), seed).at(60) for seed in range(8)
    ]
    spec = StrategySpec.model_validate({"strategy": "beam", "beam": {"tolerance": 1.3}})
    beam = [table_search(table, spec, seed).at(60) for seed in range(8)]
    assert max(greedy) < 0.5
    assert min(beam) == pytest.approx(1.0)


def test_verdicts_are_given_again(tmp_path: Path) -> None:
    wrong = {"level": "rejected", "failed": "compile", "message": "too much shared memory"}
    table = made(VALLEY, tmp_path, t30=wrong)
    judge = TabulatedJudge(table, 3)
    start, refused, fast = (label(text_hash(name)) for name in ("t00", "t30", "t31"))
    found = judge.judge(refused, start, thorough=False)
    assert found.level is Level.REJECTED
    assert found.failed is not None
    assert (found.failed.step, found.failed.message) == (StepName.COMPILE, "too much shared memory")
    faster = judge.judge(fast, start, thorough=False)
    again = TabulatedJudge(table, 3).judge(fast, start, thorough=True)
    assert faster == again
    assert faster.level is Level.FASTER
    assert faster.speedup is not None
    assert faster.speedup.low < math.exp(0.7) < faster.speedup.high
    back = judge.judge(start, fast, thorough=False)
    assert back.level is Level.CORRECT
    assert judge.curve == [0.0, pytest.approx(0.7), pytest.approx(0.7)]
    other = TabulatedJudge(table, 4).judge(fast, start, thorough=False)
    assert other.speedup != faster.speedup


def test_a_speed_over_a_later_anchor_is_a_speed_over_the_first(tmp_path: Path) -> None:
    late = {"anchor": text_hash("t31"), "ratio": [0.5, 0.49, 0.51], "us": 200.0}
    table = made(VALLEY, tmp_path, t41=late)
    assert table.gain(text_hash("t41")) == pytest.approx(0.7 + math.log(0.5))


def test_stages_take_each_change_once_and_three_settings(tmp_path: Path) -> None:
    table = made({0b000: 0.0, 0b001: -0.1, 0b010: -0.2, 0b011: -0.3}, tmp_path)
    judge = TabulatedJudge(table, 0)
    root, *tried = staged(table, judge, 160, 0)
    assert root.hash == text_hash(label(table.start))
    names = [node.idea.id for node in tried if node.idea]
    assert names == ["site 0", "site 1", "launch num_warps=8"]
    assert judge.curve[-1] == pytest.approx(table.optimum)
    assert table_search(table, StrategySpec(strategy="staged"), 0).spent == 3


def test_equal_seeds_give_equal_searches(tmp_path: Path) -> None:
    table = made(VALLEY, tmp_path)
    spec = StrategySpec(strategy=("staged", "stall"))
    assert table_search(table, spec, 5).fractions == table_search(table, spec, 5).fractions


def test_the_plan_in_the_repository_can_be_read() -> None:
    for name, table in kernels().items():
        assert table.verdicts[table.start].alive, name
        assert set(table.points) <= set(table.texts), name
    assert FILE.stat().st_size < 2_000_000
