"""The page of a recorded run: tree, charts, compilers and models, and what was not measured."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import recorded_runs
from recorded_runs import ORIGINAL, evaluation, text

from tilewright.report.charts import Point, best_chart, roof_chart, short
from tilewright.report.curves import best_over_cost, best_so_far, roofline
from tilewright.report.view import render, result_view
from tilewright.store.store import Store
from tilewright.strategies.recorded import detail, speeds


class _Page(HTMLParser):
    """The text that a person reads, tags, links, and the ids that links lead to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.links, self.ids, self.tags, self.labels = "", [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]
        self.ids += [named["id"] or ""] if "id" in named else []
        if tag == "svg" and named.get("aria-hidden") != "true":
            self.labels.append(named.get("aria-label") or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "store.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def run(store: Store) -> dict[str, Any]:
    recorded_runs.record(store)
    return detail(store.records, store.records.named("last"))


def untimed(run: dict[str, Any]) -> dict[str, Any]:
    """The same run where nothing could be timed."""
    trials = [{**trial, "speedup": None} for trial in run["trials"]]
    best = [{**one, "best": None, "own": None} for one in run["best"]]
    missing = {"missing": "no trial was timed"}
    return {**run, "trials": trials, "best": best, "roof": missing, "speedup": None, "gain": None}


def test_the_tree_has_each_trial_below_its_parent_with_its_own_diff(run: dict[str, Any]) -> None:
    view = result_view(run).run
    assert view is not None
    (first,) = view.tree
    assert [node.number for node in first.below] == [2, 3]
    assert [node.number for node in first.below[1].below] == [4]
    added = [row.text.strip() for row in first.below[0].diff if row.kind == "added"]
    assert added == ["tile = 7"]
    assert view.loose == ()


def test_trials_whose_texts_are_not_on_record_are_shown_without_a_diff(
    run: dict[str, Any],
) -> None:
    bare = [{**trial, "parent_trial": None, "diff": None} for trial in run["trials"]]
    html = render([{**run, "trials": bare}])
    assert "Trials whose parent is not on record" in html
    assert html.count("The texts of this trial are not on record.") == 4


def test_the_page_fetches_nothing_runs_nothing_and_escapes_what_a_model_wrote(
    run: dict[str, Any],
) -> None:
    html = render([run, {**run, "path": "other.py"}])
    page = _Page(html)
    assert "script" not in page.tags
    assert "wrong <b>answer</b>" in page.text
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"url\(|@import|https?:", html)
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_every_chart_has_a_text_alternative_and_its_numbers(run: dict[str, Any]) -> None:
    page = _Page(render([run]))
    assert len(page.labels) == 3
    assert all(page.labels)
    curve = best_so_far(run)
    assert [row[2:] for row in curve.rows] == [
        ("2.00×", "2.00×", "kept"),
        ("not measured", "2.00×", "refused"),
        ("4.00×", "4.00×", "kept"),
        ("2.50×", "4.00×", "refused"),
    ]
    assert curve.chart is not None
    assert curve.chart.count('class="point kept"') == 2
    assert curve.chart.count('class="point refused"') == 1, "the untimed trial has no mark"


def test_cost_is_in_dollars_and_in_tokens_where_a_price_is_unknown(run: dict[str, Any]) -> None:
    curve = best_over_cost(run)
    assert curve is not None
    assert curve.title == "Best so far over dollars"
    assert [row[1] for row in curve.rows] == ["0", "0.0125", "0.025", "0.025"]
    replies = [{**call, "reply": {**call["reply"], "dollars": None}} for call in run["calls"]]
    priceless = {**run, "calls": replies}
    curve = best_over_cost(priceless)
    assert curve is not None
    assert [row[1] for row in curve.rows] == ["0", "1.2k", "2.4k", "2.4k"]
    page = _Page(render([priceless])).text
    assert "price unknown" in page
    assert "$" not in page
    assert best_over_cost({**run, "calls": []}) is None


def test_a_run_that_timed_nothing_claims_no_speed(run: dict[str, Any]) -> None:
    measured_nothing = untimed({**run, "certificate": None, "level": "correct"})
    html = render([measured_nothing])
    page = _Page(html).text
    assert not re.search(r"\d×", page)
    assert "No trial was timed, so the speed-ups are not measured." in page
    assert "There is no roofline: no trial was timed." in page
    assert 'class="chart"' not in html


def test_the_best_so_far_ends_at_a_kept_trial_that_was_not_timed(store: Store) -> None:
    with store.run("key", "kernel.py", {}) as (_, ledger):
        made = recorded_runs.Recording(ledger)
        made.trial(text(64), ORIGINAL, evaluation(text(64), ORIGINAL, 1000, 500))
        made.trial(text(128), text(64), evaluation(text(128), text(64), 500, 250))
        ledger.close()
    found = detail(store.records, store.records.named("last"))
    assert [one["best"] for one in found["best"]] == [2.0, 4.0]
    trials = [found["trials"][0], {**found["trials"][1], "speedup": None}]
    assert [one["best"] for one in speeds(trials)] == [2.0, None]


def test_the_roofline_has_the_original_and_each_timed_trial(run: dict[str, Any]) -> None:
    curve = roofline(run)
    assert [row[0] for row in curve.rows] == ["original", "1", "3", "4"]
    flop = recorded_runs.CASE.flop or 0
    assert curve.rows[2][1:3] == ("250 µs", f"{flop / 250e-6 / 1e12:.3g} TFLOP/s")
    assert "1 of 4 trials were not timed" in curve.note
    assert "H200" in curve.note
    without = roofline({**run, "roof": {"missing": "the spec gives no `flop`"}})
    assert (without.chart, without.rows) == (None, ())
    assert "the spec gives no `flop`" in without.note


def test_compilers_before_and_after(run: dict[str, Any]) -> None:
    view = result_view(run).run
    assert view is not None
    figures = {row.figure: (row.before, row.after) for row in view.compiled}
    assert figures["registers"] == ("32", "128")
    assert figures["configurations that compile"] == ("1 of 1", "1 of 1")
    assert "No figures of a compiler" in render([{**run, "compile": {"before": [], "after": []}}])


def test_cost_by_role_and_prompt_sizes(run: dict[str, Any]) -> None:
    view = result_view(run).run
    assert view is not None
    assert view.models is not None
    (row,) = view.models.roles
    assert (row.role, row.calls, row.cached, row.failed) == ("optimizer", 2, 0, 0)
    assert (row.tokens_in, row.tokens_out, row.cost) == ("2,000", "400", "$0.0250")
    assert [section.name for section in view.models.sections] == ["TASK", "CHIP", "KERNEL"]
    assert max(section.share for section in view.models.sections) <= 100
    (prefix,) = view.models.prefixes
    assert int(prefix.share.rstrip("%")) > 50
    again = dict(view.models.calls[1].messages)
    assert again["system"] == "(as in call 1)"


def test_what_a_model_suspects_is_kept_apart(run: dict[str, Any]) -> None:
    suspected = [{"line": 3, "message": "The loop <may> read twice."}]
    page = _Page(render([{**run, "models": {**run["models"], "suspected": suspected}}])).text
    assert "no detector confirms them" in page
    assert "line 3: The loop <may> read twice." in page
    assert "no detector confirms" not in _Page(render([run])).text


def test_a_call_that_failed_shows_its_error_and_costs_nothing(run: dict[str, Any]) -> None:
    failed = {**run["calls"][1], "reply": {"error": "ReplyError", "message": "an empty reply"}}
    view = result_view({**run, "calls": [run["calls"][0], failed]}).run
    assert view is not None
    assert view.models is not None
    assert view.models.roles[0].failed == 1
    assert view.models.roles[0].cost == "$0.0125"
    assert view.models.calls[1].outcome == "an empty reply"


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_without_a_result_says_so(store: Store, finished: bool) -> None:
    recorded_runs.record(store, finished=False)
    if finished:
        store.finish(store.records.named("last").id, {"error": "the original does not run"})
    html = render([detail(store.records, store.records.named("last"))])
    page = _Page(html).text
    assert "Not on record: the run has no result." in page
    assert ("interrupted" in page) is not finished
    assert ("the original does not run" in page) is finished


def test_labels_of_a_roofline_never_overlap() -> None:
    points = [Point(10.0, 1e12 * (1 + n / 1000), str(n), "kept") for n in range(8)]
    chart = roof_chart(1e15, 1e12, points, "about")
    heights = sorted(float(y) for y in re.findall(r'class="mark" x="[\d.]+" y="([\d.-]+)"', chart))
    assert len(heights) == 8
    assert all(b - a >= 12 for a, b in pairwise(heights))


@pytest.mark.parametrize("best", [1.0, 0.5, 30.0])
def test_marks_lie_within_the_chart(best: float) -> None:
    points = [Point(1.0, best, "1", "kept"), Point(2.0, 0.2, "2", "refused")]
    chart = best_chart(points, [(0.0, 1.0), (1.0, best)], "trial", "about <it>")
    assert "about &lt;it&gt;" in chart
    for x, y in re.findall(r'c[xy]="([\d.-]+)" c[xy]="([\d.-]+)"', chart):
        assert 0 < float(x) < 720
        assert 0 < float(y) < 280


@pytest.mark.parametrize(
    ("value", "said"), [(0.5, "0.5"), (20000, "20k"), (1.5e12, "1.5T"), (1e15, "1P"), (0, "0")]
)
def test_short(value: float, said: str) -> None:
    assert short(value) == said
