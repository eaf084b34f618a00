"""What a bank learned on real kernels is worth on others: each kernel left out, and by halves.

Banks, recall and weights are those of the engine; what a text's issues are is found by its
detectors in the text itself. The kernels of a half were fixed when the landscape was made.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bootstrap import Estimate, estimate, ratio_of_medians
from finding import Evidence, Finding, Table, median
from table_search import TableMoves, TableRun, table_search
from tabulated import FILE, kernels, name_of
from tabulated import Table as Kernel
from transfer import banked

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.memory.bank import Learned, Snapshot
from tilewright.memory.conditions import Asker, conditions_of
from tilewright.memory.model import Origin, Provenance, Query, Recalled, Signature, Transition
from tilewright.memory.pairs import issue_of
from tilewright.memory.run_memory import RunMemory
from tilewright.memory.signature import signature_of
from tilewright.rewrites import all_rewrites
from tilewright.search.idea_source import IdeaSource
from tilewright.search.loop import Outcome
from tilewright.search.node import Idea, Node
from tilewright.search.spec import StrategySpec
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.strategies.ideas.memory import Remembered
from tilewright.targets.registry import parse_target

STORED = True
PROJECT = "/kernels"
CONTEXT = AnalysisContext(parse_target("cuda:90"), (3, 9))
BUDGET, SHARE = 160, 0.90
SPEC = StrategySpec(strategy="stall")
LEARNING = StrategySpec(strategy="beam")
_TUNED = "suboptimal_autotune_configs"
_ARMS = ("none", "local evidence", "memory", "shuffled", "unrelated")


@dataclass(frozen=True)
class Facts:
    """What the detectors say of a text."""

    module: Module
    issues: tuple[str, ...]
    signature: Signature


@dataclass(frozen=True)
class Named:
    """The moves of a table under the keys and with the issues that the engine's ideas have."""

    table: Kernel
    name: str = "moves"

    def ideas(self, node: Node, want: int, rng: random.Random) -> Sequence[Idea]:
        """All moves, in the order of the draw."""
        return [self._named(idea) for idea in TableMoves(self.table).ideas(node, want, rng)]

    def _named(self, idea: Idea) -> Idea:
        assert idea.candidate is not None
        if idea.source.value == "launch":
            return replace(
                idea, id=f"launch:{idea.text.removeprefix('launch ')}",
                candidate=replace(idea.candidate, issues=(_TUNED,)),
            )  # fmt: skip
        issues = _issues_of_rewrites().get(idea.text, ())
        candidate = replace(idea.candidate, issues=issues)
        return replace(idea, id=f"rewrite:{idea.text}", candidate=candidate)


@cache
def _issues_of_rewrites() -> Mapping[str, tuple[str, ...]]:
    return {one.name: (one.issue,) for one in all_rewrites()}


@dataclass
class Search:
    """One search of a table with a memory."""

    kernel: Kernel
    memory: RunMemory

    def run(self, spec: StrategySpec, seed: int, *, weighs: bool) -> TableRun:
        """Search; ideas are weighed by what is remembered where ``weighs``."""
        moves = Named(self.kernel)
        remembered = Remembered(self.memory, self._query, [moves])
        sources: list[IdeaSource] = [remembered, moves] if weighs else [moves]
        return table_search(
            self.kernel, spec, seed, BUDGET, sources=sources, report=self._learn
        )  # fmt: skip

    def learned(self) -> Learned:
        """What the bank gets of it."""
        return self.memory.learned("")

    def _query(self, node: Node) -> Query:
        facts = facts_of(self.kernel.texts[name_of(node.text)])
        return Query(
            PROJECT, self.kernel.unit.name, facts.signature, facts.issues, text=node.hash,
            asks=Asker(facts.module, CONTEXT),
        )  # fmt: skip

    def _learn(self, outcome: Outcome) -> None:
        node, parent = outcome.node, outcome.slot.parent
        if node is None or node.idea is None:
            return
        before, after = (self.kernel.texts[name_of(one.text)] for one in (parent, node))
        source = Provenance(
            PROJECT, f"{self.kernel.unit.name}.py", parent.hash, "run", Origin.CONTEST,
            node.generation,
        )  # fmt: skip
        facts = facts_of(before)
        step = Transition(before, after, node.idea, node.evaluation, facts.signature, source)
        held = conditions_of(issue_of(step), facts.module, facts.module.kernels[0], CONTEXT)
        self.memory.learn(replace(step, when=held))


@cache
def facts_of(text: str) -> Facts:
    """Issues and signature of a text, without launches."""
    module = parse_module(text, "kernel.py")
    issues = tuple(dict.fromkeys(issue.id for issue in analyze(module, CONTEXT)))
    return Facts(module, issues, signature_of(module, CONTEXT))


@cache
def _learned(name: str, file: Path) -> Learned:
    """What a beam of 160 evaluations on a kernel teaches."""
    search = Search(kernels(file)[name], RunMemory(Snapshot(), PROJECT, name, f"run-{name}"))
    search.run(LEARNING, 1, weighs=False)
    return search.learned()


def bank_of(names: Sequence[str], file: Path) -> Snapshot:
    """The bank after runs on these kernels, without their schedules."""
    return replace(banked([_learned(name, file) for name in names]), schedules=())


def shuffled(held: Snapshot) -> Snapshot:
    """The entries with keys and issues dealt out anew."""
    order = list(range(len(held.experiences)))
    random.Random(0).shuffle(order)
    entries = tuple(
        replace(one, key=held.experiences[at].key, issue=held.experiences[at].issue)
        for one, at in zip(held.experiences, order, strict=True)
    )
    return replace(held, experiences=entries)


Runs = Mapping[str, Mapping[str, Sequence[TableRun]]]


@dataclass(frozen=True)
class Results:
    """Runs by arm and kernel, and how many entries a kernel is shown at its start."""

    runs: Runs
    recalled: Mapping[str, int]

    def reached(self, arm: str, names: Sequence[str]) -> dict[object, list[float]]:
        """Evaluations to 90 %; one more than the budget where it is not reached."""
        return {
            name: [float(one.evaluations_to(SHARE) or BUDGET + 1) for one in self.runs[arm][name]]
            for name in names
        }

    def ratio(self, arm: str, names: Sequence[str], other: str = "none") -> Estimate:
        """Median evaluations of an arm over those of another."""
        return ratio_of_medians(self.reached(arm, names), self.reached(other, names))

    def final(self, arm: str, names: Sequence[str]) -> Estimate:
        """The share that an arm ends with over that of a search without memory."""
        return estimate({
            name: [a.at(BUDGET) / b.at(BUDGET)
                   for a, b in zip(self.runs[arm][name], self.runs["none"][name], strict=True)]
            for name in names
        })  # fmt: skip


def evidence(size: str, file: Path = FILE) -> Evidence:
    """Each kernel left out, the open half's bank on the blind half, and unrelated banks."""
    tables = kernels(file)
    names = list(tables) if size == "whole" else list(tables)[:2]
    seeds = range(1, 5) if size == "whole" else range(1, 2)
    halves = {name: one.unit.blind for name, one in tables.items()}
    out = _results(names, seeds, file, lambda name: [n for n in tables if n != name], _ARMS)
    blind = [name for name in names if halves[name]]
    opened = [name for name in tables if not halves[name]]
    by_half = _results(blind, seeds, file, lambda name: opened, ("memory", "shuffled"))
    findings = [*_findings(out, names, "each kernel left out")]
    if blind:
        same = {arm: out.runs[arm] for arm in ("none", "local evidence")}
        half = Results({**by_half.runs, **same}, by_half.recalled)
        findings += _findings(half, blind, "learned on the open half, used on the blind half")
    findings += _harmless(out, names)
    notes = (
        f"A beam searches each kernel with {BUDGET} evaluations, and the results of its "
        "contests are stored in a bank. The search of another kernel, greedy and then a beam, "
        "weighs its moves by the recalled entries. An entry is admitted by its issue, or by a "
        "related problem. Medians "
        f"count runs that do not get to {SHARE:.0%} as {BUDGET + 1}. Most moves are edits that no "
        "issue names, and a launch setting is recalled for no other kernel: few entries are "
        "admitted, so that gain and loss are both small.",
    )
    return Evidence("Memory of real kernels", tuple(findings), (_table(out, names),), notes=notes)


def _results(
    names: Sequence[str],
    seeds: Sequence[int],
    file: Path,
    learn_from: Callable[[str], Sequence[str]],
    arms: Sequence[str],
) -> Results:
    runs: dict[str, dict[str, list[TableRun]]] = {arm: {} for arm in arms}
    recalled = {}
    for name in names:
        table, others = kernels(file)[name], learn_from(name)
        far = [one for one in others if _is_dot(kernels(file)[one]) != _is_dot(table)]
        held = bank_of(others, file)
        banks = {"memory": held, "shuffled": shuffled(held), "unrelated": bank_of(far, file)}
        for arm in arms:
            runs[arm][name] = [
                Search(table, _memory(banks.get(arm, Snapshot()), name, seed)).run(
                    SPEC, seed, weighs=arm != "none"
                )
                for seed in seeds
            ]
        recalled[name] = len(_first_recall(table, held, name))
    return Results(runs, recalled)


def _memory(held: Snapshot, name: str, seed: int) -> RunMemory:
    return RunMemory(held, PROJECT, name, f"run-{name}-{seed}")


def _first_recall(table: Kernel, held: Snapshot, name: str) -> Sequence[Recalled]:
    facts = facts_of(table.texts[table.start])
    query = Query(PROJECT, name, facts.signature, facts.issues, asks=Asker(facts.module, CONTEXT))
    return _memory(held, name, 0).recall(query, 32)


def _is_dot(table: Kernel) -> bool:
    return facts_of(table.texts[table.start]).signature.dot


def _findings(results: Results, names: Sequence[str], how: str) -> Iterator[Finding]:
    shuffle = results.ratio("shuffled", names)
    for other in ("none", "local evidence"):
        ratio = results.ratio("memory", names, other)
        yield Finding(
            f"A bank of other kernels halves the evaluations, {how}", "L1",
            f"at most 0.50 of the median evaluations to {SHARE:.0%} with {other}",
            f"{ratio.value:.2f}", ratio.low, ratio.high,
            f"with keys and issues shuffled among the entries {shuffle} of those with none",
            ratio.high <= 0.50,
        )  # fmt: skip


def _harmless(results: Results, names: Sequence[str]) -> Iterator[Finding]:
    for arm, what in (("unrelated", "kernels of the other kind"), ("memory", "all others")):
        ratio, final = results.ratio(arm, names), results.final(arm, names)
        shuffle = results.final("shuffled", names)
        yield Finding(
            f"A bank of {what} does no harm", "L1",
            "at most 1.15 of the median evaluations, at least 0.98 of the final gain",
            f"{ratio.value:.2f}, and {final} of the final gain", ratio.low, ratio.high,
            f"shuffled entries: {shuffle} of the final gain",
            ratio.high <= 1.15 and final.low >= 0.98,
        )  # fmt: skip


def _table(results: Results, names: Sequence[str]) -> Table:
    rows = []
    for name in names:
        cells = [f"{median(results.reached(arm, [name])[name]):.0f}" for arm in _ARMS]
        rows.append((name, str(results.recalled[name]), *cells))
    return Table(
        f"Median evaluations to {SHARE:.0%}, each kernel left out",
        ("kernel", "entries recalled at the start", *_ARMS), tuple(rows),
    )  # fmt: skip
