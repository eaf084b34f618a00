"""MAP-Elites: the fastest node, and a runner-up, for each cell of behaviour."""

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from tilewright.search.archive import Archive
from tilewright.search.gradient import Gradient
from tilewright.search.node import Node
from tilewright.search.population import Place, Placement
from tilewright.search.spec import GridSpec

Cell = tuple[int, ...]
_RUNNER_UP = 0.25  # of the draws of a cell
_GREED = 3.0  # exponent of a node's speed where its quality decides
_CURIOSITY = 0.1  # of a cell whose gradient is not known


class Grid:
    """An archive of cells, whose parents are drawn by a mixture of four rules."""

    def __init__(self, spec: GridSpec, gradient: Gradient) -> None:
        self._spec = spec
        self._gradient = gradient
        self._archive = Archive()
        self._cells: dict[Cell, tuple[str, ...]] = {}
        self._children: dict[Cell, int] = {}
        self._retired: set[str] = set()

    def select(self, want: int, rng: Random) -> Sequence[Node]:
        """Parents drawn one by one, those of a cell next to each other."""
        members = self._members()
        if not members:
            return ()
        rules = self._rules(members)
        shares = self._spec.mixture.model_dump()
        chosen = []
        for _ in range(min(want, self._spec.children)):
            rule = rng.choices([*shares], [*shares.values()])[0]
            chosen.append(_member(members[rules[rule](rng)], rng))
        for node in chosen:
            self._children[node.cell] = self._children.get(node.cell, 0) + 1
        order = [node.hash for nodes in members.values() for node in nodes]
        return sorted(chosen, key=lambda node: order.index(node.hash))

    def tell(self, node: Node) -> Placement:
        """Let a node take a place in its cell: an empty one, or that of a slower node."""
        known = self._archive.get(node.hash)
        if known is not None:
            self._leave(known)
        is_best = self._archive.add(node)
        if not node.alive:
            return Placement(Place.DROPPED, "failed")
        there = self._cells.get(node.cell, ())
        if not there:
            self._cells[node.cell] = (node.hash,)
            return Placement(Place.NEW, f"the first of cell {_words(node.cell)}")
        return self._compete(node, there, is_best=is_best)

    def _compete(self, node: Node, there: tuple[str, ...], *, is_best: bool) -> Placement:
        elite = self._node(there[0])
        if _beats(node, elite):
            self._cells[node.cell] = (node.hash, elite.hash)
            words = "the fastest so far" if is_best else f"the elite of cell {_words(node.cell)}"
            return Placement(Place.BETTER, words)
        if len(there) == 1 or _beats(node, self._node(there[1])):
            self._cells[node.cell] = (elite.hash, node.hash)
            return Placement(Place.KEPT, f"the runner-up of cell {_words(node.cell)}")
        return Placement(Place.DROPPED, f"slower than both of cell {_words(node.cell)}")

    def retire(self, name: str) -> None:
        """Draw a node no more; it still holds its cell."""
        self._retired.add(name)

    def unsure(self) -> Sequence[Node]:
        """Elites whose chained interval overlaps that of their runner-up."""
        found = []
        for names in self._cells.values():
            nodes = [self._node(name) for name in names]
            if len(nodes) < 2 or not all(node.measured for node in nodes):
                continue
            apart = abs(nodes[0].log_speed - nodes[1].log_speed)
            if 0 < apart < math.hypot(nodes[0].half_width, nodes[1].half_width):
                found += [node for node in nodes if node.depth > 1]
        return found

    def best(self) -> Node:
        """The fastest node that may be returned."""
        return self._archive.best()

    def dump(self) -> dict[str, Any]:
        """The hashes of each cell's elite and runner-up."""
        cells = [{"cell": [*cell], "members": [*names]} for cell, names in self._cells.items()]
        return {"population": "grid", "axes": self._spec.axes, "cells": cells}

    def _leave(self, node: Node) -> None:
        left = tuple(name for name in self._cells.get(node.cell, ()) if name != node.hash)
        if left:
            self._cells[node.cell] = left
        else:
            self._cells.pop(node.cell, None)

    def _members(self) -> dict[Cell, list[Node]]:
        """The nodes of each cell that may be drawn."""
        found = {
            cell: [self._node(name) for name in names if name not in self._retired]
            for cell, names in self._cells.items()
        }
        return {cell: nodes for cell, nodes in found.items() if nodes}

    def _rules(
        self, members: Mapping[Cell, Sequence[Node]]
    ) -> Mapping[str, Callable[[Random], Cell]]:
        cells = [*members]
        speeds = [nodes[0].log_speed for nodes in members.values()]
        quality = [math.exp(_GREED * (speed - max(speeds))) for speed in speeds]
        curiosity = [self._interest(cell) for cell in cells]
        fastest = cells[speeds.index(max(speeds))]
        return {
            "uniform": lambda rng: rng.choice(cells),
            "quality": lambda rng: rng.choices(cells, quality)[0],
            "curiosity": lambda rng: rng.choices(cells, curiosity)[0],
            "best": lambda rng: fastest,
        }

    def _interest(self, cell: Cell) -> float:
        """By the size of the gradient, and by how few children a cell has had."""
        direction = self._gradient.direction_at(cell)
        size = math.hypot(*direction) if direction else _CURIOSITY
        return (_CURIOSITY + size) / (1 + self._children.get(cell, 0))

    def _node(self, name: str) -> Node:
        node = self._archive.get(name)
        assert node is not None
        return node


def _member(nodes: Sequence[Node], rng: Random) -> Node:
    return nodes[1] if len(nodes) > 1 and rng.random() < _RUNNER_UP else nodes[0]


def _beats(node: Node, other: Node) -> bool:
    """Faster; of equals the older stays."""
    return node.log_speed > other.log_speed


def _words(cell: Cell) -> str:
    return "-".join(map(str, cell))
