"""Ideas that are weighed by what is remembered, and by what this run found out itself."""

from collections.abc import Callable, Sequence
from random import Random

from tilewright.agents.prompt import fenced
from tilewright.memory.evidence import draw_positions
from tilewright.memory.model import Experience, Outcome, Query, Recalled, key_of
from tilewright.memory.run_memory import RunMemory
from tilewright.search.idea_source import IdeaSource
from tilewright.search.node import Idea, IdeaKind, Node

_EVERY = 1 << 16
WEIGHED = 32
"""Entries of each outcome that weigh ideas; a prompt shows fewer."""


class Remembered:
    """The ideas of other sources, drawn by weight; and ideas of entries that no source has.

    Gives nothing as long as nothing is recalled and nothing was measured: the other sources then
    keep their own order.

    Args:
        query: what is asked for a text.
        shown: most entries that become ideas which a model has to write.
        blind: the share of ideas that are drawn as if nothing were remembered.
        writes: whether a model can write the text of an idea that has none.
    """

    name = "memory"

    def __init__(
        self,
        memory: RunMemory,
        query: Callable[[Node], Query],
        others: Sequence[IdeaSource],
        shown: int = 4,
        blind: float = 0.2,
        *,
        writes: bool = False,
    ) -> None:
        self._memory = memory
        self._query = query
        self._others = others
        self._shown = shown
        self._blind = blind
        self._writes = writes

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        """All ideas in the order in which they were drawn."""
        del want
        recalled = self._memory.recall(self._query(node), WEIGHED)
        offered = {
            idea.id: idea for source in self._others for idea in source.ideas(node, _EVERY, rng)
        }
        keys = {key_of(idea) for idea in offered.values()}
        if self._writes:
            helped = [one for one in recalled if one.entry.outcome is Outcome.HELPED]
            new = [_written(one) for one in helped if one.entry.key not in keys]
            offered |= {idea.id: idea for idea in new[: self._shown]}
        ideas = list(offered.values())
        weights = [self._memory.evidence.weight(key_of(idea), recalled) for idea in ideas]
        if len(set(weights)) <= 1:
            return ()
        return [ideas[at] for at in draw_positions(weights, len(ideas), self._blind, rng)]


def _written(recalled: Recalled) -> Idea:
    """An idea that a model has to write, from an entry that no other source offers."""
    entry = recalled.entry
    return Idea(f"{entry.key}@memory:{entry.id}", with_code(recalled), IdeaKind.MEMORY, entry.stage)


def with_code(recalled: Recalled) -> str:
    """An entry for a prompt: its code, as far as the asking project may see it, is data there."""
    words, diff = entry_words(recalled), recalled.entry.diff
    return f"{words}\n{fenced(diff, 'diff')}" if diff else words


def entry_words(recalled: Recalled) -> str:
    """An entry as one paragraph."""
    entry = recalled.entry
    parts = [f"{headline(entry)}.", entry.mechanism.strip()]
    parts += [f"It applies when {one.statement}." for one in entry.when]
    parts += [f"Avoid it when {one.statement.rstrip('.')}." for one in entry.avoid]
    return " ".join(filter(None, parts))


def headline(entry: Experience) -> str:
    """What was changed and what it brought, with its interval: one line."""
    measured = entry.measured
    if entry.outcome is Outcome.HELPED:
        effect = f"{measured.ratio:.2f}x faster [{measured.low:.2f}, {measured.high:.2f}]"
    else:
        effect = (
            f"{1 / measured.ratio:.2f}x slower [{1 / measured.high:.2f}, {1 / measured.low:.2f}]"
        )
    return f"{entry.title}: {effect} on {measured.device}"
