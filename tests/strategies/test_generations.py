"""A search in generations on a scripted evaluation: its tree, its record, how it resumes."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from scripted_models import FAULTY, QUIET, ScriptedCascade, source, time_of

from tilewright.evaluation.model import Candidate, Evaluation, text_hash
from tilewright.harness_fault import HarnessFaultError
from tilewright.search.configurations import configurations
from tilewright.search.node import Idea, IdeaKind, Node
from tilewright.search.spec import BeamSpec, BudgetSpec, StopSpec, StrategySpec
from tilewright.store.store import Store
from tilewright.strategies import generations
from tilewright.strategies.generations import GenerationSearch
from tilewright.strategies.ideas import choice

BEAM = StrategySpec(
    strategy="beam", beam=BeamSpec(width=2, ideas=3, diverse=0), stop=StopSpec(roof=None)
)


class Factors:
    """Ideas that multiply the time of a text."""

    name = "factors"

    def __init__(self, *factors: float) -> None:
        self._factors = factors

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        del want, rng
        found = []
        for factor in self._factors:
            us = round(time_of(node.text) * factor, 6) if factor > 0 else factor
            text = source(us)
            candidate = Candidate(text, node.hash, "factor", f"take {us} us")
            name = f"factor:{factor}"
            found.append(Idea(name, f"take {us} us", IdeaKind.REWRITE, candidate=candidate))
        return found


@pytest.fixture(autouse=True)
def factors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times 0.9, 1.05 and 0.97, and a wrong result."""
    ideas = Factors(0.9, -1.0, 1.05, 0.97)
    monkeypatch.setitem(choice.SOURCES, "rewrites", lambda run: ideas)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite")


def searched(
    store: Store, cascade: Any, spec: StrategySpec = BEAM, budget: int = 20, **given: Any
) -> GenerationSearch:
    with store.run("key", "kernel.py", {}) as (run, ledger):
        search = GenerationSearch(
            cascade, (), ledger, QUIET, budget, None, spec, run.seed, lambda note: None, **given
        )
        search.run()
    return search


def tree(search: GenerationSearch) -> list[tuple[Any, ...]]:
    return [
        (t.node.slot, time_of(t.candidate.text), t.node.parent, t.node.state, t.kept, t.reason)
        for t in search.trials
        if t.node is not None
    ]


@pytest.mark.parametrize("name", ["beam", "grid", "incumbent", "islands", "stall"])
def test_the_best_is_the_fastest_that_was_judged(store: Store, name: Any) -> None:
    spec = StrategySpec(strategy=name, beam=BEAM.beam, stop=BEAM.stop)
    found = searched(store, ScriptedCascade(source(100)), spec, 20)
    correct = [time_of(t.candidate.text) for t in found.trials if t.evaluation.speedup]
    assert time_of(found.current) == min(correct) < 90
    assert found.finalists[0] == found.current
    nodes = (t.node for t in found.trials if t.node is not None)
    possible = {time_of(node.text) for node in nodes if node.may_return and node.alive}
    assert [time_of(text) for text in found.finalists] == sorted(possible)[:3]
    kept = [time_of(t.candidate.text) for t in found.trials if t.kept]
    assert kept == sorted(kept, reverse=True)


def test_a_slower_text_is_a_parent_and_is_not_returned(store: Store) -> None:
    found = searched(store, ScriptedCascade(source(100)), budget=8)
    slower = next(t for t in found.trials if time_of(t.candidate.text) == 105)
    assert slower.node is not None
    assert (slower.node.alive, slower.node.may_return, slower.kept) == (True, False, False)
    assert source(105) not in found.finalists


def test_a_wrong_text_is_neither_returned_nor_a_parent(store: Store) -> None:
    found = searched(store, ScriptedCascade(source(100)), budget=30)
    wrong = [t for t in found.trials if t.candidate.text == source(-1)]
    assert len(wrong) == 1  # an equal text is not judged again
    assert wrong[0].node is not None
    assert not wrong[0].node.alive
    assert wrong[0].reason == "rejected at correctness: output 0 differs"
    assert text_hash(source(-1)) not in {t.node.parent for t in found.trials if t.node}


def test_speeds_are_chained_and_then_measured_against_the_root(store: Store) -> None:
    cascade = ScriptedCascade(source(100))
    found = searched(store, cascade, budget=40)
    best = next(t for t in reversed(found.trials) if t.candidate.text == found.current)
    assert best.node is not None
    assert best.node.log_speed == pytest.approx(math.log(100 / time_of(found.current)), abs=1e-6)
    deep = {t.node.hash for t in found.trials if t.node and t.node.depth > 2}
    again = [text for text, parent in cascade.judged if parent == source(100)]
    assert {text_hash(text) for text in again} & deep


@pytest.mark.parametrize("strategy", ["beam", ("beam", "grid")])
@pytest.mark.parametrize("budget", [1, 5, 17, 30])
def test_no_more_evaluations_than_the_budget_has(store: Store, budget: int, strategy: Any) -> None:
    cascade = ScriptedCascade(source(100))
    spec = BEAM.model_copy(update={"strategy": strategy, "stop": StopSpec(roof=None, stall=8)})
    searched(store, cascade, spec, budget=budget)
    without_root = [pair for pair in cascade.judged if pair != (source(100), source(100))]
    assert len(without_root) == budget


@pytest.mark.parametrize("dies_after", [1, 2, 5, 9, 14])
@pytest.mark.parametrize("name", ["beam", "grid", "stall"])
def test_killed_anywhere_it_resumes_to_the_same_tree_and_repeats_nothing(
    store: Store, dies_after: int, name: Any
) -> None:
    spec = StrategySpec(strategy=name, beam=BEAM.beam, stop=BEAM.stop, hints="gradient", seed=7)
    whole = searched(Store(store.path.with_name("whole")), ScriptedCascade(source(100)), spec)
    first = ScriptedCascade(source(100), dies_after=dies_after)
    with pytest.raises(KeyboardInterrupt):
        searched(store, first, spec)
    second = ScriptedCascade(source(100))
    found = searched(store, second, spec)
    assert not set(first.judged) & set(second.judged)
    assert tree(found) == tree(whole)
    assert len(tree(found)) > 10


def test_faults_of_the_harness_end_the_search(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoiled = [f"TIME = {FAULTY}  # {at}\nX = {at}\n" for at in range(4)]

    class Spoiled(Factors):
        def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
            return [
                Idea(text, text, IdeaKind.REWRITE, candidate=Candidate(text, node.hash, "x", text))
                for text in spoiled
            ]

    cascade = ScriptedCascade(source(100))
    judge = cascade.judge
    cascade.judge = lambda text, baseline, *, thorough=True, **_: judge(  # type: ignore[method-assign]
        text.split("#")[0] + "\n", baseline, thorough=thorough
    )
    monkeypatch.setitem(choice.SOURCES, "rewrites", lambda run: Spoiled())  # type: ignore[arg-type]
    with pytest.raises(HarnessFaultError, match="a fault of ours"):
        searched(store, cascade)


def test_the_time_that_is_over_is_on_record(store: Store) -> None:
    spec = BEAM.model_copy(update={"budget": BudgetSpec(minutes=1e-9)})
    found = searched(store, ScriptedCascade(source(100)), spec)
    assert found.trials == []
    use = found.use()
    assert use is not None
    assert use.ended == ("beam: the time is over",)


def test_minutes_before_an_interruption_count(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each verdict takes a minute; of five minutes the first process takes three."""
    now = [0.0]
    monkeypatch.setattr(generations.time, "monotonic", lambda: now[0])

    class Slow(ScriptedCascade):
        def judge(
            self, text: str, baseline: str, *, thorough: bool = True, **_: object
        ) -> Evaluation:
            found = super().judge(text, baseline, thorough=thorough)
            now[0] += 60
            return found

    spec = BEAM.model_copy(
        update={"budget": BudgetSpec(minutes=5), "beam": BeamSpec(width=1, ideas=1), "seed": 3}
    )
    whole = searched(Store(store.path.with_name("whole")), Slow(source(100)), spec)
    assert len(whole.trials) == 4, "the root takes a minute as well"
    with pytest.raises(KeyboardInterrupt):
        searched(store, Slow(source(100), dies_after=3), spec)
    now[0] += 6000
    found = searched(store, Slow(source(100)), spec)
    assert tree(found) == tree(whole)
    use = found.use()
    assert use is not None
    assert use.ended == ("beam: the time is over",)


def test_a_step_goes_on_with_the_tree_of_the_one_before(store: Store) -> None:
    spec = BEAM.model_copy(
        update={"strategy": ("incumbent", "beam"), "stop": StopSpec(roof=None, stall=2)}
    )
    found = searched(store, ScriptedCascade(source(100)), spec, 30)
    use = found.use()
    assert use is not None
    assert [words.split(":")[0] for words in use.ended] == ["incumbent", "beam"]
    slots = [t.node.slot for t in found.trials if t.node]
    assert len(slots) == len(set(slots))
    assert len({t.candidate.text for t in found.trials}) == len(found.trials)


def test_a_correction_leaves_a_reply_without_a_text_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a reply has the hash of its parent."""

    class Mixed(Factors):
        def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
            return [Idea("free", "no text", IdeaKind.MODEL), *super().ideas(node, want, rng)]

    ideas = Mixed(0.9, 1.05)
    monkeypatch.setitem(choice.SOURCES, "rewrites", lambda run: ideas)  # type: ignore[arg-type]
    found = searched(store, ScriptedCascade(source(100)), BEAM, 12)
    empty = next(t for t in found.trials if t.candidate.unusable and t.node and t.node.depth > 1)
    parents = (t.node for t in found.trials if t.candidate.hash == empty.candidate.hash)
    parent = next(node for node in parents if node is not None and node.alive)
    found._surroundings().corrected(replace(parent, log_speed=0.01))
    after = {t.number: t.node for t in found.trials}
    assert after[empty.number] == empty.node
    assert [node.log_speed for node in after.values() if node and node.slot == parent.slot] == [
        0.01
    ]


def test_where_nothing_is_timed_nothing_is_called_measured(store: Store) -> None:
    found = searched(store, ScriptedCascade(source(100), times=False), budget=6)
    assert found.trials
    assert not any(t.node.measured for t in found.trials if t.node)
    assert all("no static estimate" in t.reason for t in found.trials if t.node and t.node.alive)
    assert found._best() is None


@pytest.mark.parametrize("name", sorted(configurations()))
def test_each_configuration_runs_with_deterministic_ideas_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    steps: Any = {step: lambda run: Factors(0.95) for step in choice.STEPS}
    monkeypatch.setattr("tilewright.strategies.generations.STEPS", steps)
    spec = configurations()[name]
    spec = spec.model_copy(update={"stop": spec.stop.model_copy(update={"roof": None})})
    if name == "xe-forge":
        assert spec.steps == ("staged",)
        return
    found = searched(store, ScriptedCascade(source(100)), spec, 40)
    use = found.use()
    assert use is not None
    assert tuple(words.split(":")[0] for words in use.ended) == spec.steps
    assert time_of(found.current) < 90
    assert len(found.trials) <= 40


@pytest.mark.parametrize("name", ["beam", "grid", "islands", "stall", "incumbent"])
def test_a_record_alone_gives_the_same_tree(store: Store, name: Any) -> None:
    spec = StrategySpec(strategy=name, beam=BEAM.beam, stop=BEAM.stop, hints="gradient")
    first = searched(store, ScriptedCascade(source(100)), spec)

    class NoCascade(ScriptedCascade):
        def judge(
            self, text: str, baseline: str, *, thorough: bool = True, **_: object
        ) -> Evaluation:
            raise AssertionError(f"{text} is not on record")

    records = store.records
    record = records.named("last")
    ledger = records.ledger(record.id)
    again = GenerationSearch(
        NoCascade(source(100)), (), ledger, QUIET, 20, None, spec, record.seed,  # type: ignore[arg-type]
        lambda note: None,
    )  # fmt: skip
    again.run()
    ledger.close()
    assert tree(again) == tree(first)
    assert again.use() == first.use()
