"""Ideas that are deterministic rewrites of a text's issues."""

from collections.abc import Iterator, Sequence
from random import Random

from tilewright.evaluation.model import Candidate
from tilewright.knowledge.stages import Stage
from tilewright.search.node import Idea, IdeaKind, Node
from tilewright.strategies.ideas.text_facts import FactsOf
from tilewright.strategies.model import ProposalRequest, Proposer
from tilewright.strategies.planner import plan


class Rewrites:
    """One idea for each candidate of a deterministic proposer, in the order of the stages.

    Args:
        proposer: follows from its request alone.
    """

    name = "rewrites"

    def __init__(self, proposer: Proposer, facts: FactsOf) -> None:
        self._proposer = proposer
        self._facts = facts
        self._known: dict[str, tuple[Idea, ...]] = {}

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        """All rewrites of the node; faults are corrected before a search of this kind begins."""
        del want, rng
        if node.hash not in self._known:
            self._known[node.hash] = tuple(self._found(node.text))
        return self._known[node.hash]

    def _found(self, text: str) -> Iterator[Idea]:
        facts = self._facts(text)
        for stage in plan(facts.issues):
            if stage is Stage.CORRECTNESS:
                continue
            issues = tuple(issue for issue in facts.issues if issue.stage is stage)
            request = ProposalRequest(facts.module, issues, stage, facts.context)
            for candidate in self._proposer.propose(request):
                yield _idea(candidate)


def _idea(candidate: Candidate) -> Idea:
    return Idea(
        f"{candidate.proposer}@{candidate.hash[:12]}",
        candidate.rationale,
        IdeaKind.REWRITE,
        candidate.stage,
        candidate=candidate,
    )
