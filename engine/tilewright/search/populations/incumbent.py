"""One node, replaced only by one that is measurably faster: greedy search."""

from collections.abc import Sequence
from random import Random
from typing import Any

from tilewright.search.archive import Archive
from tilewright.search.node import Node
from tilewright.search.population import Place, Placement


class Incumbent:
    """Goes on from the best node alone, one child at a time."""

    def __init__(self) -> None:
        self._archive = Archive()
        self._retired: set[str] = set()

    def select(self, want: int, rng: Random) -> Sequence[Node]:
        """The incumbent, for one slot; nothing once it has no further ideas."""
        del rng
        best = self._archive.best()
        return () if best.hash in self._retired else (best,)[:want]

    def tell(self, node: Node) -> Placement:
        """Make a node the incumbent if it may be returned and is faster."""
        if self._archive.add(node):
            return Placement(Place.BETTER, "the fastest so far")
        return Placement(Place.DROPPED, "not faster than the fastest so far")

    def retire(self, name: str) -> None:
        """Select a node no more."""
        self._retired.add(name)

    def unsure(self) -> Sequence[Node]:
        """No selection hangs on an interval: the contest against the parent decided."""
        return ()

    def best(self) -> Node:
        """The incumbent."""
        return self._archive.best()

    def dump(self) -> dict[str, Any]:
        """The incumbent's hash."""
        return {"population": "incumbent", "members": [self.best().hash]}
