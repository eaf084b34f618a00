"""Greedy search: one node, replaced only by a measurably faster one; alone or until it stalls."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tilewright.search.archive import Archive
from tilewright.search.node import Node
from tilewright.search.population import Place, Placement, Population
from tilewright.search.spec import StallSpec


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


class Stall:
    """Hands its tree to another population after so many nodes without a gain."""

    def __init__(self, spec: StallSpec, then: Callable[[], Population]) -> None:
        self._spec = spec
        self._then = then
        self._now: Population = Incumbent()
        self._archive = Archive()
        self._since = 0
        self._handed = False
        self._retired: list[str] = []

    def select(self, want: int, rng: Random) -> Sequence[Node]:
        """The parents of the population whose time it is."""
        if self._handed:
            return self._now.select(want, rng)
        parents = () if self._since >= self._spec.after else self._now.select(want, rng)
        if parents:
            return parents
        self._hand_over()
        return self._now.select(want, rng)

    def _hand_over(self) -> None:
        self._handed = True
        self._now = self._then()
        for node in self._archive:
            self._now.tell(node)
        for name in self._retired:
            self._now.retire(name)

    def tell(self, node: Node) -> Placement:
        """Take a node in, and count what brought no gain."""
        known = self._archive.get(node.hash) is not None
        gained = self._archive.add(node)
        if not known:
            self._since = 0 if gained else self._since + 1
        return self._now.tell(node)

    def retire(self, name: str) -> None:
        """Select a node no more, by either population."""
        self._retired.append(name)
        self._now.retire(name)

    def unsure(self) -> Sequence[Node]:
        """Of the population whose time it is."""
        return self._now.unsure()

    def best(self) -> Node:
        """The fastest node that may be returned."""
        return self._archive.best()

    def dump(self) -> dict[str, Any]:
        """The population whose time it is."""
        return {**self._now.dump(), "stalled": self._handed}
