"""A beam: several parents, some of them kept because they behave differently."""

import math
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from tilewright.search.archive import Archive
from tilewright.search.node import Node
from tilewright.search.population import Place, Placement
from tilewright.search.spec import BeamSpec

FARTHEST = math.log(1.25)
"""How far behind the best a parent may be."""


class Beam:
    """Keeps the fastest nodes and, in its diverse slots, the fastest of other cells.

    A node that found no place competes again once one that did has no further ideas.
    """

    def __init__(self, spec: BeamSpec) -> None:
        self._spec = spec
        self._archive = Archive()
        self._generation = 0
        self._members: list[str] = []
        self._competing: list[str] = []
        self._retired: set[str] = set()

    def select(self, want: int, rng: Random) -> Sequence[Node]:
        """The members, each for all of its ideas and samples; parent by parent."""
        del rng
        self._members = [node.hash for node in self._chosen()]
        slots = self._spec.ideas * self._spec.samples
        members = [node for name in self._members if (node := self._archive.get(name))]
        return [node for node in members for _ in range(slots)][:want]

    def tell(self, node: Node) -> Placement:
        """Let a node compete for the next beam if it is quick enough to be a parent."""
        known = self._archive.get(node.hash)
        is_best = self._archive.add(node)
        if known is None and node.parent is None:
            self._competing.append(node.hash)
            return Placement(Place.NEW, "the root")
        best, parent = self._archive.best(), self._archive.get(node.parent)
        # A node of an earlier generation comes again once it was measured against the root.
        self._generation = max(self._generation, node.generation)
        if not is_within(node, parent, best, tolerance_at(self._spec.tolerance, node.generation)):
            if node.hash in self._competing:
                self._competing.remove(node.hash)
            return Placement(Place.DROPPED, "too slow to be a parent")
        if node.hash not in self._competing:
            self._competing.append(node.hash)
        if is_best:
            return Placement(Place.BETTER, "the fastest so far")
        return Placement(Place.KEPT, "may be a parent")

    def retire(self, name: str) -> None:
        """Leave a node's place in the beam to another one."""
        self._retired.add(name)

    def unsure(self) -> Sequence[Node]:
        """The last node that is kept and the first that is not, if their intervals overlap."""
        ranked = self._ranked()
        cut = self._spec.width - self._diverse
        if not 0 < cut < len(ranked):
            return ()
        inside, outside = ranked[cut - 1], ranked[cut]
        apart = abs(inside.log_speed - outside.log_speed)
        chained = [n for n in (inside, outside) if n.measured and n.depth > 1]
        overlap = 0 < apart < math.hypot(inside.half_width, outside.half_width)
        return chained if overlap else ()

    def best(self) -> Node:
        """The fastest node that may be returned."""
        return self._archive.best()

    def dump(self) -> dict[str, Any]:
        """The hashes of the parents of this generation, and of those that compete for the next."""
        return {"population": "beam", "members": self._members, "competing": self._competing}

    @property
    def _diverse(self) -> int:
        return min(self._spec.diverse, self._spec.width - 1)

    def _ranked(self) -> list[Node]:
        """Parents and children, fastest first; of equals the one that was there before.

        What the best has left far behind since it was judged competes only if nothing else does.
        """
        nodes = [
            node
            for name in self._competing
            if name not in self._retired and (node := self._archive.get(name))
        ]
        if not math.isinf(tolerance_at(self._spec.tolerance, self._generation)):
            nodes = [n for n in nodes if is_near(n, self._archive.best())] or nodes
        return sorted(_few_of_each_idea(nodes, self._spec.keep_per_idea), key=_slowness)

    def _chosen(self) -> list[Node]:
        ranked = self._ranked()
        if not ranked:
            return []
        cut = self._spec.width - self._diverse
        chosen, rest = ranked[:cut], ranked[cut:]
        cells = {node.cell for node in chosen}
        tolerance = tolerance_at(self._spec.tolerance, self._generation)
        slowest = ranked[0].log_speed - math.log(tolerance)
        for node in rest:
            if len(chosen) == self._spec.width:
                break
            if node.cell not in cells and node.log_speed >= slowest:
                chosen.append(node)
                cells.add(node.cell)
        return chosen


def _slowness(node: Node) -> float:
    return -node.log_speed


def _few_of_each_idea(nodes: Iterable[Node], most: int | None) -> list[Node]:
    """The fastest nodes of each parent and idea, ``most`` at most, in their order."""
    if most is None:
        return list(nodes)
    nodes = list(nodes)
    counts: dict[tuple[str | None, str | None], int] = {}
    kept: set[str] = set()
    for node in sorted(nodes, key=_slowness):
        group = node.parent, node.idea.id if node.idea else None
        counts[group] = counts.get(group, 0) + 1
        if counts[group] <= most:
            kept.add(node.hash)
    return [node for node in nodes if node.hash in kept]


def is_within(node: Node, parent: Node | None, best: Node, tolerance: float) -> bool:
    """Whether a node is at most ``tolerance`` slower than its parent, and not far behind the best.

    The middle of an interval decides: its ends would refuse what a noisy clock cannot tell.
    """
    if not node.alive:
        return False
    if math.isinf(tolerance) or parent is None:
        return True
    slower = parent.log_speed - node.log_speed
    return slower <= math.log(tolerance) and is_near(node, best)


def is_near(node: Node, best: Node) -> bool:
    """Whether a node is not too far behind the best to be a parent."""
    return best.log_speed - node.log_speed <= FARTHEST


def tolerance_at(tolerance: float | Sequence[float], generation: int) -> float:
    """The tolerance of a generation, counted from 1; the last of a list stays."""
    if isinstance(tolerance, Sequence):
        return tolerance[min(max(generation, 1), len(tolerance)) - 1]
    return tolerance
