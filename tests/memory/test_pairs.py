"""Which contests are remembered, and what of them."""

import pytest
from memory_entries import speedup, transition

from tilewright.memory.bank import Snapshot
from tilewright.memory.model import Outcome
from tilewright.memory.pairs import (
    LONGEST_DIFF,
    LONGEST_LINE,
    MOST_NAMES,
    Thresholds,
    curated,
    diff_of,
    excerpt,
    identifiers,
    outcome_of,
)
from tilewright.memory.run_memory import RunMemory

LIMITS = Thresholds()


@pytest.mark.parametrize(
    ("ratio", "wide", "outcome"),
    [
        (1.10, 0.01, Outcome.HELPED),
        (1.06, 0.03, None),  # the middle lies above 1.04, the bound does not
        (1.10, 0.07, None),
        (1.00, 0.01, None),
        (0.80, 0.01, Outcome.HURT),
        (0.86, 0.02, None),  # the middle lies below 1 / 1.15, the bound does not
        (0.95, 0.01, None),
    ],
)
def test_the_bound_of_the_interval_decides(
    ratio: float, wide: float, outcome: Outcome | None
) -> None:
    assert outcome_of(speedup(ratio, wide), LIMITS) is outcome


def test_what_was_not_timed_teaches_nothing() -> None:
    assert outcome_of(None, LIMITS) is None
    assert curated([transition("rewrite:hoist_load", None)], LIMITS) == []


def test_of_a_parent_and_idea_only_the_fastest_counts() -> None:
    found = curated(
        [transition("free:a", 1.2), transition("free:a", 1.4), transition("free:a", 0.5)], LIMITS
    )
    assert [one.measured.ratio for one in found] == [1.4]


def test_gains_take_half_of_a_generation_and_losses_the_rest() -> None:
    gains = [transition(f"free:g{n}", 1.1 + n / 10) for n in range(6)]
    losses = [transition(f"free:l{n}", 0.3 + n / 20) for n in range(9)]
    found = curated([*gains, *losses], LIMITS)
    assert [one.key for one in found[:4]] == ["free:g5", "free:g4", "free:g3", "free:g2"]
    assert [one.key for one in found[4:]] == ["free:l0", "free:l1", "free:l2", "free:l3"]
    other = [transition("free:later", 1.2, generation=2)]
    assert len(curated([*gains, *losses, *other], LIMITS)) == 9


def test_the_limits_hold_for_a_generation_and_for_a_run() -> None:
    losses = [transition(f"free:l{n}", 0.5) for n in range(3)]
    one = curated([transition("free:g", 1.2), *losses], Thresholds(per_generation=0))
    assert [entry.key for entry in one] == ["free:g"]
    steps = [transition(f"free:{n}", 1.2, generation=n) for n in range(5)]
    limits = Thresholds(per_run=2)
    assert [entry.key for entry in curated(steps, limits)] == ["free:3", "free:4"]
    memory = RunMemory(Snapshot(), "/p", "k", limits=limits)
    for step in steps:
        memory.learn(step)
    assert [entry.key for entry in memory.learned("").experiences] == ["free:3", "free:4"]
    assert len(memory._learned()) == 2


def test_a_huge_change_makes_no_huge_entry() -> None:
    table = ", ".join(f"value_{n}" for n in range(100_000))
    (found,) = curated([transition("free:a", 1.5, after=f"TABLE = [{table}]\n")], LIMITS)
    assert len(found.diff) < 2 * LONGEST_LINE + 100
    assert found.diff.splitlines()[-1].endswith(" [...]")
    assert found.identifiers[:4] == ("load", "TABLE", "value_0", "value_1")
    assert len(found.identifiers) == MOST_NAMES


def test_an_entry_names_issue_cause_and_conditions() -> None:
    one = transition("rewrite:hoist_load", 1.3, issue="loop_invariant_code")
    (found,) = curated([one], LIMITS, "2026-01-01")
    assert found.issue == "loop_invariant_code"
    assert found.title
    assert found.mechanism
    assert found.created == "2026-01-01"
    assert not found.private
    (free,) = curated([transition("free:1234", 1.3)], LIMITS)
    assert free.private
    assert free.title == "do free:1234"


def test_a_diff_has_no_paths_and_is_cut_with_a_word() -> None:
    before = "\n".join(f"row_{n} = {n}" for n in range(90))
    lines = diff_of(before, before.replace("=", "+"))
    assert not any(line.startswith(("---", "+++")) for line in lines)
    cut = excerpt(lines).splitlines()
    assert len(cut) == LONGEST_DIFF + 1
    assert cut[-1] == f"... {len(lines) - LONGEST_DIFF} more lines"


def test_identifiers_are_of_changed_lines() -> None:
    lines = diff_of("keep = 1\nstride = load(p_in)\n", "keep = 1\nstride = hoisted\n")
    assert identifiers(lines) == ("stride", "load", "p_in", "hoisted")
