"""The model that writes the candidates of a search: what it is shown of a slot, and its reply."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Protocol

from tilewright.agents import change, observation, optimizer
from tilewright.agents.briefing import Briefing
from tilewright.agents.change import FACTS, Task
from tilewright.agents.model import Proposal, Step, Unusable
from tilewright.analysis.model import Issue
from tilewright.evaluation.model import Candidate, Evaluation, Level
from tilewright.evaluation.physics import least_time
from tilewright.evaluation.workbench import Workbench
from tilewright.figures import time
from tilewright.knowledge.stages import Stage
from tilewright.models.model import ContextLengthError, Role
from tilewright.priority import give_way
from tilewright.search.node import Idea, Node, Slot
from tilewright.strategies.briefing import Briefer, Position, timed, trial_words
from tilewright.strategies.calls import Answer, Calls, Place, SlotNumber
from tilewright.strategies.cover import NAME, diff_of, parsed_answer
from tilewright.strategies.ideas.text_facts import FactsOf
from tilewright.strategies.model import Trial
from tilewright.strategies.verdict import reports_of

TRIES = 3
"""Generations that try an idea whose candidates are all refused: in the second and the third its
author knows why."""
GAIN = 1.10
"""What a change is asked for: times the speed of the text that it changes."""
Shown = Callable[[Node], Sequence[str]]
"""Paragraphs for a node's prompts: experiences of earlier runs."""
_WORDS = {
    "spill_bytes": "bytes spilled",
    "registers": "registers a thread",
    "shared_bytes": "bytes of shared memory",
}


class Guide(Protocol):
    """Chooses the guidance of a generation."""

    def guidance(self, generation: int) -> tuple[str, ...]: ...


class NoGuide:
    """Prompts without guidance."""

    def guidance(self, generation: int) -> tuple[str, ...]:
        """None."""
        del generation
        return ()


class Author:
    """Writes the candidates of slots; sources of ideas leave their tasks with it.

    Args:
        trials: gives those of the run so far.
        suspected: gives the issues that a model reported of a text.
        experiences: what memory has to say of a node, in words that may be sent.
    """

    def __init__(
        self,
        calls: Calls,
        briefer: Briefer,
        bench: Workbench,
        facts: FactsOf,
        note: Callable[[str], None],
        trials: Callable[[], Sequence[Trial]],
        suspected: Callable[[str], Sequence[Issue]] = lambda text: (),
        experiences: Shown = lambda node: (),
        guide: Guide | None = None,
    ) -> None:
        self.calls = calls
        self.briefer = briefer
        self.facts = facts
        self.note = note
        self._bench = bench
        self._trials = trials
        self._suspected = suspected
        self._experiences = experiences
        self._guide = guide or NoGuide()
        self._tasks: dict[tuple[str, str], Task] = {}
        self._briefings: dict[tuple[str, int], Briefing] = {}
        self._lock = Lock()

    @property
    def can_write(self) -> bool:
        """Whether a model can be asked for a candidate; takes in what was answered before."""
        self.calls.settle()
        return self.calls.can_ask(Role.OPTIMIZER)

    def give(self, node: Node, idea: Idea, task: Task) -> None:
        """Say what an idea asks of the author beyond its text."""
        self._tasks[node.hash, idea.id] = task

    def implement(self, slot: Slot) -> Candidate:
        """The candidate of a slot; unusable where no model gives a text."""
        give_way()
        briefing = self.briefing(slot.parent)
        guidance = self._guide.guidance(slot.generation)
        briefing = replace(briefing, guidance=guidance)
        if not self.calls.can_ask(Role.OPTIMIZER):
            return _candidate(slot, None, Unusable("no model is called any more"))
        answer = self._answer(slot, briefing)
        return _candidate(slot, answer, parsed_answer(answer, briefing, optimizer.parse))

    def _answer(self, slot: Slot, briefing: Briefing) -> Answer:
        """The reply to a slot's prompt; to one of half its length where that was too long."""
        task, steps = self._task(slot), self._steps(slot, briefing)
        place = Place(Role.OPTIMIZER, slot.idea.stage or Stage.DISCOVERY, len(steps) + 1)
        prompt = change.build(briefing, task, steps)
        number = SlotNumber(slot.generation, slot.number)
        answer = self.calls.ask_slot(prompt, place, number, slot.sample)
        if isinstance(answer.error, ContextLengthError):
            shorter = change.build(briefing, task, steps[-1:], prompt.tokens // 2)
            again = replace(number, call=1)
            answer = self.calls.ask_slot(shorter, place, again, slot.sample)
        return answer

    def _task(self, slot: Slot) -> Task:
        """What the author is asked for, with the time that would be a gain."""
        given = self._tasks.get((slot.parent.hash, slot.idea.id))
        task = given or Task(slot.idea.text, slot.idea.stage)
        return replace(task, target=self.target(slot.parent), hints=slot.hints)

    def target(self, node: Node) -> str:
        """The most that a faster text may take, in words; empty where nothing was timed."""
        found = timed(node.hash, self._trials())
        if found is None:
            return ""
        return f"at most {time(found[0] / GAIN)} where the present one takes {time(found[0])}"

    def is_open(self, node: Node, idea: Idea) -> bool:
        """Whether all candidates of an idea on a node were refused, and it may be tried again.

        The samples of one generation are one try: none of them was shown what became of another.
        """
        tries = self._tries(node, idea)
        times = len({trial.node.generation for trial in tries if trial.node is not None})
        return 0 < times < TRIES and all(t.evaluation.level is Level.REJECTED for t in tries)

    def _tries(self, node: Node, idea: Idea) -> list[Trial]:
        """The candidates of an idea on a node."""
        return [
            trial
            for trial in self._trials()
            if trial.node is not None
            and trial.node.idea is not None
            and (trial.node.parent, trial.node.idea.id) == (node.hash, idea.id)
        ]

    def _steps(self, slot: Slot, briefing: Briefing) -> tuple[Step, ...]:
        """Earlier tries of the same idea on the same text, none of which came to a parent."""
        tries = self._tries(slot.parent, slot.idea)
        return tuple(_step(trial, briefing, slot.parent.evaluation) for trial in tries)

    def briefing(self, node: Node) -> Briefing:
        """What prompts may say of a node: the path to it, its children, its facts."""
        trials = self._trials()
        with self._lock:  # a profile is made by one thread
            key = node.hash, len(trials)
            if key not in self._briefings:
                self._briefings[key] = self._new_briefing(node, trials)
            return self._briefings[key]

    def _new_briefing(self, node: Node, trials: Sequence[Trial]) -> Briefing:
        facts = self.facts(node.text)
        position = Position(
            facts.module, facts.context, facts.issues, trials, lambda: node.evaluation
        )
        known = self.briefer.briefing(position, self._suspected(node.text))
        children = [trial for trial in trials if trial.candidate.parent == node.hash]
        return replace(
            known,
            facts=(*self._share(node, trials), *known.facts),
            schedule=tuple(trial_words(trial) for trial in _path(node, trials)),
            tried=tuple(_child_words(trial, node.evaluation) for trial in reversed(children)),
            experiences=tuple(self._experiences(node)),
        )

    def _share(self, node: Node, trials: Sequence[Trial]) -> Iterator[str]:
        """How close a text is to what the chip allows: the measure of progress."""
        found = timed(node.hash, trials)
        if found is None:
            return
        us, speedup = found
        cases = self._bench.problem.measured_cases()
        case = next((case for case in cases if case.name == speedup.case), None)
        least = least_time(case, self._bench.device.info) if case is not None else None
        if least is not None:
            yield (
                f"The chip needs at least {time(least.us)} for it ({least.why}): the present text "
                f"reaches {least.us / us:.0%} of what is attainable."
            )


def _path(node: Node, trials: Sequence[Trial]) -> list[Trial]:
    """The steps from the original to a node, in their order."""
    by_text: Mapping[str, Trial] = {trial.candidate.hash: trial for trial in reversed(trials)}
    found: list[Trial] = []
    at = by_text.get(node.hash)
    while at is not None and at not in found:
        found.append(at)
        at = by_text.get(at.candidate.parent or "")
    return found[::-1]


def _child_words(trial: Trial, before: Evaluation) -> str:
    """A trial as a line, with what became of what its idea expected."""
    expects = trial.node.idea.expects if trial.node is not None and trial.node.idea else ()
    return "; ".join((trial_words(trial), *expectation_words(expects, before, trial.evaluation)))


def _step(trial: Trial, briefing: Briefing, before: Evaluation) -> Step:
    candidate = trial.candidate
    if candidate.unusable:
        return Step(candidate.rationale, "", candidate.unusable)
    diff = diff_of(briefing.file_name, briefing.text, candidate.text)
    return Step(
        candidate.rationale, diff, observation.words(trial.evaluation, candidate.text, before)
    )


def _candidate(slot: Slot, answer: Answer | None, parsed: Proposal | Unusable) -> Candidate:
    """What a reply proposes; the parent's text with a reason where it gives no text."""
    words = slot.idea.text or "a change of the model's choice"
    if isinstance(parsed, Proposal) and not slot.idea.text:
        words = parsed.rationale
    return Candidate(
        text=parsed.text if isinstance(parsed, Proposal) else slot.parent.text,
        parent=slot.parent.hash,
        proposer=f"{NAME}:{answer.choice.name}" if answer is not None else NAME,
        rationale=words,
        stage=slot.idea.stage or Stage.DISCOVERY,
        call=answer.key if answer is not None else None,
        unusable=parsed.message if isinstance(parsed, Unusable) else "",
    )


def figures(evaluation: Evaluation) -> Mapping[str, int]:
    """The largest figure of each kind over kernels and configurations; what is not known is out."""
    reports = [report for report in reports_of(evaluation) if report.ok]
    found = {
        name: [value for report in reports if (value := getattr(report, name)) is not None]
        for name in FACTS
    }
    return {name: max(values) for name, values in found.items() if values}


def expectation_words(
    expects: Sequence[str], before: Evaluation, after: Evaluation
) -> Iterator[str]:
    """A sentence for each expected change of a figure that both evaluations have.

    ``expects``: a fact with a sign, "spill_bytes-" where it was to fall.
    """
    old, new = figures(before), figures(after)
    for one in expects:
        name, sign = one[:-1], one[-1:]
        if name not in old or name not in new:
            continue
        wanted = new[name] < old[name] if sign == "-" else new[name] > old[name]
        verdict = "as expected" if wanted else f"expected to {'fall' if sign == '-' else 'rise'}"
        yield f"{_WORDS[name]} {old[name]} -> {new[name]}, {verdict}"
