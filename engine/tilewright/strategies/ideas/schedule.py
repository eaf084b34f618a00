"""Ideas that are the steps of a schedule from a related problem, one after the other."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from tilewright.evaluation.model import text_hash
from tilewright.memory.model import Schedule, Step, Transition
from tilewright.memory.schedules import TRIES
from tilewright.search.idea_source import IdeaSource
from tilewright.search.node import Idea, IdeaKind, Node

_EVERY = 1 << 16
_DETERMINISTIC = ("rewrite:", "launch:")


class Replayed:
    """The next step of a schedule for each node, as long as there is one.

    A step applies where a source offers its key again, so that its preconditions are checked. One
    that no source offers is left out, unless a model has to write it. A step that brought no gain
    is tried once more where it is written anew, and then skipped.

    Args:
        writes: whether a model can write the text of an idea that has none.
    """

    name = "schedule"

    def __init__(
        self, schedule: Schedule | None, others: Sequence[IdeaSource], *, writes: bool = False
    ) -> None:
        self._steps = schedule.steps if schedule is not None else ()
        self._others = others
        self._writes = writes
        self._reached: dict[str, int] = {}
        self._proposed: dict[tuple[str, str], int] = {}
        self._tries: Counter[tuple[str, int]] = Counter()

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        """The node's next step; nothing at the end of the schedule."""
        del want
        at = self._reached.get(node.hash, 0)
        offered: list[Idea] | None = None
        while at < len(self._steps):
            if offered is None:
                offered = [i for one in self._others for i in one.ideas(node, _EVERY, rng)]
            idea = self._idea(self._steps[at], offered)
            tried = self._tries[node.hash, at]
            if idea is not None and tried < (1 if idea.candidate is not None else TRIES):
                self._tries[node.hash, at] += 1
                self._reached[node.hash] = at
                self._proposed[node.hash, idea.id] = at
                return [idea]
            at += 1
        self._reached[node.hash] = at
        return ()

    def _idea(self, step: Step, offered: Sequence[Idea]) -> Idea | None:
        """The step as an idea on the present text; None where it does not apply."""
        found = next((one for one in offered if _key(one) == step.key), None)
        if found is not None:
            return replace(found, source=IdeaKind.SCHEDULE)
        if not self._writes or step.key.startswith(_DETERMINISTIC):
            return None
        return Idea(f"{step.key}@schedule", step.text, IdeaKind.SCHEDULE, step.stage)

    def learn(self, transition: Transition) -> None:
        """Take in what became of a step, in the order of the slots."""
        idea = transition.idea
        parent, child = transition.source.kernel, text_hash(transition.after)
        at = self._proposed.get((parent, idea.id)) if idea is not None else None
        if at is None:
            # A step of another source: its text goes on where its parent is.
            self._reached.setdefault(child, self._reached.get(parent, 0))
            return
        speedup = transition.evaluation.speedup
        self._reached[child] = at + 1
        if speedup is not None and speedup.is_faster:
            self._reached[parent] = max(self._reached.get(parent, 0), at + 1)


def _key(idea: Idea) -> str:
    return idea.id.partition("@")[0]
