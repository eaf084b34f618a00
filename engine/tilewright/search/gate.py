"""Whether a node is quick enough to be a parent."""

import math
from collections.abc import Sequence

from tilewright.search.node import Node

FARTHEST = math.log(1.25)
"""How far behind the best a parent may be."""


def is_within(node: Node, parent: Node | None, best: Node, tolerance: float) -> bool:
    """Whether a node is at most ``tolerance`` slower than its parent, and not far behind the best.

    The middle of an interval decides: its ends would refuse what a noisy clock cannot decide.
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
