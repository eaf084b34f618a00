"""The loop of a search: parents, ideas, candidates, verdicts, one generation after the other.

A generation's slots are fixed before it begins, and their outcomes are taken in the order of the
slots, so that the tree does not depend on how many devices and threads there are.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, TypeVar

from tilewright.evaluation.model import (
    Candidate,
    Evaluation,
    Level,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.search.behaviour import Behaviour
from tilewright.search.budget import Budget
from tilewright.search.draws import rng
from tilewright.search.grade import Grade, Grader
from tilewright.search.gradient import Gradient
from tilewright.search.idea_source import IdeaSource
from tilewright.search.menu import Menu
from tilewright.search.node import Node, Slot, State
from tilewright.search.population import Place, Placement, Population
from tilewright.search.spec import StrategySpec


class Judge(Protocol):
    """Says what a text is worth; called from several threads at once."""

    def judge(self, text: str, parent: str, thorough: bool) -> Evaluation:
        """The evaluation of ``text`` with its speed against ``parent``, another text.

        Args:
            thorough: whether every check is made even of what is not faster.
        """
        ...


EMPTY_GENERATIONS = 3
"""In a row without an evaluation: what comes repeats what was tried, or gives no text."""
ANCHOR_DEPTH = 4
"""Steps of a chain of contests after which a parent is measured against the root."""
_MOST_SLOTS = 10_000
Implement = Callable[[Slot], Candidate]
T = TypeVar("T")
R = TypeVar("R")


class End(StrEnum):
    """Why a search ended."""

    BUDGET = "the budget is spent"
    NO_IDEAS = "no source has another idea"
    NOTHING_NEW = f"{EMPTY_GENERATIONS} generations in a row gave no new text to judge"
    STALL = "too many evaluations without a gain"
    ROOF = "the best is close to what the chip allows"
    TIME = "the time is over"


@dataclass(frozen=True)
class Outcome:
    """What became of a slot.

    Attributes:
        node: None where the slot's text equals that of another slot, which ``placement`` names.
        is_best: the node is now the best that may be returned.
    """

    slot: Slot
    candidate: Candidate
    node: Node | None
    placement: Placement
    is_best: bool = False


@dataclass(frozen=True)
class Surroundings:
    """What a loop is given of the world.

    Attributes:
        implement: writes the candidate of a slot whose idea has none; None: such ideas are left
            out.
        report: is given each outcome, in the order of the slots.
        corrected: is given each node that was measured once more.
        is_over: whether the time is over, asked before each generation by its number.
        roof: the share of the attainable speed that a node reaches; None where it is not known.
        width: candidates that are judged at the same time.
        calls: how many of so many slots are written at the same time.
    """

    judge: Judge
    grader: Grader
    behaviour: Behaviour
    implement: Implement | None = None
    report: Callable[[Outcome], None] = lambda outcome: None
    corrected: Callable[[Node], None] = lambda node: None
    is_over: Callable[[int], bool] = lambda generation: False
    roof: Callable[[Node], float | None] = lambda node: None
    width: int = 1
    calls: Callable[[int], int] = lambda slots: 1


class Loop:
    """One search from a root; ``nodes`` holds the tree in the order of the slots.

    ``generation`` is the number of the last generation that was begun.

    Args:
        gradient: learns from each transition; a population may use it as well.
        known: further nodes that a search before this one evaluated.
        generation: the last one of that search, whether or not a node of it is left.
    """

    def __init__(
        self,
        spec: StrategySpec,
        population: Population,
        sources: Sequence[IdeaSource],
        surroundings: Surroundings,
        budget: Budget,
        seed: int,
        root: Node,
        *,
        gradient: Gradient | None = None,
        known: Sequence[Node] = (),
        generation: int = 0,
    ) -> None:
        self.nodes: list[Node] = []
        self.generation = generation
        self._spec = spec
        self.population = population
        self._out = surroundings
        self._budget = budget
        self._seed = seed
        self._gradient = gradient or Gradient()
        hints = self._gradient if spec.hints == "gradient" else None
        self._menu = Menu(sources, spec, seed, surroundings.behaviour, hints)
        self._raw: dict[str, Node] = {}
        self._root = root
        self._since = 0
        self._measured_again: set[str] = set()
        for node in (root, *known):
            self._menu.know(node.text, node.slot)
            self._take(node)

    def best(self) -> Node:
        """The fastest node that may be returned."""
        return self.population.best()

    def run(self) -> End:
        """Search until an end is reached."""
        empty = 0
        while (end := self._end()) is None:
            judged = self._generate()
            empty = 0 if judged else empty + 1
            if judged is None or empty == EMPTY_GENERATIONS:
                return self._end() or (End.NO_IDEAS if judged is None else End.NOTHING_NEW)
        return end

    def _end(self) -> End | None:
        if self._budget.amount_left("evaluations") < 1:
            return End.BUDGET
        if self._spec.stop.stall is not None and self._since >= self._spec.stop.stall:
            return End.STALL
        best = self.best()
        share = self._out.roof(best) if self._spec.stop.roof is not None else None
        if share is not None and self._spec.stop.roof is not None and share >= self._spec.stop.roof:
            return End.ROOF
        return End.TIME if self._out.is_over(self.generation + 1) else None

    def _generate(self) -> int | None:
        """One generation; how many of its candidates were judged, None if it has no slot."""
        slots = self._planned()
        if not slots:
            return None
        judged = 0
        for slot, candidate, evaluation in self._judged(self._implemented(slots)):
            if evaluation is None:
                placement = Placement(Place.DROPPED, _repeats(self._menu.known(candidate.text)))
                self._out.report(Outcome(slot, candidate, None, placement))
            elif candidate.unusable:
                self._refuse(slot, candidate, evaluation)
            else:
                self._tell(slot, candidate, evaluation)
                judged += 1
        return judged

    def _planned(self) -> list[Slot]:
        """The slots of the next generation; parents without further ideas make way for others."""
        self._measure_again(self.population.unsure())
        self.generation += 1
        draw = rng(self._seed, self._spec.hash(), "select", self.generation)
        while parents := self.population.select(self._evaluations_left, draw):
            self._measure_again([parent for parent in parents if self._is_chained_far(parent)])
            known = [self._raw[parent.hash] for parent in parents]
            parents = [node for node in known if node.alive][: self._evaluations_left]
            if not parents and self._evaluations_left:
                continue  # all of them failed as they were measured again
            slots, exhausted = self._menu.slots(self.generation, parents)
            for name in exhausted:
                self.population.retire(name)
            if slots or not exhausted:
                return slots
        return []

    @property
    def _evaluations_left(self) -> int:
        """Evaluations that the budget leaves to a generation."""
        return int(min(self._budget.amount_left("evaluations"), _MOST_SLOTS))

    def _implemented(self, slots: Sequence[Slot]) -> Iterator[tuple[Slot, Candidate]]:
        """The slots with their candidates; what has to be written is written side by side."""
        written = sum(slot.idea.candidate is None for slot in slots)
        with _Lanes(self._out.calls(written)) as lanes:
            yield from zip(slots, lanes.map(self._candidate, slots), strict=True)

    def _candidate(self, slot: Slot) -> Candidate:
        if slot.idea.candidate is not None:
            return slot.idea.candidate
        if self._out.implement is not None:
            return self._out.implement(slot)
        why = "no model was asked to write it"
        return Candidate(
            slot.parent.text, slot.parent.hash, f"idea:{slot.idea.source}", slot.idea.text,
            slot.idea.stage, unusable=why,
        )  # fmt: skip

    def _judged(
        self, candidates: Iterator[tuple[Slot, Candidate]]
    ) -> Iterator[tuple[Slot, Candidate, Evaluation | None]]:
        """The candidates with their evaluations, in order; None for a text that is known."""
        planned = []
        for slot, candidate in candidates:
            is_new = not candidate.unusable and self._menu.known(candidate.text) is None
            if is_new:
                self._menu.know(candidate.text, slot.name)
            planned.append((slot, candidate, is_new))
        with _Lanes(self._out.width) as lanes:
            evaluations = lanes.map(self._evaluation, planned)
            for (slot, candidate, _), evaluation in zip(planned, evaluations, strict=True):
                yield slot, candidate, evaluation

    def _evaluation(self, planned: tuple[Slot, Candidate, bool]) -> Evaluation | None:
        slot, candidate, is_new = planned
        if candidate.unusable:
            refused = StepResult(StepName.STRUCTURE, StepStatus.FAILED, candidate.unusable)
            return Evaluation(candidate.hash, slot.parent.hash, Level.REJECTED, (refused,))
        if not is_new:
            return None
        permit = self._budget.reserve(evaluations=1)
        assert permit is not None, "a generation has no more slots than evaluations are left"
        try:
            return self._out.judge.judge(candidate.text, slot.parent.text, thorough=False)
        finally:
            self._budget.settle(permit)

    def _tell(self, slot: Slot, candidate: Candidate, evaluation: Evaluation) -> None:
        """Put a judged candidate into the tree."""
        grade = self._out.grader.grade(slot, candidate.text, evaluation)
        node = self._node(slot, candidate, evaluation, grade)
        placement = self._take(node)
        if grade.parent:
            self._menu.finish(slot)
        change = self._out.behaviour.change(slot.parent, slot.idea)
        self._gradient.learn(slot.parent, node, change)
        is_best = self.best().hash == node.hash
        self._since = 0 if is_best else self._since + 1
        words = f"{grade.reason}; {placement.reason}" if grade.parent else grade.reason
        shown = _shown(node, placement)
        self.nodes.append(shown)
        placement = replace(placement, reason=words)
        self._out.report(Outcome(slot, candidate, shown, placement, is_best))

    def _refuse(self, slot: Slot, candidate: Candidate, evaluation: Evaluation) -> None:
        """Report a slot whose idea came to no text."""
        grade = self._out.grader.grade(slot, candidate.text, evaluation)
        node = self._node(slot, candidate, evaluation, grade)
        placement = Placement(Place.DROPPED, candidate.unusable)
        self._out.report(Outcome(slot, candidate, node, placement))

    def _node(self, slot: Slot, candidate: Candidate, evaluation: Evaluation, grade: Grade) -> Node:
        cell = self._out.behaviour.cell(candidate.text, evaluation)
        return Node(
            hash=text_hash(candidate.text), text=candidate.text, parent=slot.parent.hash,
            idea=slot.idea, slot=slot.name, generation=slot.generation,
            depth=slot.parent.depth + 1, evaluation=evaluation, log_speed=grade.log_speed,
            half_width=grade.half_width, cell=cell,
            state=State.ALIVE if grade.parent else State.DEAD,
            may_return=grade.may_return, measured=grade.measured,
        )  # fmt: skip

    def _take(self, node: Node) -> Placement:
        """What the population makes of a node; it decides who may be a parent."""
        self._raw[node.hash] = node
        return self.population.tell(node)

    def _is_chained_far(self, node: Node) -> bool:
        """Whether a speed that was multiplied along a chain is too vague to rank by."""
        if not node.measured or node.depth < 2:
            return False
        return node.half_width > self._spec.anchor or node.depth % ANCHOR_DEPTH == 0

    def _measure_again(self, nodes: Sequence[Node]) -> None:
        """Contests of nodes against the root, within the budget."""
        fresh = [self._raw[name] for name in dict.fromkeys(node.hash for node in nodes)]
        chained = [
            node
            for node in fresh
            if node.evaluation.baseline != self._root.hash and node.hash not in self._measured_again
        ]
        permits = [(node, self._budget.reserve(evaluations=1)) for node in chained]
        granted = [(node, permit) for node, permit in permits if permit is not None]
        self._measured_again.update(node.hash for node, _ in granted)
        with _Lanes(self._out.width) as lanes:
            found = lanes.map(self._anchored, [node for node, _ in granted])
            for (node, permit), evaluation in zip(granted, found, strict=True):
                self._budget.settle(permit)
                self._correct(node, evaluation)

    def _anchored(self, node: Node) -> Evaluation:
        return self._out.judge.judge(node.text, self._root.text, thorough=False)

    def _correct(self, node: Node, evaluation: Evaluation) -> None:
        """Replace what is known of a node by what was found of it against the root."""
        grade = self._out.grader.anchored(node, evaluation)
        if grade.measured:
            found = replace(
                node, evaluation=evaluation, log_speed=grade.log_speed,
                half_width=grade.half_width, may_return=grade.may_return,
            )  # fmt: skip
        elif _is_refuted(evaluation):
            found = replace(node, evaluation=evaluation, state=State.DEAD, may_return=False)
        else:
            return
        shown = _shown(found, self._take(found))
        self.nodes = [shown if one.hash == node.hash else one for one in self.nodes]
        self._out.corrected(shown)


class _Lanes:
    """Work done side by side, its results in order; one lane works only when it is asked."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count) if count > 1 else None

    def __enter__(self) -> "_Lanes":
        return self

    def __exit__(self, *raised: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        return self._pool.map(work, items) if self._pool else map(work, items)


def _is_refuted(evaluation: Evaluation) -> bool:
    """Whether a check failed or a clock decided, which a lost device does not."""
    judged = evaluation.level is Level.REJECTED or evaluation.speedup is not None
    return judged and evaluation.error is None


def _shown(node: Node, placement: Placement) -> Node:
    """The node with its state in the population."""
    return replace(node, state=State.DEAD) if placement.place is Place.DROPPED else node


def _repeats(name: str | None) -> str:
    return f"the same program as that of slot {name}"
