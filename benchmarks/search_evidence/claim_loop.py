"""The loop: greedy search as a population of one, and the best that is never lost."""

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[2] / "tests" / "strategies"
sys.path.insert(0, str(TESTS))

from claim_populations import WIDE, LastChildren  # noqa: E402
from finding import Evidence, Finding  # noqa: E402
from scripted_models import QUIET, Fixed, ScriptedCascade, source, time_of  # noqa: E402

from tilewright.evaluation.model import Candidate, Evaluation, Level, text_hash  # noqa: E402
from tilewright.knowledge.stages import Stage  # noqa: E402
from tilewright.search.gradient import Gradient  # noqa: E402
from tilewright.search.node import Idea, IdeaKind, Node, State  # noqa: E402
from tilewright.search.population import Population  # noqa: E402
from tilewright.search.populations.choice import POPULATIONS, population  # noqa: E402
from tilewright.search.spec import BeamSpec, StopSpec, StrategyName, StrategySpec  # noqa: E402
from tilewright.store.store import Store  # noqa: E402
from tilewright.strategies.generations import GenerationSearch  # noqa: E402
from tilewright.strategies.ideas import choice  # noqa: E402
from tilewright.strategies.staged import StagedSearch  # noqa: E402

STORED = True
Trials = list[tuple[float, bool]]


def evidence(size: str) -> Evidence:
    """Both claims."""
    whole = size == "whole"
    return Evidence(
        "The loop", (_as_staged(100 if whole else 5), _never_worse(10_000 if whole else 50))
    )


class _Listed:
    """The same texts for every node, as a proposer that follows from nothing gives them."""

    name = "rewrites"

    def __init__(self, times: Sequence[float]) -> None:
        self._times = times

    def ideas(self, node: Node, want: int, rng: random.Random) -> Sequence[Idea]:
        """All texts in their order."""
        del want, rng
        found = [(us, Candidate(source(us), node.hash, "fixed", f"{us} us")) for us in self._times]
        return [
            Idea(f"fixed:{us}", one.rationale, IdeaKind.REWRITE, Stage.MEMORY_ACCESS, (), one)
            for us, one in found
        ]


def _staged(times: Sequence[float], folder: Path) -> tuple[Trials, str]:
    store = Store(folder / "staged.sqlite")
    with store.run("key", "kernel.py", {}) as (_, ledger):
        search = StagedSearch(
            ScriptedCascade(source(100)), (Fixed(*times),), ledger, QUIET, 50  # type: ignore[arg-type]
        )  # fmt: skip
        search._work_on(Stage.MEMORY_ACCESS, 0)
    store.close()
    return _trials(search), search.current


def _generations(name: StrategyName, times: Sequence[float], folder: Path) -> tuple[Trials, str]:
    spec = StrategySpec(
        strategy=name, beam=BeamSpec(width=3, ideas=2, diverse=0), stop=StopSpec(roof=None)
    )
    store = Store(folder / f"{name}.sqlite")
    sources: Any = choice.SOURCES
    before = sources["rewrites"]
    sources["rewrites"] = lambda run: _Listed(times)
    try:
        with store.run("key", "kernel.py", {}) as (run, ledger):
            search = GenerationSearch(
                ScriptedCascade(source(100)), (), ledger, QUIET, 50, None, spec, run.seed,  # type: ignore[arg-type]
                lambda note: None,
            )  # fmt: skip
            search.run()
    finally:
        sources["rewrites"] = before
        store.close()
    return _trials(search), search.current


def _trials(search: StagedSearch) -> Trials:
    return [(time_of(trial.candidate.text), trial.kept) for trial in search.trials]


def _as_staged(count: int) -> Finding:
    same, differing = 0, 0
    for number in range(count):
        draw = random.Random(number)
        times = [round(draw.uniform(40, 130), 1) for _ in range(12)]
        times = [-us if draw.random() < 0.3 else us for us in times]
        with tempfile.TemporaryDirectory() as folder:
            expected = _staged(times, Path(folder))
            same += _generations("incumbent", times, Path(folder)) == expected
            differing += _generations("beam", times, Path(folder)) != expected
    return Finding(
        "The loop with one incumbent runs the same trials as the staged search.",
        "a scripted cascade with random times and wrong results",
        f"{count} of {count} lists of candidates: equal trials and an equal final text",
        f"{same} of {count}", None, None,
        f"a beam differs in {differing} of {count}", same == count and differing > 0,
    )  # fmt: skip


def _never_worse(count: int) -> Finding:
    names = sorted(POPULATIONS)
    worse = {
        name: sum(_loses(population(name, StrategySpec(), Gradient()), n) for n in range(count))
        for name in names
    }
    control = sum(_loses(LastChildren(WIDE), number) for number in range(count))
    found = ", ".join(f"{name} {worse[name]}" for name in names)
    return Finding(
        "The best of a population never gets worse.",
        f"{count} random sequences of nodes for each population",
        "0 sequences in which it gets worse", found, None, None,
        f"the rule of AccelOpt's published code loses its best in {control}",
        not any(worse.values()) and control > 0,
    )  # fmt: skip


def _loses(members: Population, seed: int) -> bool:
    """Whether the best gets slower in a random sequence of nodes and selections."""
    draw = random.Random(seed)
    root = _node("root", 0.0, None, 0)
    members.tell(root)
    parents = list(members.select(8, draw)) or [root]
    reached = members.best().log_speed
    for number in range(30):
        parent = draw.choice(parents)
        speed = parent.log_speed + draw.gauss(0, 0.1)
        members.tell(_node(str(number), speed, parent.hash, draw.randrange(3), draw.random() < 0.3))
        if draw.random() < 0.2:
            parents = list(members.select(8, draw)) or parents
        if members.best().log_speed < reached:
            return True
        reached = members.best().log_speed
    return False


def _node(name: str, speed: float, parent: str | None, cell: int, failed: bool = False) -> Node:
    nothing = Evaluation(name, parent or name, Level.CORRECT, ())
    speed = float("-inf") if failed else speed
    return Node(
        text_hash(name), name, parent, None, name, 1, 1, nothing, speed, 0.0, (cell,),
        State.DEAD if failed else State.ALIVE, may_return=not failed and speed >= 0,
    )  # fmt: skip
