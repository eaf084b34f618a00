"""The memory of a search: what its trials teach, what it asks, what the bank gets at the end."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.evaluation.model import Speedup, text_hash
from tilewright.knowledge.base import taxonomy
from tilewright.memory.bank import Bank, Learned, Snapshot
from tilewright.memory.conditions import Asker, conditions_of
from tilewright.memory.model import (
    Experience,
    Origin,
    Outcome,
    Provenance,
    Query,
    Signature,
    Transition,
    key_of,
)
from tilewright.memory.pairs import Thresholds, experience, figures_of, issue_of
from tilewright.memory.projects import path_in_project, project_of
from tilewright.memory.rewinds import inverse
from tilewright.memory.run_memory import RunMemory
from tilewright.memory.schedules import schedule_of
from tilewright.memory.signature import signature_of
from tilewright.rewrites.rewinds import all_rewinds
from tilewright.search.idea_source import IdeaSource
from tilewright.search.node import Idea, IdeaKind, Node
from tilewright.search.spec import MemorySpec, SourceName
from tilewright.store.ledger import Ledger
from tilewright.strategies.ideas.memory import Remembered
from tilewright.strategies.ideas.schedule import Replayed
from tilewright.strategies.ideas.text_facts import FactsOf
from tilewright.strategies.model import Trial

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_REWIND = "rewind:"


class SearchMemory:
    """Binds a run's memory to its record, its file and its trials.

    Args:
        bank: of this machine; None where only the record is asked, as in a replay.
        facts: of a text that was judged to be correct.
    """

    def __init__(
        self,
        spec: MemorySpec,
        path: Path,
        original: str,
        run: str,
        ledger: Ledger,
        bank: Bank | None,
        facts: FactsOf,
    ) -> None:
        project = project_of(path)
        self._spec = spec
        self._facts = facts
        self._source = Provenance(
            str(project), path_in_project(project, path), text_hash(original), run, Origin.CONTEST
        )
        self._kernel = f"{project}:{self._source.path}"
        self._original = original
        self._texts = {text_hash(original): original}
        self._figures: dict[str, dict[str, float]] = {}
        self._replayed: Replayed | None = None
        self._inverted: list[Transition] = []
        self._named: dict[str, tuple[str, str]] = {}
        limits = Thresholds(spec.gain, spec.loss, per_run=spec.capacity)
        self._memory = RunMemory(
            self._snapshot(ledger, bank), str(project), self._kernel, run, limits,
            lambda key, work: ledger.once("recall", key, {}, work), shared=spec.share,
        )  # fmt: skip

    def _snapshot(self, ledger: Ledger, bank: Bank | None) -> Snapshot:
        """What the bank held when the run began; its number and its misses are on record."""

        def begun() -> Any:
            held = bank.snapshot(self._kernel) if bank is not None else Snapshot()
            return {"number": held.number, "misses": held.misses}

        if self._spec.use != "local":
            return Snapshot()
        seen = ledger.once("recall", "recall:snapshot", {}, begun)
        if bank is None:
            return Snapshot(seen["number"], misses=seen["misses"])
        return replace(bank.snapshot(until=seen["number"]), misses=seen["misses"])

    def sources(
        self, others: Sequence[IdeaSource], *, writes: bool
    ) -> dict[SourceName, IdeaSource]:
        """The sources that ask this memory, by name; ``others`` offer what they weigh."""
        found = next(iter(self._memory.schedules(self._query(self._original))), None)
        self._replayed = Replayed(found, others, writes=writes)
        remembered = Remembered(
            self._memory, self._query_of, others, self._spec.shown.helped, self._spec.blind,
            writes=writes,
        )  # fmt: skip
        return {"schedule": self._replayed, "memory": remembered}

    def recalled(self, node: Node, k: int) -> Sequence[Any]:
        """The entries for a prompt, with their reasons."""
        return self._memory.recall(self._query_of(node), k)

    def _query_of(self, node: Node) -> Query:
        return self._query(node.text)

    def _query(self, text: str) -> Query:
        facts = self._facts(text)
        words = (word for kernel in facts.module.kernels for word in _WORD.findall(kernel.text))
        return Query(
            self._source.project,
            self._kernel,
            self._signature,
            tuple(dict.fromkeys(issue.id for issue in facts.issues)),
            words=tuple(dict.fromkeys(words)),
            text=text_hash(text),
            asks=Asker(facts.module, facts.context),
        )

    @property
    def _signature(self) -> Signature:
        """Of the original: all texts of a run compute the same."""
        facts = self._facts(self._original)
        return signature_of(facts.module, facts.context)

    def learn(self, trial: Trial) -> None:
        """Take in a trial, in the order of the trials."""
        candidate, evaluation = trial.candidate, trial.evaluation
        self._texts[candidate.hash] = candidate.text
        self._figures[candidate.hash] = figures_of(evaluation)
        before = self._texts.get(evaluation.baseline)
        if candidate.unusable or before is None or before == candidate.text:
            return
        transition = self._transition(trial, before)
        if self._replayed is not None:
            self._replayed.learn(transition)
        if transition.idea is not None and key_of(transition.idea).startswith(_REWIND):
            self._inverted += self._way_back(transition)
        else:
            self._memory.learn(transition)

    def _transition(self, trial: Trial, before: str) -> Transition:
        candidate, node = trial.candidate, trial.node
        name = f"{candidate.proposer}@{candidate.hash[:12]}"
        idea = node.idea if node is not None and node.idea is not None else Idea(
            name, candidate.rationale, IdeaKind.REWRITE, trial.stage, candidate=candidate
        )  # fmt: skip
        generation = node.generation if node is not None else 0
        baseline = text_hash(before)
        step = Transition(
            before,
            candidate.text,
            idea,
            trial.evaluation,
            self._signature,
            replace(self._source, kernel=baseline, generation=generation),
            self._figures.get(baseline, {}),
            self._figures[candidate.hash],
        )
        timed = trial.evaluation.speedup is not None
        return replace(step, when=self._conditions(step)) if timed else step

    def _conditions(self, step: Transition) -> Any:
        """What held in the text before, of the preconditions of the issue's patterns."""
        facts, issue = self._facts(step.before), issue_of(step)
        found = next((one for one in facts.issues if one.id == issue), None)
        kernel = facts.module.kernel(found.kernel) if found and found.kernel else None
        return conditions_of(issue, facts.module, kernel, facts.context)

    def _way_back(self, step: Transition) -> list[Transition]:
        """A step that put an issue in, seen from the slower text; none where it was not timed."""
        speedup, idea = step.evaluation.speedup, step.idea
        assert idea is not None
        issue = key_of(idea).removeprefix(_REWIND)
        rewind = next((one for one in all_rewinds() if one.issue == issue), None)
        if speedup is None or rewind is None:
            return []
        back = Idea(
            f"rewrite:{rewind.rewrite}@{text_hash(step.after)[:12]}", taxonomy()[issue].title,
            IdeaKind.REWRITE, taxonomy()[issue].stage,
            candidate=replace(idea.candidate, text=step.before) if idea.candidate else None,
        )  # fmt: skip
        source = replace(step.source, kernel=text_hash(step.after), origin=Origin.MINED)
        return [
            replace(
                step,
                before=step.after,
                after=step.before,
                idea=back,
                evaluation=replace(step.evaluation, speedup=inverse(speedup)),
                source=source,
                facts_before=step.facts_after,
                facts_after=step.facts_before,
            )
        ]

    def summarize(self, work: Callable[[Sequence[Experience]], Sequence[Experience]]) -> None:
        """Replace titles and reasons of what the bank is to get by those that ``work`` gives."""
        if self._spec.use == "local":
            found = work(self._memory.learned("").experiences)
            self._named = {one.id: (one.title, one.mechanism) for one in found}

    def finish(self, bank: Bank, final: str, speedup: Speedup | None, created: str) -> Learned:
        """Add what was learned to the bank: pairs, uses, and the schedule to the final text.

        Nothing is added where the strategy uses the memory of the run alone.

        Args:
            speedup: of the final text over the original, measured at the end.
        """
        path = self._memory.path_to(text_hash(final)) if final != self._original else []
        schedule = None
        if path and speedup is not None:
            ratio = speedup.value, speedup.low, speedup.high
            schedule = schedule_of(path, ratio, created)
        learned = self._memory.learned(created, schedule)
        pairs = [self._with_title(one) for one in learned.experiences]
        learned = replace(learned, experiences=[*pairs, *self._mined(created)])
        if self._spec.use == "local":
            bank.merge(learned)
        return learned

    def _with_title(self, one: Experience) -> Experience:
        title, mechanism = self._named.get(one.id, (one.title, one.mechanism))
        return replace(one, title=title, mechanism=mechanism)

    def _mined(self, created: str) -> list[Experience]:
        """Rewinds that cost time."""
        slower = [
            one
            for one in self._inverted
            if one.evaluation.speedup is not None and one.evaluation.speedup.is_faster
        ]
        found = [experience(one, Outcome.HELPED, created) for one in slower]
        return [replace(one, shared=self._spec.share) for one in found]
