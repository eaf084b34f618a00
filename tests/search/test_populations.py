"""What populations keep: the best is never lost, and cells and lineages have their places."""

import math
from dataclasses import replace
from random import Random

import pytest
from each import examples
from hypothesis import given
from hypothesis import strategies as st

from tilewright.evaluation.model import Evaluation, Level, text_hash
from tilewright.search.gradient import Gradient
from tilewright.search.node import Node, State
from tilewright.search.population import Place, Population
from tilewright.search.populations.beam import Beam
from tilewright.search.populations.choice import POPULATIONS, population
from tilewright.search.populations.grid import Grid
from tilewright.search.populations.incumbent import Incumbent, Stall
from tilewright.search.populations.islands import Islands
from tilewright.search.spec import BeamSpec, GridSpec, IslandsSpec, StallSpec, StrategySpec

NAMES = sorted(POPULATIONS)
Step = tuple[float, bool, int, int]
STEPS = st.lists(
    st.tuples(st.floats(-0.5, 0.5), st.booleans(), st.integers(0, 3), st.integers(0, 50)),
    max_size=60,
)


def node(
    name: str,
    log_speed: float,
    parent: str | None = None,
    *,
    cell: tuple[int, ...] = (0,),
    alive: bool = True,
    generation: int = 1,
) -> Node:
    found = Evaluation(name, parent or name, Level.CORRECT, ())
    state = State.ALIVE if alive else State.DEAD
    return Node(
        text_hash(name), name, parent, None, name, generation, 1, found,
        log_speed if alive else -math.inf, 0.0, cell, state, may_return=alive and log_speed > 0,
    )  # fmt: skip


ROOT = replace(node("root", 0.0, generation=0), depth=0, may_return=True)


def child(name: str, log_speed: float, *, cell: tuple[int, ...] = (0,)) -> Node:
    return node(name, log_speed, ROOT.hash, cell=cell)


@pytest.mark.parametrize("name", NAMES)
@examples(30)
@given(STEPS, st.integers(0, 2**32))
def test_the_best_is_the_fastest_of_all_whatever_happens(
    name: str, steps: list[Step], seed: int
) -> None:
    found = population(name, StrategySpec(), Gradient())  # type: ignore[arg-type]
    draw = Random(seed)
    found.tell(ROOT)
    parents = list(found.select(8, draw))
    reached = 0.0
    for number, (gain, alive, cell, at) in enumerate(steps):
        parent = parents[at % len(parents)] if parents else ROOT
        log_speed = parent.log_speed + gain
        new = node(
            f"{number}", log_speed, parent.hash, cell=(cell,), alive=alive, generation=number
        )
        found.tell(new)
        if new.may_return:
            reached = max(reached, new.log_speed)
        assert found.best().log_speed == reached
        if at % 7 == 0:
            parents = list(found.select(8, draw)) or parents
            assert all(one.alive for one in parents)


@pytest.mark.parametrize("name", NAMES)
def test_a_text_that_is_measured_again_is_what_was_measured_last(name: str) -> None:
    found = population(name, StrategySpec(), Gradient())  # type: ignore[arg-type]
    found.tell(ROOT)
    found.select(8, Random(1))
    found.tell(child("lucky", 0.3))
    found.tell(child("steady", 0.2))
    assert found.best().text == "lucky"
    found.tell(child("lucky", 0.1))
    assert found.best().text == "steady"


def test_an_incumbent_is_replaced_only_by_what_is_faster() -> None:
    found = Incumbent()
    found.tell(ROOT)
    assert found.tell(child("tie", 0.0)).place is Place.DROPPED
    assert found.tell(child("slow", -0.1)).place is Place.DROPPED
    assert [one.text for one in found.select(5, Random(1))] == ["root"]
    assert found.tell(child("fast", 0.1)).place is Place.BETTER
    assert [one.text for one in found.select(5, Random(1))] == ["fast"]
    found.retire(text_hash("fast"))
    assert found.select(5, Random(1)) == ()


def test_a_beam_goes_on_from_what_is_a_little_slower() -> None:
    found = Beam(BeamSpec(width=2, ideas=1, diverse=0, tolerance=1.10))
    found.tell(ROOT)
    found.select(9, Random(1))
    assert found.tell(child("a little slower", -0.09)).place is Place.KEPT
    assert found.tell(child("much slower", -0.11)).place is Place.DROPPED
    assert [one.text for one in found.select(9, Random(1))] == ["root", "a little slower"]
    assert found.best().text == "root"


def test_what_the_best_has_left_far_behind_competes_only_if_nothing_else_does() -> None:
    found = Beam(BeamSpec(width=3, ideas=1, diverse=0, tolerance=1.10))
    found.tell(ROOT)
    found.tell(child("slower", -0.05))
    found.tell(child("fast", 0.5))
    assert [one.text for one in found.select(9, Random(1))] == ["fast"]
    found.retire(text_hash("fast"))
    assert [one.text for one in found.select(9, Random(1))] == ["root", "slower"]


def test_a_strict_beam_does_not() -> None:
    found = Beam(BeamSpec(width=2, ideas=1, diverse=0, tolerance=1.0))
    found.tell(ROOT)
    found.select(9, Random(1))
    assert found.tell(child("a little slower", -0.01)).place is Place.DROPPED


def test_a_tolerance_may_change_with_the_generation() -> None:
    found = Beam(BeamSpec(tolerance=(1.1, 1.0)))
    found.tell(ROOT)
    slower = child("slower", -0.05)
    assert found.tell(slower).place is Place.KEPT
    later = replace(slower, hash=text_hash("later"), generation=2)
    assert found.tell(later).place is Place.DROPPED


def test_what_is_measured_again_brings_no_earlier_tolerance_back() -> None:
    found = Beam(BeamSpec(width=2, diverse=1, tolerance=(1.2, 1.0)))
    found.tell(ROOT)
    early = node("early", 0.05, ROOT.hash, cell=(1,))
    found.tell(early)
    found.tell(node("late", 0.1, ROOT.hash, generation=2))
    assert [one.text for one in found.select(100, Random(1))][::4] == ["late"]
    found.tell(early)
    assert [one.text for one in found.select(100, Random(1))][::4] == ["late"]


def test_diverse_slots_are_of_cells_that_the_fastest_do_not_hold() -> None:
    found = Beam(BeamSpec(width=3, ideas=1, diverse=1, tolerance=1.2))
    found.tell(ROOT)
    found.select(9, Random(1))
    for name, speed, cell in (("a", 0.20, 1), ("b", 0.19, 1), ("c", 0.18, 1), ("d", 0.05, 2)):
        found.tell(child(name, speed, cell=(cell,)))
    assert [one.text for one in found.select(9, Random(1))] == ["a", "b", "d"]


def test_few_children_of_one_idea_stay() -> None:
    found = Beam(BeamSpec(width=4, ideas=1, diverse=0, tolerance=math.inf, keep_per_idea=1))
    found.tell(ROOT)
    for name, speed in (("a", 0.1), ("b", 0.3), ("c", 0.2)):
        found.tell(child(name, speed))
    # The children have no idea, and so the same one.
    assert [one.text for one in found.select(9, Random(1))] == ["b", "root"]


def test_who_found_no_place_takes_that_of_a_parent_without_ideas() -> None:
    found = Beam(BeamSpec(width=1, ideas=1, diverse=0))
    found.tell(ROOT)
    found.tell(child("fast", 0.1))
    found.tell(child("second", 0.05))
    assert [one.text for one in found.select(9, Random(1))] == ["fast"]
    found.retire(text_hash("fast"))
    assert [one.text for one in found.select(9, Random(1))] == ["second"]
    assert found.best().text == "fast"


def test_a_cell_of_the_grid_has_an_elite_and_a_runner_up() -> None:
    found = Grid(GridSpec(), Gradient())
    found.tell(ROOT)
    assert found.tell(child("a", -0.3, cell=(1,))).place is Place.NEW
    assert found.tell(child("b", -0.2, cell=(1,))).place is Place.BETTER
    assert found.tell(child("tie", -0.2, cell=(1,))).place is Place.KEPT
    assert found.tell(child("c", -0.4, cell=(1,))).place is Place.DROPPED
    cells = {tuple(one["cell"]): one["members"] for one in found.dump()["cells"]}
    assert cells[(1,)] == [text_hash("b"), text_hash("tie")]
    assert {one.text for _ in range(20) for one in found.select(8, Random(_))} == {
        "root", "b", "tie",
    }  # fmt: skip


def test_islands_exchange_each_node_once() -> None:
    found = Islands(IslandsSpec(count=3, every=3, inner="incumbent"), Incumbent)
    found.tell(ROOT)
    found.select(1, Random(1))  # the first island
    found.tell(child("fast", 0.5))
    for number in range(2):
        found.tell(child(f"slow {number}", -0.1))
    seen = [[one.text for one in found.select(1, Random(1))] for _ in range(3)]
    # After the migration: the second island has it, the third does not, the first still does.
    assert seen == [["fast"], ["root"], ["fast"]]
    for number in range(3):
        found.tell(child(f"slower {number}", -0.2))
    again = [[one.text for one in found.select(1, Random(1))] for _ in range(3)]
    assert again == [["fast"], ["root"], ["fast"]]


def test_a_stalled_search_hands_its_whole_tree_over() -> None:
    found = Stall(StallSpec(after=2), lambda: Beam(BeamSpec(width=3, ideas=1, diverse=0)))
    found.tell(ROOT)
    assert [one.text for one in found.select(9, Random(1))] == ["root"]
    found.tell(child("slower", -0.05))
    assert [one.text for one in found.select(9, Random(1))] == ["root"]
    found.tell(child("slow", -0.06))
    assert [one.text for one in found.select(9, Random(1))] == ["root", "slower", "slow"]


def test_an_incumbent_without_ideas_hands_over_at_once() -> None:
    found: Population = Stall(StallSpec(), lambda: Beam(BeamSpec(width=3, ideas=1)))
    found.tell(ROOT)
    found.tell(child("slower", -0.05))
    found.retire(ROOT.hash)
    assert [one.text for one in found.select(9, Random(1))] == ["slower"]
