"""Decision lists are grown where another setting wins by enough, and name what tells apart."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tilewright.strategies.decision_lists import MOST_RULES, Winners, grown, told_apart

CHOICES = ({"BLOCK": 64}, {"BLOCK": 128}, {"BLOCK": 256})
CASES = ({"M": 64, "N": 4096}, {"M": 512, "N": 4096}, {"M": 8192, "N": 512})


def test_a_rule_stands_where_another_setting_wins() -> None:
    times = {0: [10.0, 50.0, 90.0], 1: [20.0, 30.0, 60.0], 2: [30.0, 29.9, 30.0]}
    found = grown(Winners(CASES, times, CHOICES))
    assert found is not None
    (rule,) = found.rules
    assert (rule.extent, rule.bound, rule.choice) == ("M", 64, CHOICES[0])
    assert not rule.above
    assert found.otherwise == CHOICES[2]
    assert [found.choice(case)["BLOCK"] for case in CASES] == [64, 256, 256]


def test_a_gain_below_one_percent_is_no_rule() -> None:
    times = {0: [10.0, 10.0, 10.05], 1: [10.1, 10.1, 10.0], 2: [20.0, 20.0, 20.0]}
    found = grown(Winners(CASES, times, CHOICES))
    assert found is not None
    assert found.rules == ()
    assert found.otherwise == CHOICES[0]


def test_no_case_gets_much_slower_than_by_the_best_single_setting() -> None:
    # The second setting wins on the first two cases together, and loses 10 % on one of them.
    times = {0: [10.0, 10.0, 10.0], 1: [4.0, 11.0, 30.0], 2: [30.0, 30.0, 10.1]}
    found = grown(Winners(CASES, times, CHOICES))
    assert found is not None
    assert [found.choice(case)["BLOCK"] for case in CASES] == [128, 64, 64]


def test_a_setting_that_does_not_run_on_a_case_serves_the_others() -> None:
    times = {0: [5.0, None, None], 1: [20.0, 30.0, 60.0], 2: [None, None, 10.0]}
    found = grown(Winners(CASES, times, CHOICES))
    assert found is not None
    assert [found.choice(case)["BLOCK"] for case in CASES] == [64, 128, 256]
    alone = grown(Winners(CASES, {0: [5.0, None, None]}, CHOICES))
    assert alone is None


TIMES = st.lists(st.lists(st.floats(1.0, 1e3), min_size=3, max_size=3), min_size=1, max_size=3)


@given(TIMES)
def test_a_list_is_never_slower_than_the_best_single_setting(rows: list[list[float]]) -> None:
    winners = Winners(CASES, dict(enumerate(rows)), CHOICES[: len(rows)])
    found = grown(winners)
    assert found is not None
    assert len(found.rules) <= MOST_RULES
    chosen = [winners.choices.index(found.choice(case)) for case in CASES]
    mean = sum(math.log(rows[n][case]) for case, n in enumerate(chosen)) / len(CASES)
    assert mean <= winners.best(range(len(CASES)))[0] + 1e-9


def test_extents_that_say_the_same_are_named_once() -> None:
    cases = [{"M": 1, "stride": 1, "K": 7, "N": 3}, {"M": 2, "stride": 2, "K": 7, "N": 1}]
    assert told_apart(cases) == ["M", "N"]


def test_without_a_setting_there_is_no_list() -> None:
    assert grown(Winners(CASES, {}, [])) is None
