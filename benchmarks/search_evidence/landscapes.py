"""Synthetic landscapes: programs are sets of moves, whose gains are independent or interact.

``independent``: every move has a gain of its own. ``valley``: the first move of a pair costs 3 to
8 %, both together gain a third. ``deceptive``: further to that, an attractive move excludes a
better pair. A drifted landscape is like another one, with a share of the gains drawn anew.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from tilewright.evaluation.model import (
    Candidate,
    Evaluation,
    Level,
    Speedup,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.search.budget import Budget
from tilewright.search.draws import rng
from tilewright.search.grade import ContestGrader
from tilewright.search.gradient import Gradient
from tilewright.search.loop import Loop, Surroundings
from tilewright.search.node import Idea, IdeaKind, Node, Slot, State
from tilewright.search.population import Population
from tilewright.search.populations.choice import population
from tilewright.search.spec import StrategySpec

Kind = Literal["independent", "valley", "deceptive"]
Program = frozenset[int]
AXES = 3
_BROKEN = "BROKEN"
_UNDO = 0.1  # share of ideas that take a move back


@dataclass(frozen=True)
class Landscape:
    """Times of sets of moves; each move may need another one first, or exclude others.

    Attributes:
        gains: change of the logarithm of the time by each move alone; negative is faster.
        pairs: change of the logarithm when both moves are made.
        needs: the move that must come first; ``excludes``: moves that cannot be made as well.
        axes: the axis of behaviour that each move raises.
    """

    kind: Kind
    gains: tuple[float, ...]
    pairs: Mapping[tuple[int, int], float] = field(default_factory=dict)
    needs: Mapping[int, int] = field(default_factory=dict)
    excludes: Mapping[int, frozenset[int]] = field(default_factory=dict)
    axes: tuple[int, ...] = ()

    def log_time(self, program: Program) -> float:
        """The logarithm of the time over that of no move."""
        alone = sum(self.gains[move] for move in program)
        return alone + sum(gain for pair, gain in self.pairs.items() if program.issuperset(pair))

    def moves(self, program: Program) -> list[int]:
        """The moves that can be made next."""
        return [move for move in range(len(self.gains)) if self._can(move, program)]

    def undone(self, program: Program, move: int) -> Program:
        """Without a move, and without those that need it."""
        return frozenset(m for m in program if m != move and self.needs.get(m) != move)

    def cell(self, program: Program) -> tuple[int, ...]:
        """How many moves were made along each axis, in pairs."""
        counts = [0] * AXES
        for move in program:
            counts[self.axes[move]] += 1
        return tuple(min(3, count // 2) for count in counts)

    def _can(self, move: int, program: Program) -> bool:
        need = self.needs.get(move)
        fits = not program & self.excludes.get(move, frozenset())
        return move not in program and (need is None or need in program) and fits

    @cached_property
    def optimum(self) -> float:
        """The logarithm of the best speed-up that exists."""
        best, reached = 0.0, [frozenset[int]()]
        seen = set(reached)
        while reached:
            program = reached.pop()
            best = max(best, -self.log_time(program))
            for move in self.moves(program):
                # Sets, not sequences: a move is added in one order wherever that is possible.
                if (larger := program | {move}) not in seen:
                    seen.add(larger)
                    reached.append(larger)
        return best


def landscape(kind: Kind, seed: int, moves: int = 14) -> Landscape:
    """A landscape by its seed: half of the moves gain, a quarter costs, a quarter does nothing."""
    draw = random.Random(f"landscape:{kind}:{seed}")
    order = draw.sample(range(moves), moves)
    gains = [0.0] * moves
    for rank, move in enumerate(order):
        if rank < moves // 2:
            gains[move] = -draw.choice((0.03, 0.06, 0.10, 0.15, 0.22))
        elif rank >= 3 * moves // 4:
            gains[move] = draw.choice((0.03, 0.08, 0.20))
    pairs: dict[tuple[int, int], float] = {}
    needs: dict[int, int] = {}
    excludes: dict[int, frozenset[int]] = {}
    if kind != "independent":
        for first, second in zip(order[1:9:3], order[2:10:3], strict=True):
            gains[first] = draw.choice((0.03, 0.05, 0.08))
            gains[second] = -0.02
            pairs[first, second] = -draw.choice((0.35, 0.50))
            needs[second] = first
    if kind == "deceptive":
        lure, entry, prize = order[10:13]
        gains[lure], gains[entry], gains[prize] = -0.20, -0.12, -0.40
        needs[prize] = entry
        excludes = {lure: frozenset({entry}), entry: frozenset({lure})}
    axes = tuple(move % AXES for move in range(moves))
    return Landscape(kind, tuple(gains), pairs, needs, excludes, axes)


def drifted(base: Landscape, drift: float, seed: int) -> Landscape:
    """A related problem: each gain is drawn anew with probability ``drift``."""
    draw = random.Random(f"drift:{drift}:{seed}")
    gains = tuple(
        draw.choice((-0.15, -0.06, 0.0, 0.05, 0.15)) if draw.random() < drift else gain
        for gain in base.gains
    )
    return Landscape(base.kind, gains, base.pairs, base.needs, base.excludes, base.axes)


def text_of(program: Program) -> str:
    """A program as a Python text."""
    return f"MOVES = {sorted(program)}\n"


def program_of(text: str) -> Program | None:
    """The moves of a text; None for one that is broken."""
    if _BROKEN in text:
        return None
    inside = text.partition("[")[2].partition("]")[0]
    return frozenset(int(move) for move in inside.split(",") if move.strip())


@dataclass
class SyntheticJudge:
    """Judges texts of a landscape; a contest has noise that follows from its texts and the seed.

    Attributes:
        noise: of a ratio, as a standard deviation; its interval is twice as wide to each side.
        curve: the best speed-up found so far as a logarithm, after each evaluation.
        cells: those in which a correct text was found.
    """

    landscape: Landscape
    seed: int
    noise: float = 0.01
    curve: list[float] = field(default_factory=list)
    cells: set[tuple[int, ...]] = field(default_factory=set)

    def judge(self, text: str, parent: str, thorough: bool) -> Evaluation:
        """A verdict as the cascade gives one."""
        del thorough
        program, before = program_of(text), program_of(parent)
        names = text_hash(text), text_hash(parent)
        best = self.curve[-1] if self.curve else 0.0
        if program is None or before is None:
            self.curve.append(best)
            wrong = StepResult(StepName.CORRECTNESS, StepStatus.FAILED, "output 0 differs")
            return Evaluation(*names, Level.REJECTED, (wrong,))
        self.curve.append(max(best, -self.landscape.log_time(program)))
        self.cells.add(self.landscape.cell(program))
        gain = self.landscape.log_time(before) - self.landscape.log_time(program)
        ratio = math.exp(gain + random.Random(f"{self.seed}{names}").gauss(0, self.noise))
        wide = math.exp(2 * self.noise)
        speedup = Speedup(
            ratio, ratio / wide, ratio * wide, 0.95, None, 100.0, 100.0 / ratio, names[1],
            "a landscape", self.landscape.kind, 20,
        )  # fmt: skip
        status = StepStatus.PASSED if speedup.is_faster else StepStatus.FAILED
        step = StepResult(StepName.SPEED, status, "" if speedup.is_faster else "not faster")
        level = Level.FASTER if speedup.is_faster else Level.CORRECT
        return Evaluation(*names, level, (step,), speedup)


@dataclass(frozen=True)
class Moves:
    """The idea source of a landscape: its moves in a drawn order, some of them taken back."""

    landscape: Landscape
    name: str = "moves"

    def ideas(self, node: Node, want: int, rng: random.Random) -> Sequence[Idea]:
        """All moves that can be made; the last ones of the order are taken back."""
        del want
        program = program_of(node.text)
        assert program is not None
        moves = self.landscape.moves(program)
        rng.shuffle(moves)
        back = rng.sample(sorted(program), len(program))
        found: list[Idea] = []
        while moves or back:
            undo = back and (not moves or rng.random() < _UNDO)
            found.append(_idea(-back.pop() - 1 if undo else moves.pop()))
        return found


def _idea(move: int) -> Idea:
    words = f"make move {move}" if move >= 0 else f"take move {-move - 1} back"
    return Idea(f"move:{move}", words, IdeaKind.REWRITE)


def move_of(idea: Idea) -> int:
    """The move of an idea; below zero where it is taken back."""
    return int(idea.id.partition(":")[2])


@dataclass(frozen=True)
class Author:
    """Writes the candidate of a slot; a share ``fails`` of them is broken."""

    landscape: Landscape
    seed: int
    fails: float

    def __call__(self, slot: Slot) -> Candidate:
        program = program_of(slot.parent.text)
        assert program is not None
        move = move_of(slot.idea)
        after = program | {move} if move >= 0 else self.landscape.undone(program, -move - 1)
        draw = rng(self.seed, "author", f"{slot.sample}", slot.generation, slot.number)
        text = text_of(after)
        if draw.random() < self.fails:
            text = f'{_BROKEN} = "{slot.name} {slot.parent.hash}"\n'
        return Candidate(text, slot.parent.hash, "author", slot.idea.text)


@dataclass(frozen=True)
class Axes:
    """The behaviour of a landscape's texts.

    Attributes:
        shuffled: names a wrong axis for each move, as a control.
    """

    landscape: Landscape
    shuffled: bool = False

    def cell(self, text: str, evaluation: Evaluation) -> tuple[int, ...]:
        """The cell of a text; a broken one lies where nothing was done."""
        del evaluation
        program = program_of(text)
        if program is None:
            return (0,) * AXES
        if not self.shuffled:
            return self.landscape.cell(program)
        number = random.Random(f"cell:{text}")
        return tuple(number.randrange(4) for _ in range(AXES))

    def change(self, node: Node, idea: Idea) -> Sequence[int]:
        """One step along the axis of the move."""
        move = move_of(idea)
        axis = self.landscape.axes[move if move >= 0 else -move - 1]
        if self.shuffled:
            axis = random.Random(f"axis:{node.hash}:{move}").randrange(AXES)
        return [(1 if move >= 0 else -1) * (at == axis) for at in range(AXES)]

    def hints(self, direction: Sequence[float]) -> tuple[str, ...]:
        """None: nothing is written by a model here."""
        del direction
        return ()


@dataclass(frozen=True)
class Search:
    """What a search on a landscape found.

    Attributes:
        fractions: the share of the best log-gain after each evaluation.
        cells: of behaviour that hold a correct text.
    """

    fractions: tuple[float, ...]
    cells: int
    loop: Loop
    judge: SyntheticJudge

    @property
    def final(self) -> float:
        return self.fractions[-1]

    def evaluations_to(self, share: float) -> int | None:
        """Evaluations until that share of the best log-gain; None if it was not reached."""
        reached = (at for at, one in enumerate(self.fractions, 1) if one >= share)
        return next(reached, None)


def root_of(axes: Axes) -> Node:
    """The text without moves."""
    text = text_of(frozenset())
    name = text_hash(text)
    nothing = Evaluation(name, name, Level.CORRECT, ())
    return Node(
        name, text, None, None, "0", 0, 0, nothing, 0.0, 0.0, axes.cell(text, nothing), State.ALIVE,
        may_return=True,
    )  # fmt: skip


def search(
    on: Landscape,
    spec: StrategySpec,
    seed: int,
    evaluations: int = 160,
    fails: float = 0.4,
    *,
    noise: float = 0.01,
    shuffled: bool = False,
    sources: Sequence[Moves] | None = None,
    members: Population | None = None,
    width: int = 1,
) -> Search:
    """Search a landscape by a specification, or with a population of one's own."""
    judge, axes, gradient = SyntheticJudge(on, seed, noise), Axes(on, shuffled), Gradient()
    surroundings = Surroundings(
        judge, ContestGrader(), axes, implement=Author(on, seed, fails), width=width
    )
    loop = Loop(
        spec,
        members or population(spec.steps[0], spec, gradient),
        sources or (Moves(on),),
        surroundings,
        Budget({"evaluations": evaluations}),
        seed,
        root_of(axes),
        gradient=gradient,
    )
    loop.run()
    curve = judge.curve + [judge.curve[-1]] * (evaluations - len(judge.curve))
    optimum = on.optimum or 1.0  # where nothing gains, there is no share of it
    return Search(tuple(one / optimum for one in curve), len(judge.cells), loop, judge)
