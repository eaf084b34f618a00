"""Ideas that are transformations of the knowledge base, each to be written by a model."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from tilewright.agents import cards
from tilewright.agents.change import Task
from tilewright.analysis.preconditions.match import Applicable
from tilewright.knowledge.stages import Stage
from tilewright.search.node import Idea, IdeaKind, Node
from tilewright.search.spec import MenuSpec
from tilewright.strategies.author import Author

T = TypeVar("T")


class Patterns:
    """The patterns whose conditions hold for a node or are not known, drawn with dropout.

    Those that fell out come after those that stayed, for a node whose slots outnumber the menu.
    """

    name = "patterns"

    def __init__(self, author: Author, menu: MenuSpec) -> None:
        self._author = author
        self._menu = menu

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        """One idea for each pattern; none once no model can write it."""
        del want
        if not self._author.can_write:
            return ()
        every = entries(self._author, node)
        kept = random_subset(every, rng, self._menu)
        return [
            self._idea(node, one) for one in (*kept, *(one for one in every if one not in kept))
        ]

    def _idea(self, node: Node, one: Applicable) -> Idea:
        pattern = one.pattern
        text = f"{' '.join(pattern.title.split())}. {' '.join(pattern.do.split())}"
        idea = Idea(f"pattern:{pattern.id}", text, IdeaKind.PATTERN, pattern.stage)
        self._author.give(node, idea, Task(text, pattern.stage, (cards.full_words(one),)))
        return idea


def entries(author: Author, node: Node) -> list[Applicable]:
    """The patterns that may be applied to a node; faults are corrected before a search begins."""
    found = cards.applicable(author.briefing(node))
    return [one for one in found if one.pattern.stage is not Stage.CORRECTNESS]


def random_subset(every: Sequence[T], rng: Random, menu: MenuSpec) -> list[T]:
    """What is left of a list by chance, in its order: ``least`` where there are so many, and
    ``most`` at most."""
    kept = {at for at in range(len(every)) if rng.random() < menu.keep}
    others = [at for at in range(len(every)) if at not in kept]
    missing = max(0, min(menu.least, len(every)) - len(kept))
    kept.update(rng.sample(others, missing))
    chosen = sorted(kept) if len(kept) <= menu.most else sorted(rng.sample(sorted(kept), menu.most))
    return [every[at] for at in chosen]
