"""Searches of a landscape that remember another one: the bank, the recall and the replay are real.

A move is an idea; that a problem B is related to a problem A is given by the signature. What is
learned on A goes through the contests, the thresholds and a bank in SQLite before B recalls it.
"""

import math
import random
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from landscapes import Author, Axes, Landscape, SyntheticJudge, program_of, root_of

from tilewright.evaluation.model import Evaluation
from tilewright.memory.bank import Bank, Learned, Snapshot
from tilewright.memory.evidence import LocalEvidence
from tilewright.memory.model import (
    Origin,
    Outcome,
    Provenance,
    Query,
    Recalled,
    Schedule,
    Signature,
    Transition,
)
from tilewright.memory.run_memory import RunMemory
from tilewright.memory.schedules import schedule_of
from tilewright.search.budget import Budget
from tilewright.search.grade import ContestGrader
from tilewright.search.gradient import Gradient
from tilewright.search.idea_source import IdeaSource
from tilewright.search.loop import Loop, Surroundings
from tilewright.search.loop import Outcome as SlotOutcome
from tilewright.search.node import Idea, IdeaKind, Node
from tilewright.search.populations.incumbent import Incumbent
from tilewright.search.spec import StrategySpec
from tilewright.store.store import open_store
from tilewright.strategies.ideas.memory import Remembered
from tilewright.strategies.ideas.schedule import Replayed

PROJECT = "/landscapes"
_PROBLEM = Signature(
    "triton", dtypes=("fp16",), rank=2, chip="cuda:90", tiles=("row",), extents=(4096, 1024)
)
_MERCILESS = 0.15
_SPEC = StrategySpec(strategy="incumbent")


@dataclass(frozen=True)
class Moves:
    """The moves that can be made next, in a drawn order; none is taken back."""

    landscape: Landscape
    name: str = "moves"

    def ideas(self, node: Node, want: int, rng: random.Random) -> Sequence[Idea]:
        """All of them."""
        del want
        program = program_of(node.text)
        assert program is not None
        moves = self.landscape.moves(program)
        rng.shuffle(moves)
        return [Idea(f"move:{move}", f"make move {move}", IdeaKind.REWRITE) for move in moves]


class Believing(LocalEvidence):
    """Evidence that never learns: recalled entries are not corrected by measurements."""

    def note(self, key: str, evaluation: Evaluation, shown: Iterable[str] = ()) -> None:
        """Nothing."""

    def weight(self, key: str, recalled: Sequence[Recalled]) -> float:
        """As before any contest, with less mercy for what hurt."""
        hurt = any(o.entry.key == key and o.entry.outcome is Outcome.HURT for o in recalled)
        return _MERCILESS if hurt else super().weight(key, recalled)


@dataclass(frozen=True)
class Arm:
    """How a search uses what it remembers.

    Attributes:
        uses: "nothing", "run" (what it measures itself), "bank", "schedule".
        blind: the share of ideas drawn as if nothing were remembered; 1: recalled, not used.
        believes: whether measurements of its own do not count.
        poisoned: whether what helped is remembered as harm and the other way round.
    """

    uses: str
    blind: float = 0.2
    believes: bool = False
    poisoned: bool = False


@dataclass
class Run:
    """What a search found: the share of the best log-gain after each evaluation."""

    fractions: list[float] = field(default_factory=list)
    learned: Learned = field(default_factory=Learned)
    implemented: int = 0

    def evaluations_to(self, share: float) -> int | None:
        """Evaluations until that share; None if it was not reached."""
        reached = (at for at, one in enumerate(self.fractions, 1) if one >= share)
        return next(reached, None)


def search(
    on: Landscape, arm: Arm, held: Snapshot, seed: int, evaluations: int, fails: float
) -> Run:
    """Search greedily with an arm; what was learned is in the result."""
    held = _poisoned(held) if arm.poisoned else held
    seen = held if arm.uses in ("bank", "schedule") else Snapshot()
    # Each by itself: what is recalled beyond it is the run's own.
    seen = replace(seen, experiences=()) if arm.uses == "schedule" else replace(seen, schedules=())
    memory = RunMemory(seen, PROJECT, "kernel", f"run-{seed}")
    if arm.believes:
        memory.evidence = Believing()
    base = Moves(on)
    sources: list[IdeaSource] = [base]
    if arm.uses != "nothing":
        sources.insert(0, Remembered(memory, lambda n: _query(n.hash), [base], blind=arm.blind))
    replayed = Replayed(next(iter(memory.schedules(_query("0"))), None), [base])
    sources.insert(0, replayed)

    def report(outcome: SlotOutcome) -> None:
        if outcome.node is not None:
            transition = _transition(outcome)
            memory.learn(transition)
            replayed.learn(transition)

    judge, axes = SyntheticJudge(on, seed), Axes(on)
    surroundings = Surroundings(
        judge, ContestGrader(), axes, implement=Author(on, seed, fails), report=report
    )
    loop = Loop(
        _SPEC, Incumbent(), sources, surroundings, Budget({"evaluations": evaluations}), seed,
        root_of(axes), gradient=Gradient(),
    )  # fmt: skip
    loop.run()
    optimum = -sum(gain for gain in on.gains if gain < 0) or 1.0  # its moves are independent
    curve = judge.curve + [judge.curve[-1]] * (evaluations - len(judge.curve))
    return Run([one / optimum for one in curve], _learned(memory, loop.best()))


def _query(text: str) -> Query:
    return Query(PROJECT, "kernel", _PROBLEM, text=text)


def _transition(outcome: SlotOutcome) -> Transition:
    node, parent = outcome.node, outcome.slot.parent
    assert node is not None
    source = Provenance(PROJECT, "kernel.py", parent.hash, "run", Origin.CONTEST, node.generation)
    return Transition(parent.text, node.text, node.idea, node.evaluation, _PROBLEM, source)


def _learned(memory: RunMemory, best: Node) -> Learned:
    speed = math.exp(best.log_speed)
    path = memory.path_to(best.hash)
    schedule = schedule_of(path, (speed, speed * 0.99, speed * 1.01)) if path else None
    return memory.learned("", schedule)


def banked(learned: Sequence[Learned]) -> Snapshot:
    """What a bank gives back of what runs learned, in their order."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_store(Path(folder) / "store.sqlite")) as store,
        closing(Bank(store)) as bank,
    ):
        for one in learned:
            bank.merge(one)
        return bank.snapshot("kernel")


def _poisoned(held: Snapshot) -> Snapshot:
    """Every entry says the opposite."""
    swapped = {Outcome.HELPED: Outcome.HURT, Outcome.HURT: Outcome.HELPED}
    entries = tuple(
        replace(
            one,
            outcome=swapped[one.outcome],
            measured=replace(
                one.measured, ratio=1 / one.measured.ratio, low=1 / one.measured.high,
                high=1 / one.measured.low,
            ),
        )
        for one in held.experiences
    )  # fmt: skip
    backwards = tuple(_backwards(one) for one in held.schedules)
    return replace(held, experiences=entries, schedules=backwards)


def _backwards(schedule: Schedule) -> Schedule:
    return replace(schedule, steps=schedule.steps[::-1])
