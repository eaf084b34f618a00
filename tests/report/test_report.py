"""The report says what the result says, no more: numbers or "not measured", and what is open."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from results import DIFF, SPEEDUP, issue, result, step, trial

from tilewright.figures import seconds_text, time_text
from tilewright.report.diff import RowKind, diff_rows
from tilewright.report.view import render, result_view, write_report


class _Page(HTMLParser):
    """Collects the text a person sees, and everything a page could fetch."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.links, self.tags = "", [], []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_run_without_a_gpu_claims_no_speed() -> None:
    view = result_view(result())
    assert view.speedup == "not measured"
    assert view.level == "correct"
    assert [rung.name for rung in view.ladder if rung.reached] == ["parsed", "compiled", "correct"]
    said = " ".join(view.unverified)
    assert "Speed was not measured" in said
    assert view.ladder[-1].word == "not measured"
    assert "not on the chip" in said
    page = _Page(render([result()])).text
    assert not re.search(r"\d×", page)
    assert "not measured" in page


def test_what_a_certificate_leaves_open_is_shown_as_it_says() -> None:
    run = result()
    isolation = {"level": "weak", "reasons": ["network: no namespaces"]}
    run["certificate"] |= {"unverified": ["One thing."], "isolation": isolation}
    view = result_view(run)
    assert view.unverified == ("One thing.",)
    assert ("isolation", "weak: network: no namespaces") in view.toolchain


def test_compile_and_comparison_are_told_from_their_data() -> None:
    reports = [
        {"kernel": "k", "ok": True, "registers": 40, "spill_bytes": 0, "shared_bytes": 16384},
        {"kernel": "k", "ok": True, "registers": 64, "spill_bytes": None, "shared_bytes": 49152},
        {"kernel": "k", "ok": False, "registers": None},
    ]
    checks = [
        {
            "case": "ci[0]",
            "oracle": "reference f",
            "max_abs_error": 0.0,
            "caveats": ["bf16 as fp32"],
        },
        {"case": "ci[1]", "oracle": "reference f", "max_abs_error": 0.0078},
    ]
    steps = [
        {**step("compile", "passed"), "data": {"reports": reports}},
        {**step("correctness", "passed"), "data": {"device": "interpreter", "checks": checks}},
    ]
    view = result_view(result(certificate={**result()["certificate"], "steps": steps}))
    assert view.steps[0].message == (
        "k: 40 to 64 registers, 0 bytes spilled, 16 to 48 KiB shared memory "
        "(2 of 3 configurations compile)"
    )
    assert view.steps[1].message == (
        "2 comparisons on interpreter (ci[0], ci[1]) against reference f, largest difference 0.0078"
    )
    assert "Bf16 as fp32" in view.unverified


def test_a_skipped_compile_is_not_claimed_by_a_higher_level() -> None:
    steps = [step("compile", "skipped", "no compiler for xpu"), step("correctness", "passed")]
    view = result_view(result(certificate={**result()["certificate"], "steps": steps}))
    assert [(rung.name, rung.word) for rung in view.ladder][1] == ("compiled", "not checked")
    assert "Compile was skipped: no compiler for xpu" in view.unverified


def test_a_measured_run_shows_interval_and_terms() -> None:
    measured = result(level="faster", device="cuda:0", speedup=SPEEDUP)
    measured["certificate"] = {**measured["certificate"], "steps": [step("speed", "passed")]}
    view = result_view(measured)
    assert view.speedup == "5.50× (5.42 to 5.61)"
    assert "1.15 ms → 209 µs" in view.speedup_terms
    assert "40 interleaved pairs" in view.speedup_terms
    assert "noise ±0.8%, minimum detectable speed-up: 1.1%" in view.speedup_terms
    assert view.unverified == ()


def test_issue_is_matched_across_moved_lines() -> None:
    view = result_view(result())
    assert [(row.id, row.fixed) for row in view.issues] == [
        ("dot_accumulator", True),
        ("suboptimal_tile_size", False),
    ]
    assert view.appeared == ()


def test_issue_that_came_with_the_edit_is_shown_as_new() -> None:
    view = result_view(result(remaining=[issue("int32_offset_overflow", 12)]))
    assert all(row.fixed for row in view.issues)
    assert [row.id for row in view.appeared] == ["int32_offset_overflow"]
    assert "New in the edited source" in render([result(remaining=[issue("new", 12)])])


def test_two_of_the_same_issue_and_one_left() -> None:
    both = [issue("dot_accumulator", 9), issue("dot_accumulator", 19)]
    view = result_view(result(issues=both, remaining=both[1:]))
    assert view.fixed == 1


def test_failed_trial_gives_its_reason() -> None:
    page = _Page(render([result()])).text
    assert "out of shared memory: 262144 > 232448" in page
    repeated = trial(3, kept=False, reason="rejected: no", failed={"step": "x", "message": "no"})
    assert result_view(result(trials=[repeated])).trials[0].outcome == "rejected: no"


def test_nothing_changed() -> None:
    unchanged = result(changed=False, diff="", level="rejected", certificate=None)
    view = result_view(unchanged)
    assert view.unverified == ()
    page = _Page(render([unchanged])).text
    assert "no candidate was accepted" in page
    assert "unchanged" in page


def test_page_is_self_contained_and_escapes() -> None:
    html = render([result(), result(path="<script>alert(1)</script>.py")], created="today")
    page = _Page(html)
    assert "script" not in page.tags
    assert "<b>not bold</b>" in page.text
    assert all(link.startswith("#") for link in page.links)
    assert "url(" not in html
    assert "@import" not in html
    assert "prefers-color-scheme: dark" in html


def test_same_results_give_the_same_page(tmp_path: Path) -> None:
    path = write_report([result()], tmp_path / "deep" / "report.html", created="then")
    assert path.read_text(encoding="utf-8") == render([result()], created="then")


def test_diff_rows_have_the_true_line_numbers() -> None:
    rows = diff_rows(DIFF)
    assert [(r.kind.value, r.old, r.new) for r in rows] == [
        ("hunk", None, None),
        ("same", 8, 8),
        ("removed", 9, None),
        ("added", None, 9),
        ("added", None, 10),
        ("same", 10, 11),
    ]


LINES = st.lists(st.sampled_from(["a", "b = 1", "-- c", "++ d", "@@ e", "", "f\fg"]), max_size=12)


@given(LINES, LINES)
def test_diff_rows_rebuild_both_sides(old: list[str], new: list[str]) -> None:
    import difflib

    before, after = [line + "\n" for line in old], [line + "\n" for line in new]
    text = "".join(difflib.unified_diff(before, after, "a/x", "b/x", n=100))
    rows = diff_rows(text)
    if not rows:
        assert old == new
        return
    sides = (RowKind.SAME, RowKind.REMOVED), (RowKind.SAME, RowKind.ADDED)
    kept = [[r.text for r in rows if r.kind in side] for side in sides]
    assert kept == [old, new]


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [(0.5, "0.5 µs"), (209.04, "209 µs"), (1150.0, "1.15 ms"), (2.5e6, "2.5 s")],
)
def test_time_text(microseconds: float, text: str) -> None:
    assert time_text(microseconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (0.004, "under 10 ms"), (0.42, "0.42 s"), (12.5, "12 s"), (185, "3 min 05 s")],
)
def test_seconds_text(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == text
