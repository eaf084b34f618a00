"""The protocol of idea sources: what could be tried on a node."""

from collections.abc import Sequence
from random import Random
from typing import Protocol

from tilewright.search.node import Idea, Node


class IdeaSource(Protocol):
    """Gives ideas for a node, best first; the same arguments give the same ideas.

    The loop leaves out ideas that were tried on the node and texts that are known.
    """

    @property
    def name(self) -> str: ...

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]: ...
