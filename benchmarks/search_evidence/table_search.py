"""Searches on the tables of landscape L1: the engine's loop with moves and verdicts of a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tabulated import Move, Table, TabulatedJudge, label, name_of

from tilewright.evaluation.model import Candidate, Evaluation, Level, text_hash
from tilewright.knowledge.stages import DEFAULT_ORDER, Stage
from tilewright.search.budget import Budget
from tilewright.search.grade import ContestGrader
from tilewright.search.gradient import Gradient
from tilewright.search.idea_source import IdeaSource
from tilewright.search.loop import Loop, Outcome, Surroundings
from tilewright.search.node import Idea, IdeaKind, Node, Slot, State
from tilewright.search.population import Population
from tilewright.search.populations.choice import population
from tilewright.search.spec import StrategySpec

FINALISTS = 3
_LOOK = 0.02
"""Standard deviation of the logarithm of a time that a quick look at the clock gives."""
_BINS = {"registers": (48, 96, 160), "shared_bytes": (1 << 13, 1 << 15, 1 << 16)}


@dataclass(frozen=True)
class TableMoves:
    """The idea source of a table: every single step, in a drawn order."""

    table: Table
    name: str = "moves"

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        """All steps; the order is that of the draw."""
        del want
        moves = list(self.table.moves(name_of(node.text)))
        rng.shuffle(moves)
        return [
            Idea(
                move.name, move.name, IdeaKind(move.kind), Stage(move.stage),
                candidate=Candidate(
                    label(move.text), node.hash, move.kind, move.name, Stage(move.stage)
                ),
            )
            for move in moves
        ]  # fmt: skip


@dataclass(frozen=True)
class Resources:
    """Cells by what the compiler said: registers, shared memory, and whether registers spill.

    Attributes:
        shuffled: draws the cell of each text instead, as a control.
    """

    table: Table
    shuffled: bool = False

    def cell(self, text: str, evaluation: Evaluation) -> tuple[int, ...]:
        """The bins of the kernel that takes the most of each."""
        del evaluation
        name = name_of(text)
        if self.shuffled:
            draw = Random(f"cell:{name}")
            return draw.randrange(4), draw.randrange(4), draw.randrange(2)
        facts = self.table.verdicts[name].facts.values()
        bins = [
            sum(max((one.get(what, 0) for one in facts), default=0) > bound for bound in bounds)
            for what, bounds in _BINS.items()
        ]
        return (*bins, int(any(one.get("spill_bytes", 0) for one in facts)))

    def change(self, node: Node, idea: Idea) -> Sequence[int] | None:
        """Not known before a text is compiled."""
        del node, idea
        return None

    def hints(self, direction: Sequence[float]) -> tuple[str, ...]:
        """None: nothing is written by a model here."""
        del direction
        return ()


@dataclass(frozen=True)
class TableRun:
    """What a search on a table found.

    Attributes:
        fractions: the share of the best log-gain that exists, after each evaluation.
        spent: evaluations until it had nothing more to try, or its budget was spent.
        cells: that hold a correct text.
        loop: None where the stages alone were gone through.
    """

    fractions: tuple[float, ...]
    spent: int
    cells: int
    loop: Loop | None

    def at(self, evaluations: int) -> float:
        """The share after so many evaluations."""
        return self.fractions[min(evaluations, len(self.fractions)) - 1]

    def evaluations_to(self, share: float) -> int | None:
        """Evaluations until that share; None if it was not reached."""
        return next((at for at, one in enumerate(self.fractions, 1) if one >= share), None)


def root_of(table: Table, cells: Resources) -> Node:
    """The text that a search begins with."""
    text = label(table.start)
    name = text_hash(text)
    nothing = Evaluation(name, name, Level.CORRECT, ())
    return Node(
        name, text, None, None, "0", 0, 0, nothing, 0.0, 0.0, cells.cell(text, nothing),
        State.ALIVE, may_return=True,
    )  # fmt: skip


def staged(table: Table, judge: TabulatedJudge, evaluations: int, seed: int) -> list[Node]:
    """The stages in their default order, as ``StagedSearch`` takes them: the tree with its root.

    Each change of a stage is tried once on the text so far and kept if it is measured to be
    faster; at last the three settings that a quick look found fastest are tried.
    """
    cells, grader = Resources(table), ContestGrader()
    nodes = [root_of(table, cells)]
    current = nodes[0]
    for stage in DEFAULT_ORDER:
        for move in _of_stage(table, name_of(current.text), stage, seed):
            if len(judge.curve) >= evaluations:
                return nodes
            candidate = Candidate(label(move.text), current.hash, move.kind, move.name, stage)
            idea = Idea(move.name, move.name, IdeaKind(move.kind), stage, candidate=candidate)
            number = len(nodes)
            slot = Slot(number, 1, current, idea)
            found = judge.judge(candidate.text, current.text, thorough=False)
            grade = grader.grade(slot, candidate.text, found)
            node = Node(
                text_hash(candidate.text), candidate.text, current.hash, idea, slot.name, number,
                current.depth + 1, found, grade.log_speed, grade.half_width,
                cells.cell(candidate.text, found), State.ALIVE if grade.parent else State.DEAD,
                may_return=grade.may_return,
            )  # fmt: skip
            nodes.append(node)
            current = node if found.level is Level.FASTER else current
    return nodes


def _of_stage(table: Table, text: str, stage: Stage, seed: int) -> list[Move]:
    moves = [
        move
        for move in table.moves(text)
        if move.stage == stage and (move.kind == "launch" or _leads_away(table, text, move.text))
    ]
    if stage is not Stage.AUTOTUNING:
        return moves
    own = [move for move in moves if move.kind == "rewrite"]
    looked = {
        move: table.verdicts[move.text].log_speed + Random(f"{seed}{move.text}").gauss(0, _LOOK)
        for move in moves
        if move.kind == "launch" and table.verdicts[move.text].alive
    }
    return own + sorted(looked, key=lambda move: -looked[move])[:FINALISTS]


def _leads_away(table: Table, text: str, to: str) -> bool:
    """Whether a change is one of what a search begins with, and not the way back."""
    start = int(table.unit.start.split(":")[0])

    def changed(one: str) -> int:
        return min((sites ^ start).bit_count() for sites, _ in table.points[one])

    return changed(to) > changed(text)


def table_search(
    table: Table,
    spec: StrategySpec,
    seed: int,
    evaluations: int = 160,
    *,
    shuffled: bool = False,
    sources: Sequence[IdeaSource] | None = None,
    members: Population | None = None,
    report: Callable[[Outcome], None] = lambda outcome: None,
) -> TableRun:
    """Search a table by a specification, or with sources and a population of one's own."""
    judge, cells, gradient = TabulatedJudge(table, seed), Resources(table, shuffled), Gradient()
    root, *known = [root_of(table, cells)]
    if spec.steps[0] == "staged":
        root, *known = staged(table, judge, evaluations, seed)
    loop = None
    if spec.steps[-1] != "staged" and len(judge.curve) < evaluations:
        loop = Loop(
            spec,
            members or population(spec.steps[-1], spec, gradient),
            sources or (TableMoves(table),),
            Surroundings(judge, ContestGrader(), cells, report=report),
            Budget({"evaluations": evaluations - len(judge.curve)}),
            seed,
            root,
            gradient=gradient,
            known=known,
            generation=max((node.generation for node in known), default=0),
        )
        loop.run()
    curve = judge.curve or [0.0]
    gains = (curve + [curve[-1]] * evaluations)[:evaluations]
    held = {Resources(table).cell(label(name), root.evaluation) for name in judge.found}
    optimum = table.optimum or 1.0
    return TableRun(tuple(one / optimum for one in gains), len(judge.curve), len(held), loop)
