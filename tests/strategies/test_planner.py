"""The order of stages is a partial order that no wish can break."""

from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.analysis.model import Issue
from tilewright.knowledge.stages import DEFAULT_ORDER, HARD_DEPENDENCIES, Stage, order_stages
from tilewright.source.text import Range
from tilewright.strategies.planner import plan, replan


def issue(stage: Stage, severity: int = 3) -> Issue:
    return Issue("some_issue", stage, severity, "", "kernel", Range(1, 0, 1, 1))


def violations(order: Sequence[Stage]) -> list[tuple[Stage, Stage]]:
    """The hard dependencies that an order breaks."""
    place = {stage: position for position, stage in enumerate(order)}
    both = [pair for pair in HARD_DEPENDENCIES if place.keys() >= set(pair)]
    return [pair for pair in both if place[pair[0]] > place[pair[1]]]


def test_the_default_order_is_legal() -> None:
    assert violations(DEFAULT_ORDER) == []
    assert order_stages(DEFAULT_ORDER) == DEFAULT_ORDER


@given(st.permutations(DEFAULT_ORDER), st.integers(0, len(DEFAULT_ORDER)))
def test_any_wish_becomes_a_legal_order_of_the_same_stages(wish: list[Stage], length: int) -> None:
    wanted = wish[:length]
    order = order_stages(wanted)
    assert sorted(order) == sorted(wanted)
    assert violations(order) == []


@given(st.permutations(DEFAULT_ORDER))
def test_a_legal_wish_is_left_as_it_is(wish: list[Stage]) -> None:
    legal = order_stages(wish)
    assert order_stages(legal) == legal


def test_dependencies_hold_through_stages_that_are_left_out() -> None:
    wanted = (Stage.AUTOTUNING, Stage.FUSION, Stage.ALGORITHMIC)
    assert order_stages(wanted) == (Stage.ALGORITHMIC, Stage.FUSION, Stage.AUTOTUNING)
    assert order_stages((Stage.AUTOTUNING, Stage.DTYPE_FIX)) == (
        Stage.DTYPE_FIX,
        Stage.AUTOTUNING,
    )


def test_every_triple_that_the_papers_single_pass_gets_wrong_is_right() -> None:
    for wish in permutations((Stage.DEVICE_SPECIFIC, Stage.ALGORITHMIC, Stage.FUSION)):
        assert order_stages(wish) == (Stage.ALGORITHMIC, Stage.FUSION, Stage.DEVICE_SPECIFIC)


def test_the_plan_has_the_stages_with_issues_worst_first_where_free() -> None:
    issues = [issue(Stage.MEMORY_ACCESS, 2), issue(Stage.DTYPE_FIX, 4), issue(Stage.AUTOTUNING, 5)]
    assert plan(issues) == (Stage.DTYPE_FIX, Stage.MEMORY_ACCESS, Stage.AUTOTUNING)


def test_faults_come_before_everything() -> None:
    issues = [issue(Stage.ALGORITHMIC, 5), issue(Stage.CORRECTNESS, 1)]
    assert plan(issues)[0] is Stage.CORRECTNESS


def test_no_issues_no_stages() -> None:
    assert plan([]) == ()


@pytest.mark.parametrize("done", [(), (Stage.DTYPE_FIX,)])
def test_replanning_adds_what_appeared_and_never_repeats(done: tuple[Stage, ...]) -> None:
    issues = [issue(Stage.DTYPE_FIX), issue(Stage.FUSION)]
    expected = tuple(s for s in (Stage.DTYPE_FIX, Stage.FUSION) if s not in done)
    assert replan(issues, done) == expected
