"""The protocol of populations: which nodes are parents, and which node is the best."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any, Protocol

from tilewright.search.node import Node


class Place(StrEnum):
    """What a population made of a node.

    ``NEW``: it holds a place of its own; ``BETTER``: it took the place of another node, or is the
    best; ``KEPT``: it waits for the next selection; ``DROPPED``: it is no parent.
    """

    NEW = "new"
    BETTER = "better"
    KEPT = "kept"
    DROPPED = "dropped"


@dataclass(frozen=True)
class Placement:
    """A node's place, and why in words for a person."""

    place: Place
    reason: str


class Population(Protocol):
    """Holds nodes; the first node that it is given is the root.

    A node that is given once more (same hash) was measured again: what is known of it is replaced.
    """

    def select(self, want: int, rng: Random) -> Sequence[Node]:
        """The parents of the next generation, one for each slot, at most ``want``; begins it."""
        ...

    def tell(self, node: Node) -> Placement:
        """Take a node in, whatever became of it."""
        ...

    def retire(self, name: str) -> None:
        """Select the node of that hash no more: there are no further ideas for it."""
        ...

    def unsure(self) -> Sequence[Node]:
        """Nodes that decide the next selection by less than their intervals."""
        ...

    def best(self) -> Node:
        """The node with the highest speed that may be returned; the root until there is one."""
        ...

    def dump(self) -> dict[str, Any]:
        """The present members as JSON."""
        ...
