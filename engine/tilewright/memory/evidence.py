"""What this run found out itself, which outweighs what is recalled."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

from tilewright.evaluation.model import Evaluation
from tilewright.memory.model import Outcome, Recalled

HELPED, HURT, UNKNOWN = 24.0, 0.75, 1.0
"""Weights of an idea that a recalled entry speaks for, against, or not about.

``HELPED`` is of an entry with a medium effect. The weights were chosen on synthetic landscapes: a
higher one helps more where problems are alike, and what hurt is hardly held back, because a bank
that is wrong must not hide what helps.
"""
_FASTER, _TIED, _SLOWER = 1.0, 0.5, 0.3
"""Weights of an idea after a contest of this run."""
LARGEST = 1.5
"""Effects above it count alike: a rewind can be absurdly slow."""
MISSES = 2
"""Uses in a row without gain after which an entry is not shown again on this kernel."""


@dataclass
class LocalEvidence:
    """Contests of this run by key of the idea, and uses of entries without gain.

    ``misses``: by id of an entry, uses in a row on this kernel that brought no gain, those of
    earlier runs included.
    """

    misses: dict[str, int] = field(default_factory=dict)
    _weights: dict[str, float] = field(default_factory=dict)

    def note(self, key: str, evaluation: Evaluation, shown: Iterable[str] = ()) -> None:
        """Take in what became of an idea that these entries spoke for.

        A text that was refused says nothing of the idea.
        """
        speedup = evaluation.speedup
        faster = speedup is not None and speedup.is_faster
        if speedup is not None:
            slower = speedup.is_slower
            self._weights[key] = _FASTER if faster else _SLOWER if slower else _TIED
            for entry in shown:
                self.misses[entry] = 0 if faster else self.misses.get(entry, 0) + 1

    @property
    def hidden(self) -> frozenset[str]:
        """Entries that are not shown again on this kernel."""
        return frozenset(entry for entry, misses in self.misses.items() if misses >= MISSES)

    def weight(self, key: str, recalled: Sequence[Recalled]) -> float:
        """The weight of an idea: one local contest replaces what is recalled."""
        local = self._weights.get(key)
        if local is not None:
            return local
        about = [one for one in recalled if one.entry.key == key]
        if not about:
            return UNKNOWN
        best = max(about, key=lambda one: one.score).entry
        return HURT if best.outcome is Outcome.HURT else HELPED * _share(best.measured.ratio)


def _share(ratio: float) -> float:
    """From 0.5 for a small effect to 1.5 for one of ``LARGEST`` or more."""
    return 0.5 + min(1.0, math.log(ratio) / math.log(LARGEST))


def draw_positions(weights: Sequence[float], want: int, blind: float, rng: Random) -> list[int]:
    """``want`` different positions, drawn by weight, or uniformly with the chance ``blind``."""
    left = list(range(len(weights)))
    chosen: list[int] = []
    while left and len(chosen) < want:
        uniform = rng.random() < blind
        by = None if uniform else [weights[at] for at in left]
        found = rng.choices(left, by)[0]
        left.remove(found)
        chosen.append(found)
    return chosen
