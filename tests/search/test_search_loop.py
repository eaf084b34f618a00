"""The loop of a search on synthetic landscapes: its tree, its budget, its ends."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random

import pytest
from landscapes import (
    Author,
    Axes,
    Moves,
    SyntheticJudge,
    landscape,
    program_of,
    root_of,
    search,
    text_of,
)

from tilewright.evaluation.model import (
    Candidate,
    Evaluation,
    Level,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.search.budget import Budget
from tilewright.search.grade import ContestGrader
from tilewright.search.loop import EMPTY_GENERATIONS, End, Loop, Outcome, Surroundings
from tilewright.search.node import Idea, IdeaKind, Node, Slot
from tilewright.search.population import Place
from tilewright.search.populations.beam import Beam
from tilewright.search.populations.choice import POPULATIONS
from tilewright.search.populations.incumbent import Incumbent
from tilewright.search.spec import BeamSpec, StopSpec, StrategyName, StrategySpec

NAMES = sorted(POPULATIONS)
VALLEY = landscape("valley", 3)
ROOT = replace(root_of(Axes(VALLEY)), cell=(0,))


class NoBehaviour:
    """All texts are in one cell."""

    def cell(self, text: str, evaluation: Evaluation) -> tuple[int, ...]:
        del text, evaluation
        return (0,)

    def change(self, node: Node, idea: Idea) -> Sequence[int] | None:
        del node, idea
        return None

    def hints(self, direction: Sequence[float]) -> tuple[str, ...]:
        del direction
        return ()


def tree(found: Loop) -> list[tuple[str, str | None, str, float, str]]:
    return [
        (node.slot, node.parent, node.text, node.log_speed, node.state.value)
        for node in found.nodes
    ]


@pytest.mark.parametrize("name", NAMES)
def test_threads_change_nothing_but_the_time(name: StrategyName) -> None:
    spec = StrategySpec(strategy=name, hints="gradient")
    one = search(VALLEY, spec, seed=1, evaluations=60)
    four = search(VALLEY, spec, seed=1, evaluations=60, width=4)
    assert tree(four.loop) == tree(one.loop)
    assert len({slot for slot, *_ in tree(one.loop)}) == len(one.loop.nodes)
    other = search(VALLEY, spec, seed=2, evaluations=60)
    assert tree(other.loop) != tree(one.loop)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("evaluations", [1, 7, 40])
def test_the_budget_is_never_exceeded(name: StrategyName, evaluations: int) -> None:
    found = search(VALLEY, StrategySpec(strategy=name), seed=5, evaluations=evaluations, width=3)
    assert len(found.judge.curve) <= evaluations
    assert len(found.judge.curve) == evaluations or name == "incumbent"


@pytest.mark.parametrize("name", NAMES)
def test_no_text_is_judged_twice_against_the_same_parent(name: StrategyName) -> None:
    found = search(VALLEY, StrategySpec(strategy=name), seed=4, evaluations=120)
    texts = [node.text for node in found.loop.nodes]
    assert len(texts) == len(set(texts))


def test_ties_do_not_climb() -> None:
    """Where nothing gains, chains of lucky contests are found out against the root."""
    flat = replace(landscape("independent", 0), gains=(0.0,) * 14)
    for seed in range(5):
        found = search(flat, StrategySpec(strategy="beam"), seed, 160, 0.0)
        assert found.loop.best().log_speed < 0.06


@dataclass(frozen=True)
class Listed:
    """Ideas with texts of their own, the same for every node."""

    texts: Sequence[str]
    name: str = "listed"

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        del want, rng
        return [
            Idea(text, text, IdeaKind.REWRITE, candidate=Candidate(text, node.hash, "listed", text))
            for text in self.texts
        ]


class Recorder:
    """Collects what a loop reports, and judges by the landscape of no gains."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.judged: list[str] = []

    def judge(self, text: str, parent: str, thorough: bool) -> Evaluation:
        self.judged.append(text)
        return SyntheticJudge(VALLEY, 1).judge(text, parent, thorough)


def loop(recorder: Recorder, texts: Sequence[str], spec: StrategySpec, **given: object) -> Loop:
    surroundings = Surroundings(
        recorder,
        ContestGrader(),
        NoBehaviour(),
        report=recorder.outcomes.append,
        **given,  # type: ignore[arg-type]
    )
    members = Incumbent() if spec.steps[0] == "incumbent" else Beam(spec.beam)
    return Loop(
        spec, members, (Listed(texts),), surroundings, Budget({"evaluations": 100}), 1,
        ROOT,
    )  # fmt: skip


def test_programs_that_differ_in_comments_are_judged_once() -> None:
    recorder = Recorder()
    texts = [text_of(frozenset({1})), "# a comment\n" + text_of(frozenset({1}))]
    end = loop(recorder, texts, StrategySpec(strategy="beam")).run()
    assert end is End.NO_IDEAS
    assert recorder.judged == texts[:1]


def test_an_author_who_repeats_a_program_costs_no_evaluation() -> None:
    recorder = Recorder()
    written = text_of(frozenset({1}))

    class Free(Listed):
        def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
            return [Idea(f"free {at}", "anything", IdeaKind.MODEL) for at in range(2)]

    def author(slot: Slot) -> Candidate:
        return Candidate(written, slot.parent.hash, "author", slot.idea.text)

    surroundings = Surroundings(
        recorder, ContestGrader(), NoBehaviour(), author, recorder.outcomes.append
    )
    spec = StrategySpec(strategy="beam", beam=BeamSpec(width=1, ideas=2, diverse=0))
    budget = Budget({"evaluations": 100})
    found = Loop(spec, Beam(spec.beam), (Free(()),), surroundings, budget, 1, ROOT)
    assert found.run() is End.NO_IDEAS
    assert recorder.judged == [written]
    repeated = [one for one in recorder.outcomes if one.node is None]
    assert repeated
    assert repeated[0].placement.reason == "the same program as that of slot 1.1"


def test_ideas_without_end_that_give_one_text_end_a_search() -> None:
    recorder, numbers = Recorder(), count()

    class Endless(Listed):
        def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
            return [Idea(f"free {next(numbers)}", "anything", IdeaKind.MODEL)]

    def author(slot: Slot) -> Candidate:
        return Candidate(text_of(frozenset({1})), slot.parent.hash, "author", slot.idea.text)

    spec = StrategySpec(strategy="beam", beam=BeamSpec(width=1, ideas=1, diverse=0))
    surroundings = Surroundings(recorder, ContestGrader(), NoBehaviour(), author)
    budget = Budget({"evaluations": 100})
    found = Loop(spec, Beam(spec.beam), (Endless(()),), surroundings, budget, 1, ROOT)
    assert found.run() is End.NOTHING_NEW
    assert len(recorder.judged) == 1
    assert found.generation == 1 + EMPTY_GENERATIONS


def test_a_reply_without_a_text_is_reported_and_not_judged() -> None:
    recorder = Recorder()

    class Free(Listed):
        def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
            return [Idea("free", "anything", IdeaKind.MODEL)]

    surroundings = Surroundings(
        recorder, ContestGrader(), NoBehaviour(), report=recorder.outcomes.append
    )
    spec = StrategySpec(strategy="beam")
    found = Loop(spec, Beam(spec.beam), (Free(()),), surroundings, Budget({}), 1, ROOT)
    assert found.run() is End.NO_IDEAS
    assert recorder.judged == []
    assert recorder.outcomes[0].placement.place is Place.DROPPED
    assert recorder.outcomes[0].placement.reason == "no model was asked to write it"
    assert found.best().text == ROOT.text


@pytest.mark.parametrize(
    ("given", "stop", "expected"),
    [
        ({"is_over": lambda generation: generation == 2}, StopSpec(), End.TIME),
        ({"roof": lambda node: 0.95 if node.parent else 0.5}, StopSpec(roof=0.9), End.ROOF),
        ({}, StopSpec(stall=2), End.STALL),
        ({}, StopSpec(), End.NO_IDEAS),
    ],
)
def test_what_ends_a_search(given: dict[str, object], stop: StopSpec, expected: End) -> None:
    gaining = next(m for m, gain in enumerate(VALLEY.gains) if gain <= -0.1)
    costing = [m for m, gain in enumerate(VALLEY.gains) if gain > 0]
    texts = [text_of(frozenset({move})) for move in (gaining, *costing)]
    spec = StrategySpec(strategy="incumbent", stop=stop)
    found = loop(Recorder(), texts, spec, **given)
    assert found.run() is expected
    assert program_of(found.best().text) == {gaining}


def test_a_search_after_another_numbers_its_generations_on() -> None:
    """Nodes that failed are not passed on, and their slots' names are taken all the same."""
    spec = StrategySpec(strategy="incumbent", stop=StopSpec(stall=2))
    costing = [m for m, gain in enumerate(VALLEY.gains) if gain > 0]
    texts = [text_of(frozenset({move})) for move in costing]
    first = loop(Recorder(), texts, spec)
    assert first.run() is End.STALL
    assert first.generation == 2
    surroundings = Surroundings(Recorder(), ContestGrader(), NoBehaviour())
    second = Loop(
        spec, Incumbent(), (Listed(texts[2:]),), surroundings, Budget({"evaluations": 1}), 1, ROOT,
        generation=first.generation,
    )  # fmt: skip
    assert second.run() is End.BUDGET
    assert [node.slot for node in second.nodes] == ["3.1"]


def test_judges_work_at_the_same_time() -> None:
    meeting = threading.Barrier(2)

    class Meeting(Recorder):
        def judge(self, text: str, parent: str, thorough: bool) -> Evaluation:
            meeting.wait(600)
            return super().judge(text, parent, thorough)

    recorder = Meeting()
    texts = [text_of(frozenset({move})) for move in range(14) if move not in VALLEY.needs][:2]
    loop(recorder, texts, StrategySpec(strategy="beam"), width=2).run()
    assert sorted(recorder.judged) == sorted(texts)
    assert [one.candidate.text for one in recorder.outcomes] == texts


def test_moves_of_a_landscape_keep_their_order_of_needs() -> None:
    first, second = next(iter(VALLEY.pairs))
    ideas = Moves(VALLEY).ideas(root_of(Axes(VALLEY)), 99, Random(1))
    assert f"move:{first}" in {idea.id for idea in ideas}
    assert f"move:{second}" not in {idea.id for idea in ideas}


@pytest.mark.parametrize(
    ("status", "level", "alive"),
    [(StepStatus.FAILED, Level.REJECTED, False), (StepStatus.ERROR, Level.COMPILED, True)],
)
def test_a_text_that_fails_when_measured_again_is_no_parent_and_is_not_asked_about_twice(
    status: StepStatus, level: Level, *, alive: bool
) -> None:
    first = Recorder()
    corrected: list[Node] = []

    class Unsteady(Recorder):
        def judge(self, text: str, parent: str, thorough: bool) -> Evaluation:
            if text not in first.judged:
                return first.judge(text, parent, thorough)
            self.judged.append(text)
            step = StepResult(StepName.CORRECTNESS, status, "output 0 differs")
            return Evaluation(text_hash(text), text_hash(parent), level, (step,))

    again = Unsteady()

    surroundings = Surroundings(
        again, ContestGrader(), NoBehaviour(), Author(VALLEY, 1, 0.0), corrected=corrected.append
    )
    beam = BeamSpec(width=2, ideas=2, diverse=0)
    spec = StrategySpec(strategy="beam", beam=beam, anchor=1e-6)
    budget = Budget({"evaluations": 40})
    found = Loop(spec, Beam(beam), (Moves(VALLEY),), surroundings, budget, 1, ROOT)
    found.run()
    assert len(first.judged) + len(again.judged) == budget.amount_spent("evaluations") > 30
    assert again.judged
    assert len(again.judged) == len(set(again.judged))
    nodes = [node for node in found.nodes if node.text in again.judged]
    assert {node.alive for node in nodes} == {alive}
    assert len(corrected) == (0 if alive else len(again.judged))
    assert alive or found.best().text not in again.judged


def test_a_text_of_an_earlier_search_is_reported_when_it_is_measured_again() -> None:
    spec = StrategySpec(strategy="beam", anchor=1e-6)
    known = search(VALLEY, spec, seed=1, evaluations=12).loop.nodes
    chained = {n.hash for n in known if n.depth > 1 and n.evaluation.baseline != ROOT.hash}
    corrected: list[Node] = []
    surroundings = Surroundings(
        Recorder(), ContestGrader(), Axes(VALLEY), Author(VALLEY, 1, 0.0),
        corrected=corrected.append,
    )  # fmt: skip
    budget = Budget({"evaluations": 12})
    Loop(
        spec,
        Beam(spec.beam),
        (Moves(VALLEY),),
        surroundings,
        budget,
        1,
        root_of(Axes(VALLEY)),
        known=known,
    ).run()
    again = [node for node in corrected if node.hash in chained]
    assert again
    assert {node.evaluation.baseline for node in again} == {ROOT.hash}
