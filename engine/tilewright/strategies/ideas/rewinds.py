"""Ideas that put an issue into a good kernel, to measure what the way back is worth."""

from collections.abc import Sequence
from random import Random

from tilewright.evaluation.model import Candidate, text_hash
from tilewright.knowledge import taxonomy
from tilewright.memory.rewinds import Site, sites
from tilewright.search.node import Idea, IdeaKind, Node
from tilewright.strategies.ideas.text_facts import FactsOf


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
            self._known = tuple(_idea(site, text_hash(node.text)) for site in found)
        return self._known


def _idea(site: Site, parent: str) -> Idea:
    kind, issue, text = taxonomy()[site.rewind.issue], site.rewind.issue, site.rewound.text
    words = f"Put in: {kind.title}"
    candidate = Candidate(text, parent, f"rewind:{issue}", words, kind.stage, (issue,))
    name = f"rewind:{issue}@{candidate.hash[:12]}"
    return Idea(name, words, IdeaKind.REWRITE, kind.stage, candidate=candidate)
