"""Searches that remember: what reaches the bank, what a later run sees, and what a resumed one."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from scripted_models import QUIET, ScriptedCascade, source, time_of

from tilewright.evaluation.model import Candidate, Speedup, text_hash
from tilewright.memory.bank import Bank
from tilewright.memory.model import Origin, Outcome
from tilewright.search.node import Idea, IdeaKind, Node
from tilewright.search.spec import MemorySpec, ShownSpec, StopSpec, StrategySpec
from tilewright.store.store import Store
from tilewright.strategies.generations import GenerationSearch
from tilewright.strategies.ideas import choice
from tilewright.strategies.search_memory import SearchMemory

LOCAL = StrategySpec(
    strategy="incumbent", memory=MemorySpec(use="local", blind=0.0), stop=StopSpec(roof=None)
)
RUN = LOCAL.model_copy(update={"memory": MemorySpec(use="run")})


class Changes:
    """Ideas that change the time of a text, each once; "good" and "better" are the last ones."""

    name = "changes"
    effects: ClassVar = {"bad": 1.3, "worse": 1.5, "nothing": 1.0, "good": 0.8, "better": 0.7}

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        del want, rng
        found = []
        for name, factor in self.effects.items():
            made = node.text.partition("#")[2].split()
            if name in made:
                continue
            us = round(time_of(node.text) * factor, 6)
            text = f"{source(us).rstrip()}  # {' '.join([*made, name])}\n"
            candidate = Candidate(text, node.hash, f"rewrite:{name}", name)
            key = f"rewrite:{name}@{candidate.hash[:12]}"
            found.append(Idea(key, name, IdeaKind.REWRITE, candidate=candidate))
        return found


@pytest.fixture(autouse=True)
def changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(choice.SOURCES, "rewrites", lambda run: Changes())  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "store.sqlite")) as opened:
        yield opened


@pytest.fixture
def bank(store: Store) -> Iterator[Bank]:
    with closing(Bank(store)) as opened:
        yield opened


def searched(
    store: Store,
    bank: Bank | None,
    us: float,
    spec: StrategySpec = LOCAL,
    budget: int = 12,
    path: str = "/p/kernel.py",
    **given: Any,
) -> GenerationSearch:
    """Search, and put on the bank what was learned, as ``optimize`` does at the end."""
    cascade: Any = ScriptedCascade(source(us), **given)
    with store.run(f"{us}{path}", path, {}) as (run, ledger):
        search = GenerationSearch(
            cascade, (), ledger, QUIET, budget, None, spec, 7, lambda note: None
        )
        search.memory = SearchMemory(
            spec.memory, Path(path), source(us), run.id, ledger, bank, search.facts
        )
        search.run()
        if bank is not None:
            ratio = us / time_of(search.current)
            found = Speedup(
                ratio, ratio * 0.99, ratio * 1.01, 0.99, 0.01, us, us / ratio, "", "a GPU", "", 20
            )
            search.memory.finish(bank, search.current, found, "2026-01-01")
            store.finish(run.id, {})
    return search


def slots(search: GenerationSearch) -> list[tuple[str, str]]:
    nodes = [trial.node for trial in search.trials if trial.node is not None and trial.node.idea]
    return [(node.idea.source.value, node.idea.text) for node in nodes if node.idea]


def test_contests_and_the_way_to_the_best_reach_the_bank(store: Store, bank: Bank) -> None:
    search = searched(store, bank, 100)
    held = bank.snapshot()
    outcomes = {(one.key, one.outcome) for one in held.experiences}
    assert {("rewrite:good", Outcome.HELPED), ("rewrite:better", Outcome.HELPED)} <= outcomes
    assert ("rewrite:worse", Outcome.HURT) in outcomes
    assert not any(key == "rewrite:nothing" for key, _ in outcomes)
    (schedule,) = held.schedules
    assert [step.key for step in schedule.steps] == ["rewrite:good", "rewrite:better"]
    assert schedule.ratio == pytest.approx(100 / time_of(search.current))
    assert {one.source.path for one in held.experiences} == {"kernel.py"}


def test_a_related_problem_replays_the_schedule_first(store: Store, bank: Bank) -> None:
    searched(store, bank, 100)
    found = searched(store, bank, 200)
    assert slots(found)[:2] == [("schedule", "good"), ("schedule", "better")]
    assert time_of(found.current) == pytest.approx(200 * 0.8 * 0.7)
    assert all(trial.candidate.call is None for trial in found.trials)


def test_a_step_that_fails_is_skipped_and_the_search_goes_on(
    store: Store, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched(store, bank, 100)
    monkeypatch.setattr(Changes, "effects", {**Changes.effects, "good": 1.2, "bad": 0.9})
    found = searched(store, bank, 200)
    assert [text for origin, text in slots(found) if origin == "schedule"] == ["good", "better"]
    assert time_of(found.current) == pytest.approx(200 * 0.7 * 0.9)


def test_the_memory_of_a_run_alone_leaves_no_trace(store: Store, bank: Bank) -> None:
    searched(store, bank, 100, RUN)
    assert bank.number() == 0


def test_what_hurt_in_this_run_is_tried_last(store: Store, bank: Bank) -> None:
    found = searched(store, bank, 100, RUN, budget=12)
    assert time_of(found.current) == pytest.approx(100 * 0.8 * 0.7)


@pytest.mark.parametrize("dies_after", [1, 2, 3])
def test_a_resumed_run_sees_the_bank_as_it_was(store: Store, bank: Bank, dies_after: int) -> None:
    searched(store, bank, 100)
    whole = searched(Store(store.path.with_name("other")), bank, 200)
    with pytest.raises(KeyboardInterrupt):
        searched(store, bank, 300, dies_after=dies_after)
    bank.forget([one.id for one in bank.snapshot().experiences])
    found = searched(store, bank, 300)
    assert slots(found)[:2] == slots(whole)[:2] == [("schedule", "good"), ("schedule", "better")]


def test_a_replay_needs_no_bank(store: Store, bank: Bank) -> None:
    searched(store, bank, 100)
    whole = searched(store, bank, 200)
    run = store.records.named("last")
    ledger = store.records.ledger(run.id)
    cascade: Any = ScriptedCascade(source(200))
    search = GenerationSearch(cascade, (), ledger, QUIET, 12, None, LOCAL, 7, lambda note: None)
    search.memory = SearchMemory(
        LOCAL.memory, Path("/p/kernel.py"), source(200), run.id, ledger, None, search.facts
    )
    search.run()
    assert slots(search) == slots(whole)
    assert not cascade.judged
    ledger.close()


def test_a_rewind_that_cost_time_is_remembered_as_the_way_back(
    store: Store, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rewinds(run: object) -> Any:
        class Slower(Changes):
            def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
                text = source(130)
                candidate = Candidate(
                    text, node.hash, "rewind:x", "put in", issues=("loop_invariant_code",)
                )
                name = f"rewind:loop_invariant_code@{candidate.hash[:12]}"
                return [Idea(name, "put in", IdeaKind.REWRITE, candidate=candidate)]

        return Slower()

    monkeypatch.setitem(choice.SOURCES, "rewrites", rewinds)
    searched(store, bank, 100, budget=3)
    (entry,) = bank.snapshot().experiences
    assert entry.key == "rewrite:hoist_load"
    assert entry.outcome is Outcome.HELPED
    assert entry.measured.ratio == pytest.approx(1.3)
    assert entry.source.origin is Origin.MINED
    assert entry.source.kernel == text_hash(source(130))


def test_nothing_is_rewound_where_nothing_can_be_timed(store: Store) -> None:
    spec = StrategySpec(strategy="rewind", stop=StopSpec(roof=None))
    cascade: Any = ScriptedCascade(source(100), times=False)
    notes: list[str] = []
    with store.run("key", "kernel.py", {}) as (_, ledger):
        search = GenerationSearch(cascade, (), ledger, QUIET, 5, None, spec, 7, notes.append)
        search.run()
    assert search.current == source(100)
    assert notes == ["the step rewind was left out: nothing can be timed here"]


def test_what_is_learned_does_not_depend_on_what_prompts_show(store: Store, bank: Bank) -> None:
    shown = ShownSpec(helped=0, hurt=0)
    memory = LOCAL.memory.model_copy(update={"shown": shown})
    searched(store, bank, 100, LOCAL.model_copy(update={"memory": memory}))
    outcomes = {one.outcome for one in bank.snapshot().experiences}
    assert outcomes == {Outcome.HELPED, Outcome.HURT}
