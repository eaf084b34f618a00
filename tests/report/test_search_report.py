"""What a search in generations shows: its tree, its curve, its archive and its memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import recorded_runs

from tilewright.cli.recorded_run import best_at_steps, curve, search_lines
from tilewright.report.archive import archive_grid
from tilewright.report.charts import Point, roof_chart
from tilewright.report.curves import best_so_far, tree_by_generation
from tilewright.report.view import render, result_view
from tilewright.store.store import Store
from tilewright.strategies.observer import Standing
from tilewright.strategies.present import standing_words
from tilewright.strategies.recorded import detail


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "store.sqlite")
    yield opened
    opened.close()


def recorded(store: Store, *, timed: bool = True) -> dict[str, Any]:
    recorded_runs.record_tree(store, timed=timed)
    return detail(store.records, store.records.named("last"))


def test_the_best_is_below_a_parent_that_was_never_the_best(store: Store) -> None:
    run = recorded(store)
    view = result_view(run)
    assert view.run is not None
    assert [node.number for node in view.run.tree] == [1, 2]
    assert [node.number for node in view.run.tree[0].below] == [3]
    assert [trial.word for trial in view.trials] == ["parent", "dropped", "best"]
    assert view.trials[2].place == "slot 1.3, 2.50× over the original"
    html = render([run])
    assert "How the search ended: grid: the budget is spent." in html


def test_speeds_are_those_over_the_original(store: Store) -> None:
    run = recorded(store)
    assert [one["best"] for one in run["best"]] == [1.0, 1.0, pytest.approx(2.5)]
    curve_of_run = best_so_far(run)
    assert [row[2:4] for row in curve_of_run.rows] == [
        ("1.11×", "1.00×"), ("not measured", "1.00×"), ("2.50×", "2.50×"),
    ]  # fmt: skip
    assert "along the tree" in curve_of_run.note


def test_the_archive_has_the_fastest_correct_text_of_each_cell(store: Store) -> None:
    run = recorded(store)
    grid = archive_grid(run)
    assert grid is not None
    assert "2 of 64 cells hold a correct text" in grid.note
    assert [row[0] for row in grid.rows] == [
        "memory 1, algorithm 1, coordination 0", "memory 2, algorithm 1, coordination 3",
    ]  # fmt: skip
    assert [row[3] for row in grid.rows] == ["1.11×", "2.50×"]
    assert grid.chart is not None
    assert grid.chart.count('class="cell empty"') == 62


def test_the_tree_joins_children_to_their_parents(store: Store) -> None:
    run = recorded(store)
    drawn = tree_by_generation(run)
    assert drawn is not None
    assert "3 texts in 1 generations, 2 of them timed" in drawn.note
    assert drawn.chart is not None
    assert drawn.chart.count('class="edge"') == 2
    assert drawn.chart.count("point kept") == drawn.chart.count("point alive") == 1
    many = [Point(1.0, 2.0 + at, f"{at}", "refused") for at in range(40)]
    assert roof_chart(1e15, 4e12, many, "").count('class="mark"') == 0


def test_memory_says_what_its_entries_came_to(store: Store) -> None:
    run = recorded(store)
    (entry,) = run["memory"]
    assert (entry["recalled"], entry["trials"]) == (1, [3])
    html = render([run])
    assert "A larger tile &lt;of&gt; a product" in html
    assert "1.31× [1.27, 1.36] on NVIDIA H200" in html
    assert "3 (1 became the best)" in html
    text = "\n".join(search_lines(run))
    assert "trials: 3 (best)" in text


def test_what_was_not_timed_has_no_speed(store: Store) -> None:
    run = recorded(store, timed=False)
    assert [one["own"] for one in run["best"]] == [None, None, None]
    grid = archive_grid(run)
    assert grid is not None
    assert [row[3] for row in grid.rows] == ["not measured", "not measured"]
    lines = list(search_lines(run))
    assert not [line for line in lines if line.startswith("Best so far")]
    assert any("(1)" in line for line in lines), "cells show how many correct texts they hold"
    assert run["memory"] == []


def test_a_run_without_a_tree_has_no_archive(store: Store) -> None:
    recorded_runs.record(store)
    run = detail(store.records, store.records.named("last"))
    assert run["archive"] is None
    assert archive_grid(run) is None
    assert result_view(run).trials[0].word == "kept"
    lines = list(search_lines(run))
    assert lines[0].startswith("Best so far over 4 trials: 1.00x ")
    assert lines[0].endswith(" 4.00x")
    assert lines[1].startswith("Best so far over 0.025 dollars: ")


def test_a_curve_in_the_terminal() -> None:
    assert curve([1.0, 1.0, 2.0, 4.0]) == "1.00x ▁▁▅█ 4.00x"
    assert curve([1.0, None]) == "1.00x ▁  1.00x"
    assert curve([None]) == "not measured"
    assert len(curve([1.0 + at for at in range(500)])) < 80
    reached = best_at_steps([1.0, 2.0, 3.0], [0.0, 0.5, 1.0])
    assert (reached[0], reached[29], reached[-1]) == (1.0, 2.0, 3.0)


def test_the_line_of_progress_has_budget_best_and_cost() -> None:
    words = standing_words(Standing(best=1.834, judged=12, budget=96))
    assert words == ", 12 of 96 candidates, best 1.83x"
