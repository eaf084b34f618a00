"""Ideas that are what a profile finds to hold a text back, one for each slot."""

from collections.abc import Sequence
from random import Random

from tilewright.agents.change import Task
from tilewright.evaluation.model import text_hash
from tilewright.knowledge.stages import Stage
from tilewright.search.node import Idea, IdeaKind, Node
from tilewright.strategies.author import Author

MOST = 2


class Bottlenecks:
    """The heaviest findings of a node's profile; none where nothing can be timed."""

    name = "bottlenecks"

    def __init__(self, author: Author) -> None:
        self._author = author

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        """One idea for each finding, the heaviest first; none once no model can write it."""
        del want, rng
        if not self._author.can_write:
            return ()
        findings = self._author.briefer.bottlenecks(node.text)[:MOST]
        return [self._idea(node, finding) for finding in findings]

    def _idea(self, node: Node, finding: str) -> Idea:
        text = f"Remove what the profile finds to hold it back: {finding}"
        idea = Idea(
            f"bottleneck:{text_hash(finding)[:12]}", text, IdeaKind.BOTTLENECK, Stage.DISCOVERY
        )
        self._author.give(node, idea, Task(text, Stage.DISCOVERY))
        return idea
