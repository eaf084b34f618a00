"""A search in generations: binds the loop to the cascade, the ledger and the observer."""

import math
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.devices.pool import share_of
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.model import Evaluation, Level, text_hash
from tilewright.evaluation.physics import least_time
from tilewright.knowledge.stages import Stage
from tilewright.search.axes import Axes
from tilewright.search.budget import Budget
from tilewright.search.grade import ContestGrader, Grader
from tilewright.search.gradient import Gradient
from tilewright.search.loop import Loop, Outcome, Surroundings
from tilewright.search.node import Idea, IdeaKind, Node, Slot, State
from tilewright.search.populations.choice import POPULATIONS, population
from tilewright.search.spec import StrategyName, StrategySpec
from tilewright.source.model import Module
from tilewright.store.ledger import Ledger
from tilewright.strategies.author import Author, Guide, NoGuide
from tilewright.strategies.grades import CaseGrader, EstimateGrader
from tilewright.strategies.guidance import Bandit, summarized
from tilewright.strategies.ideas.choice import STEPS, Available, idea_sources
from tilewright.strategies.ideas.memory import with_code
from tilewright.strategies.ideas.tilings import Tilings
from tilewright.strategies.model import Proposer, SearchUse, Trial
from tilewright.strategies.observer import Observer
from tilewright.strategies.present import dump_trial
from tilewright.strategies.run_models import RunModels
from tilewright.strategies.staged import StagedSearch

FINALISTS = 3
"""Texts that are measured against the original at the end until one holds."""
MOST_REWINDS = 20
"""Evaluations of a step that measures what issues cost."""
_STRIDED = "uncoalesced_access"


class _Clock:
    """Minutes that a run takes, those before it was interrupted included."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def minutes(self) -> float:
        """Since the beginning."""
        return (time.monotonic() - self._began) / 60

    def put_forward(self, minutes: float) -> None:
        """Show at least what was on record."""
        self._began = min(self._began, time.monotonic() - 60 * minutes)


class GenerationSearch(StagedSearch):
    """Stages first: all that the strategy begins with, else those that correct faults.

    Then one population after the other, each with the tree of the one before.

    Args:
        seed: of the run; the strategy's own replaces it.
        note: is given what a person should know of the search.
    """

    def __init__(
        self,
        cascade: Cascade,
        proposers: Sequence[Proposer],
        ledger: Ledger,
        observer: Observer,
        budget: int,
        models: RunModels | None,
        spec: StrategySpec,
        seed: int,
        note: Callable[[str], None],
    ) -> None:
        stages = None if spec.steps[0] == "staged" else frozenset({Stage.CORRECTNESS})
        super().__init__(cascade, proposers, ledger, observer, budget, models, stages)
        self._spec = spec
        self._seed = seed if spec.seed is None else spec.seed
        self._note = note
        self._gradient = Gradient()
        self._axes = Axes(spec.grid.axes, cascade.path, self._is_strided)
        self._loop: Loop | None = None
        self._nodes: list[Node] = []
        self._ended: list[str] = []
        self._used = 0
        self._generation = 0
        self._clock = _Clock()
        self._author = self._new_author()

    @property
    def current(self) -> str:
        """The best text so far that may be returned."""
        return super().current if self._loop is None else self._loop.best().text

    @property
    def reached(self) -> Evaluation | None:
        """The evaluation of the best text so far; None for the original."""
        name = text_hash(self.current)
        found = (t for t in reversed(self.trials) if t.candidate.hash == name)
        correct = [t.evaluation for t in found if t.evaluation.level.reaches(Level.CORRECT)]
        return correct[0] if correct and self.current != self._cascade.original else None

    @property
    def finalists(self) -> tuple[str, ...]:
        """The fastest texts that may be returned, the best first."""
        if self._loop is None:
            return super().finalists
        best = self._loop.best()
        others = [n for n in self._nodes if n.may_return and n.alive and n.hash != best.hash]
        others.sort(key=lambda node: -node.log_speed)
        texts = [node.text for node in (best, *others[: FINALISTS - 1])]
        return tuple(text for text in texts if text != self._cascade.original)

    def use(self) -> SearchUse | None:
        """The specification, why each step ended, and who was in the population."""
        members = self._loop.population.dump() if self._loop is not None else None
        return SearchUse(self._spec.dump(), tuple(self._ended), members)

    def run(self) -> None:
        """Go through the steps; may be interrupted by ``Stopped`` at any point."""
        super().run()
        # What was judged, and what was measured once more: the budget counts both.
        self._used = sum(not trial.candidate.unusable for trial in self.trials)
        first = 1 if self._spec.steps[0] == "staged" else 0
        root, known = self._tree_of_stages()
        for step in self._spec.steps[first:]:
            known = self._search(step, root, known)
        self._summarize()

    def _search(self, step: StrategyName, root: Node, known: Sequence[Node]) -> list[Node]:
        """One population; the nodes of the tree without the root, those before it included."""
        if step == "rewind" and not self.can_time:
            self._note("the step rewind was left out: nothing can be timed here")
            return list(known)
        available, left = self._available(), self._budget - self._used
        if step in POPULATIONS:
            sources = idea_sources(self._spec.ideas, available)
        else:
            own = STEPS[step](available)
            sources = [own] if own is not None else []
        if step == "rewind":
            left = min(left, MOST_REWINDS)
        budget = Budget({"evaluations": left})
        surroundings = self._surroundings()
        if any(isinstance(source, Tilings) for source in sources):
            surroundings = replace(surroundings, grader=CaseGrader())
        loop = self._loop = Loop(
            self._spec,
            population(step, self._spec, self._gradient),
            sources,
            surroundings,
            budget,
            self._seed,
            root,
            gradient=self._gradient,
            known=known,
            generation=self._generation,
        )
        self._nodes = [root, *known]
        end = loop.run()
        self._generation = loop.generation
        self._used += int(budget.amount_spent("evaluations"))
        self._ended.append(f"{step}: {end.value}")
        return [node for node in self._nodes[1:] if math.isfinite(node.log_speed)]

    def _available(self) -> Available:
        return Available(
            facts=self.facts, proposers=self._proposers, bench=self._cascade.bench,
            target=self._cascade.target, can_time=self.can_time, note=self._note,
            author=self._author, spec=self._spec, ledger=self._ledger, memory=self.memory,
        )  # fmt: skip

    def _new_author(self) -> Author | None:
        """What asks models for candidates; None where no model may be asked."""
        models, bench = self._models, self._cascade.bench
        if models is None or bench is None:
            return None
        return Author(
            models.calls, models.briefer, bench, self.facts, self._note,
            lambda: tuple(self.trials), models.adviser.suspected_of, self._experiences,
            self._guide(),
        )  # fmt: skip

    def _experiences(self, node: Node) -> tuple[str, ...]:
        """What is remembered for a node, as far as this project may see and send it."""
        if self.memory is None:
            return ()
        most = self._spec.memory.shown.helped
        return tuple(with_code(one) for one in self.memory.recalled(node, most))

    def _summarize(self) -> None:
        """Have a model name the free changes that the bank is to get."""
        if self.memory is not None and self._models is not None:
            calls = self._models.calls
            calls.settle()
            self.memory.summarize(lambda learned: summarized(calls, learned))

    def _guide(self) -> Guide:
        if self._spec.guidance == "fixed":
            return NoGuide()
        return Bandit(lambda: tuple(self.trials), self._seed, self._spec.hash())

    def _surroundings(self) -> Surroundings:
        grader: Grader = ContestGrader() if self.can_time else EstimateGrader(self._cascade.path)
        return Surroundings(
            judge=self,
            grader=grader,
            behaviour=self._axes,
            implement=self._author.implement if self._author is not None else None,
            report=self._report_outcome,
            corrected=self._correct,
            is_over=self._is_over,
            roof=self._roof,
            width=self._width,
            calls=self._models.calls.side_by_side if self._models else lambda slots: 1,
        )

    def judge(self, text: str, parent: str, thorough: bool) -> Evaluation:
        """What the cascade finds of a text, on the device with the least to do; on record."""
        thorough = thorough or not self.can_time
        bench = self._cascade.bench
        if bench is None or self._width == 1:
            return self._judged(self._cascade, text, parent, "search", thorough)
        with share_of(bench.device) as device:
            cascade = copy(self._cascade)
            cascade.bench = bench.on_device(device)
            return self._judged(cascade, text, parent, "search", thorough)

    def _tree_of_stages(self) -> tuple[Node, list[Node]]:
        """The root, which is the original with its faults corrected, and what the stages tried."""
        trials = [trial for trial in self.trials if not trial.candidate.unusable]
        fixes = [at for at, trial in enumerate(trials) if trial.fixes]
        begin = fixes[-1] + 1 if fixes else 0
        text = trials[fixes[-1]].candidate.text if fixes else self._cascade.original
        evaluation = self.evaluate(text, text, "baseline")
        cell = self._axes.cell(text, evaluation)
        name = text_hash(text)
        root = Node(
            name, text, None, None, "0", 0, 0, evaluation, 0.0, 0.0, cell, State.ALIVE,
            may_return=True, measured=self.can_time,
        )  # fmt: skip
        grader = self._surroundings().grader
        found: dict[str, Node] = {name: root}
        for trial in trials[begin:]:
            parent = found.get(trial.evaluation.baseline)
            if parent is not None and trial.candidate.hash not in found:
                found[trial.candidate.hash] = self._staged_node(trial, parent, grader)
        return root, [*found.values()][1:]

    def _staged_node(self, trial: Trial, parent: Node, grader: Grader) -> Node:
        candidate, evaluation = trial.candidate, trial.evaluation
        name = f"{candidate.proposer}@{candidate.hash[:12]}"
        idea = Idea(name, candidate.rationale, IdeaKind.REWRITE, trial.stage, candidate=candidate)
        slot = Slot(0, trial.number, parent, idea)
        grade = grader.grade(slot, candidate.text, evaluation)
        return Node(
            candidate.hash, candidate.text, parent.hash, idea, slot.name, 0, parent.depth + 1,
            evaluation, grade.log_speed, grade.half_width,
            self._axes.cell(candidate.text, evaluation),
            State.ALIVE if grade.parent else State.DEAD, grade.may_return, grade.measured,
        )  # fmt: skip

    def _report_outcome(self, outcome: Outcome) -> None:
        """Put what became of a slot on record, and tell the observer."""
        node, candidate = outcome.node, outcome.candidate
        if node is None:
            return
        self._nodes.append(node)
        stage = candidate.stage or outcome.slot.idea.stage or Stage.DISCOVERY
        trial = Trial(
            len(self.trials) + 1, stage, candidate, node.evaluation, outcome.is_best,
            outcome.placement.reason, node=node,
        )  # fmt: skip
        self._keep(trial)
        share = 5 + 85 * len(self.trials) // max(1, self._budget)
        self.report(min(90, share), f"generation {node.generation}", stage)

    def _correct(self, node: Node) -> None:
        """Replace what is on record of a node by what was measured once more."""
        # The slot as well: a reply that gave no text has the hash of its parent.
        place = node.hash, node.slot
        self._nodes = [node if (one.hash, one.slot) == place else one for one in self._nodes]
        for at, trial in enumerate(self.trials):
            if trial.node is not None and (trial.node.hash, trial.node.slot) == place:
                self.trials[at] = replace(trial, node=node)
                self._ledger.put(f"trial:{trial.number}", dump_trial(self.trials[at]))

    def _best(self) -> float | None:
        """The speed-up of the best over the original; None where nothing was timed or gained."""
        if self._loop is None:
            return super()._best()
        best = self._loop.best()
        return math.exp(best.log_speed) if best.measured and best.parent is not None else None

    def _is_over(self, generation: int) -> bool:
        """Whether the limit in minutes has passed; on record, so that a replay ends there too."""
        limit = self._spec.budget.minutes
        if limit is None:
            return False

        minutes = self._ledger.once("clock", f"minutes:{generation}", {}, self._clock.minutes)
        self._clock.put_forward(minutes)
        return bool(minutes >= limit)

    def _roof(self, node: Node) -> float | None:
        """The least time that the chip allows over the time of a node."""
        bench, speedup = self._cascade.bench, node.evaluation.speedup
        if bench is None or speedup is None:
            return None
        case = next((c for c in bench.problem.measured_cases() if c.name == speedup.case), None)
        least = least_time(case, bench.device.info) if case is not None else None
        return least.us / speedup.candidate_us if least is not None else None

    def _is_strided(self, module: Module) -> bool:
        context = AnalysisContext(self._cascade.target, self._cascade.triton_version)
        return any(issue.id == _STRIDED for issue in analyze(module, context))
