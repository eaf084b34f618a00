"""Directions of behaviour in which changes gained, learned from the transitions of a run."""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright.search.node import Node

BINS = 4
_MEMORY = 256
_HALF_LIFE = 20
_LEAST = 3
_MIXTURE = (0.4, 0.4, 0.2)
_SHARPNESS = 3.0
Direction = tuple[float, ...]


@dataclass(frozen=True)
class _Step:
    """From one cell to another, with the gain in logarithms; None: the child failed."""

    before: tuple[int, ...]
    change: tuple[int, ...]
    gain: float | None


class Gradient:
    """The direction from a cell that promises most: by gains, by their share, by empty cells."""

    def __init__(self) -> None:
        self._steps: deque[_Step] = deque(maxlen=_MEMORY)
        self._best: dict[tuple[int, ...], float] = {}

    def learn(self, parent: Node, child: Node, change: Sequence[int] | None = None) -> None:
        """Take a transition in; ``change``: of the behaviour, where it is finer than cells."""
        moved = tuple(change) if change else _difference(child.cell, parent.cell)
        gain = child.log_speed - parent.log_speed if math.isfinite(child.log_speed) else None
        self._steps.append(_Step(parent.cell, moved, gain))
        for node in (parent, child):
            if math.isfinite(node.log_speed):
                best = self._best.get(node.cell, -math.inf)
                self._best[node.cell] = max(best, node.log_speed)

    def direction_at(self, cell: tuple[int, ...]) -> Direction | None:
        """The direction from a cell; None before three transitions have begun there."""
        weighted = [
            (step, 0.5 ** (age / _HALF_LIFE))
            for age, step in enumerate(reversed(self._steps))
            if step.before == cell
        ]
        if len(weighted) < _LEAST:
            return None
        axes = range(len(cell))
        terms = (
            _unit([_mean_gain(weighted, axis) for axis in axes]),
            _unit([_share_of_gains(weighted, axis) for axis in axes]),
            _unit(self._towards_empty(cell)),
        )
        return tuple(
            sum(share * term[axis] for share, term in zip(_MIXTURE, terms, strict=True))
            for axis in axes
        )

    def _towards_empty(self, cell: tuple[int, ...]) -> list[float]:
        """Towards cells next to this one that are empty or weaker than the best."""
        top = max(self._best.values(), default=0.0)
        found = [0.0] * len(cell)
        for axis in range(len(cell)):
            for step in (-1, 1):
                value = cell[axis] + step
                if 0 <= value < BINS:
                    there = self._best.get((*cell[:axis], value, *cell[axis + 1 :]))
                    found[axis] += step * (1.0 if there is None else min(1.0, top - there))
        return found


def weight(direction: Direction | None, change: Sequence[int] | None) -> float:
    """How likely an idea is drawn that changes the behaviour so; 1 where nothing is known."""
    if direction is None or not change or not any(change):
        return 1.0
    size = math.hypot(*change)
    return math.exp(_SHARPNESS * sum(d * c for d, c in zip(direction, change, strict=True)) / size)


def _mean_gain(weighted: Iterable[tuple[_Step, float]], axis: int) -> float:
    pairs = [(s.gain * _sign(s.change[axis]), w) for s, w in weighted if s.gain is not None]
    total = sum(w for _, w in pairs)
    return sum(gain * w for gain, w in pairs) / total if total else 0.0


def _share_of_gains(weighted: Sequence[tuple[_Step, float]], axis: int) -> float:
    """The share of gains upwards less that downwards; each begins with a gain and a loss."""
    shares = []
    for sign in (1, -1):
        gains = [
            s.gain is not None and s.gain > 0 for s, _ in weighted if _sign(s.change[axis]) == sign
        ]
        shares.append((sum(gains) + 1) / (len(gains) + 2))
    return shares[0] - shares[1]


def _unit(vector: Sequence[float]) -> Sequence[float]:
    size = math.hypot(*vector)
    return [value / size for value in vector] if size else vector


def _difference(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return tuple(a - b for a, b in zip(one, other, strict=True))


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
