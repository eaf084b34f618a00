"""One search on 1, 2 and 4 GPUs: the same tree on landscapes, and the rate on real GPUs.

The GPUs of the landscapes are pretended: each works for a drawn time on one evaluation at a time,
so that evaluations end in another order than they began. The rate was measured by
``parallel_search.py``.
"""

import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

from finding import Evidence, Finding
from finding import Table as Rows
from landscapes import Author, Axes, Kind, Moves, SyntheticJudge, landscape, root_of
from table_search import Resources, TableMoves
from table_search import root_of as table_root
from tabulated import FILE, TabulatedJudge, kernels

from tilewright.devices.model import DeviceInfo, JobOutcome, JobStatus
from tilewright.devices.pool import DevicePool, share_of
from tilewright.evaluation.model import Evaluation
from tilewright.search.behaviour import Behaviour
from tilewright.search.budget import Budget
from tilewright.search.grade import ContestGrader
from tilewright.search.gradient import Gradient
from tilewright.search.idea_source import IdeaSource
from tilewright.search.loop import Implement, Judge, Loop, Surroundings
from tilewright.search.node import Node
from tilewright.search.populations.choice import population
from tilewright.search.spec import StrategyName, StrategySpec
from tilewright.targets.registry import parse_target

STORED = False
MEASURED = Path(__file__).resolve().parent / "results" / "two_gpus.json"
NAMES: tuple[StrategyName, ...] = ("incumbent", "beam", "grid", "islands", "stall")
GPUS = (1, 2, 4)
_ASKED = 1.8
_LONGEST_S = 0.002
Tree = list[tuple[str, str | None, str, float, str]]


class PretendedGpu:
    """Takes a drawn time for each job, one job at a time."""

    def __init__(self, number: int) -> None:
        chip = parse_target("cuda:90")
        self.info = DeviceInfo(f"cuda:{number}", "pretended", chip, True, "2", "3", "3")
        self.jobs = 0
        self._draw = Random(number)
        self._lock = Lock()

    def run(self, job: Mapping[str, Any], timeout_s: float) -> JobOutcome[Any]:
        del job, timeout_s
        with self._lock:
            self.jobs += 1
            time.sleep(self._draw.random() * _LONGEST_S)
        return JobOutcome(JobStatus.OK, {})

    def close(self) -> None: ...


@dataclass(frozen=True)
class PooledJudge:
    """Gives a landscape's verdicts after the pool's least busy GPU worked on them.

    Attributes:
        biased: each GPU has an error of its own, as a control.
    """

    inner: Judge
    pool: DevicePool
    biased: bool = False

    def judge(self, text: str, parent: str, thorough: bool) -> Evaluation:
        with share_of(self.pool) as gpu:
            gpu.run({}, 1)
            found = self.inner.judge(text, parent, thorough)
            if not self.biased or found.speedup is None:
                return found
            off = math.exp(0.1 * int(gpu.info.id.rpartition(":")[2]))
            value = {name: getattr(found.speedup, name) * off for name in ("value", "low", "high")}
            return replace(found, speedup=replace(found.speedup, **value))


@dataclass(frozen=True)
class Ground:
    """What is searched: a synthetic landscape, or the table of a real kernel."""

    name: str
    judge: Judge
    source: IdeaSource
    behaviour: Behaviour
    root: Node
    implement: Implement | None = None


def grounds(file: Path, whole: bool) -> Iterator[Ground]:
    """L0, and L1 as far as it was measured."""
    kinds: tuple[Kind, ...] = ("valley", "deceptive", "independent")
    for kind in kinds[: None if whole else 1]:
        on = landscape(kind, 1)
        axes = Axes(on)
        judge = SyntheticJudge(on, 1, 0.01)
        yield Ground(kind, judge, Moves(on), axes, root_of(axes), Author(on, 1, 0.4))
    for table in list(kernels(file).values())[: None if whole else 1]:
        cells = Resources(table)
        verdicts = TabulatedJudge(table, seed=1)
        yield Ground(
            table.unit.name, verdicts, TableMoves(table), cells, table_root(table, cells)
        )  # fmt: skip


def search(
    ground: Ground, name: StrategyName, gpus: int, evaluations: int, *, biased: bool = False
) -> tuple[Tree, list[int]]:
    """The tree without times, and the evaluations of each GPU."""
    spec, gradient = StrategySpec(strategy=name), Gradient()
    members = [PretendedGpu(number) for number in range(gpus)]
    judge = PooledJudge(ground.judge, DevicePool(members), biased)
    loop = Loop(
        spec,
        population(name, spec, gradient),
        (ground.source,),
        Surroundings(
            judge, ContestGrader(), ground.behaviour, implement=ground.implement, width=gpus
        ),
        Budget({"evaluations": evaluations}),
        1,
        ground.root,
        gradient=gradient,
    )
    loop.run()
    tree = [(n.slot, n.parent, n.text, n.log_speed, n.state.value) for n in loop.nodes]
    return tree, [one.jobs for one in members]


def evidence(size: str, file: Path = FILE, measured: Path = MEASURED) -> Evidence:
    """The trees on all landscapes, and the stored rate."""
    whole = size == "whole"
    names = NAMES if whole else ("beam", "grid")
    evaluations = 96 if whole else 30
    rows = [_row(one, name, evaluations) for one in grounds(file, whole) for name in names]
    idle = ", ".join(dict.fromkeys(row.strategy for row in rows if not row.is_parallel))
    notes = (f"{idle}: one slot a generation, so that further GPUs have nothing to do.",)
    findings = _same_tree(rows), *_on_gpus(measured)
    return Evidence("Several GPUs", findings, (_table(rows),), notes=notes if idle else ())


@dataclass(frozen=True)
class _Row:
    landscape: str
    strategy: str
    nodes: int
    same: tuple[bool, ...]
    shares: tuple[int, ...]
    control: bool

    @property
    def is_parallel(self) -> bool:
        """Whether a second GPU had anything to do."""
        return sum(share > 0 for share in self.shares) > 1


def _row(ground: Ground, name: StrategyName, evaluations: int) -> _Row:
    one, *others = [search(ground, name, gpus, evaluations) for gpus in GPUS]
    biased, _ = search(ground, name, GPUS[-1], evaluations, biased=True)
    return _Row(
        ground.name, name, len(one[0]), tuple(tree == one[0] for tree, _ in others),
        tuple(others[-1][1]), biased != one[0],
    )  # fmt: skip


def _same_tree(rows: list[_Row]) -> Finding:
    claim = "Any number of GPUs gives the same tree"
    same = sum(sum(row.same) for row in rows)
    asked = sum(len(row.same) for row in rows)
    several = [row for row in rows if row.is_parallel]
    others = sum(row.control for row in several)
    return Finding(
        claim, "L0, and L1 where it was measured",
        "every search on 2 and on 4 GPUs has the tree of the search on 1",
        f"{same} of {asked} trees are the same", None, None,
        f"with an error of its own on each GPU, {others} of {len(several)} trees are others",
        same == asked and others == len(several) > 0,
    )  # fmt: skip


def _on_gpus(file: Path) -> tuple[Finding, Finding]:
    """The rate on one and two GPUs of a host, and whether the verdicts of one give its tree."""
    value = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return _rate(value), _tree_on_gpus(value)


def _rate(value: Mapping[str, Any]) -> Finding:
    claim = "Two GPUs evaluate nearly twice as many candidates as one"
    asked = f"at least {_ASKED} times the evaluations an hour"
    one, two = value.get("one", {}), value.get("two", {})
    ratio = two.get("compared", {}).get("ratio")
    if ratio is None:
        return _not_measured(claim, asked)
    again = value.get("replayed", {}).get("compared", {}).get("ratio")
    others = (
        "-" if again is None else f"the search that takes the verdicts of one: {again:.2f} times"
    )
    return Finding(
        claim, f"two H200, a beam on matmul.py, {one['evaluations']} evaluations", asked,
        f"{ratio:.2f} times ({one['per_hour']:.0f} and {two['per_hour']:.0f})", None, None, others,
        ratio >= _ASKED,
    )  # fmt: skip


def _tree_on_gpus(value: Mapping[str, Any]) -> Finding:
    claim = "Two real GPUs give the tree of one GPU for the same verdicts"
    asked = "no slot differs if each contest has the verdict of one GPU"
    found = value.get("replayed", {}).get("compared", {})
    if "differing" not in found:
        return _not_measured(claim, asked)
    differing, slots = found["differing"], found["slots"][0]
    return Finding(
        claim, "two H200, each candidate judged again", asked,
        f"{differing} of {slots} slots differ; {_agreement(found)}", None, None, _apart(value),
        differing == 0,
    )  # fmt: skip


def _agreement(found: Mapping[str, Any]) -> str:
    """How far the verdicts on two GPUs are those on one."""
    of = found["verdicts"]
    return (
        f"{of['same_level']} of {of['both']} candidates got as far, and the intervals of "
        f"{of['intervals_meet']} of {of['timed']} contests meet"
    )


def _apart(value: Mapping[str, Any]) -> str:
    """Where trees part whose searches take their own verdicts."""
    said = []
    for name, words in (("two", "two GPUs"), ("again", "one GPU once more")):
        found = value.get(name, {}).get("compared", {})
        if "differing" in found:
            parts = found["first_that_differs"]
            since = "" if parts is None else f", from generation {parts} on"
            said.append(f"{words}: {found['differing']} slots differ{since}")
    return "by verdicts of their own, " + "; ".join(said) if said else "-"


def _not_measured(claim: str, asked: str) -> Finding:
    found = "not measured: parallel_search.py was not run on two GPUs"
    return Finding(claim, "two H200", asked, found, None, None, "-", None)


def _table(rows: list[_Row]) -> Rows:
    return Rows(
        "Trees on 1, 2 and 4 GPUs", ("landscape", "strategy", "nodes", "same", "jobs of each of 4"),
        tuple(_cells(rows)),
    )  # fmt: skip


def _cells(rows: list[_Row]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        same = "yes" if all(row.same) else "no"
        shares = ", ".join(map(str, row.shares))
        yield row.landscape, row.strategy, str(row.nodes), same, shares
