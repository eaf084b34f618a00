"""Several populations in a ring, which exchange their best nodes now and then."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tilewright.search.archive import Archive
from tilewright.search.node import Node
from tilewright.search.population import Place, Placement, Population
from tilewright.search.spec import IslandsSpec


class Islands:
    """Takes one island a generation in turn; a node migrates once, and never to where it is."""

    def __init__(self, spec: IslandsSpec, inner: Callable[[], Population]) -> None:
        self._spec = spec
        self._archive = Archive()
        self._islands = [inner() for _ in range(spec.count)]
        self._homes: dict[str, set[int]] = {}
        self._migrated: set[str] = set()
        self._turn = -1
        self._since = 0

    def select(self, want: int, rng: Random) -> Sequence[Node]:
        """The parents of the next island that has some, after a migration if one is due."""
        if self._since >= self._spec.every:
            self._since = 0
            self._migrate()
        for _ in self._islands:
            self._turn = (self._turn + 1) % len(self._islands)
            if parents := self._islands[self._turn].select(want, rng):
                return parents
        return ()

    def tell(self, node: Node) -> Placement:
        """Take a node into the island of this generation, the root into all."""
        known = node.hash in self._homes
        is_best = self._archive.add(node)
        if node.parent is None or known:
            homes = self._homes.setdefault(node.hash, set(range(len(self._islands))))
            places = [self._islands[home].tell(node) for home in sorted(homes)]
            return places[0]
        self._since += 1
        home = max(self._turn, 0)
        self._homes[node.hash] = {home}
        placed = self._islands[home].tell(node)
        if is_best:
            return Placement(Place.BETTER, f"the fastest so far, on island {home + 1}")
        return Placement(placed.place, f"island {home + 1}: {placed.reason}")

    def retire(self, name: str) -> None:
        """Select a node no more, on any island."""
        for island in self._islands:
            island.retire(name)

    def unsure(self) -> Sequence[Node]:
        """Of all islands, each node once."""
        found = {node.hash: node for island in self._islands for node in island.unsure()}
        return [*found.values()]

    def best(self) -> Node:
        """The fastest node of all islands that may be returned."""
        return self._archive.best()

    def dump(self) -> dict[str, Any]:
        """Each island."""
        return {"population": "islands", "islands": [one.dump() for one in self._islands]}

    def _migrate(self) -> None:
        leaving = [island.best() for island in self._islands]
        for home, node in enumerate(leaving):
            there = (home + 1) % len(self._islands)
            homes = self._homes[node.hash]
            if node.hash not in self._migrated and there not in homes:
                self._migrated.add(node.hash)
                homes.add(there)
                self._islands[there].tell(node)
