"""Ideas that are deterministic rewrites of a text's issues."""

from collections.abc import Iterator, Sequence
from random import Random

from tilewright.evaluation.model import Candidate, text_hash
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.stages import Stage
from tilewright.memory.rewinds import Site, sites
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
            self._known[node.hash] = tuple(self._ideas_from_text(node.text))
        return self._known[node.hash]

    def _ideas_from_text(self, text: str) -> Iterator[Idea]:
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


class Rewinds:
    """The rewinds of the root alone, so that each effect is measured on the good text."""

    name = "rewinds"

    def __init__(self, facts: FactsOf) -> None:
        self._facts = facts
        self._known: tuple[Idea, ...] | None = None

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        """One idea for each site, the first site of every rewind first."""
        del want, rng
        if node.parent is not None:
            return ()
        if self._known is None:
            facts = self._facts(node.text)
            found = sites(facts.module, facts.context)
            self._known = tuple(_rewind_idea(site, text_hash(node.text)) for site in found)
        return self._known


def _rewind_idea(site: Site, parent: str) -> Idea:
    kind, issue, text = taxonomy()[site.rewind.issue], site.rewind.issue, site.rewound.text
    words = f"Put in: {kind.title}"
    candidate = Candidate(text, parent, f"rewind:{issue}", words, kind.stage, (issue,))
    name = f"rewind:{issue}@{candidate.hash[:12]}"
    return Idea(name, words, IdeaKind.REWRITE, kind.stage, candidate=candidate)
