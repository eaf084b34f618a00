"""One contest as it goes, and the figures that it ends with."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import stopping_rule

Ask = Callable[[dict[str, Any], float], dict[str, Any]]

TIMEOUT_S = 60.0
_DEFAULT_FLOOR = 0.02
_HOST_BOUND = 1.5
_KEPT = (
    "repeats", "sets", "in_place", "not_refreshed", "device", "driver", "clock_note", "host_us",
)  # fmt: skip


@dataclass
class Session:
    """The runner's answers and the readings of the coordinator's clock."""

    ask: Ask
    spec: Mapping[str, Any]
    draw: random.Random
    said: dict[str, Any] = field(default_factory=dict)
    blocks: list[dict[str, Any]] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    walls_us: list[float] = field(default_factory=list)
    checked: int = 0
    noise: float | None = None
    phases: dict[str, float] = field(default_factory=dict)

    def lap(self, phase: str, began: float) -> None:
        """Note the seconds since the phase before."""
        self.phases[phase] = time.perf_counter() - began - sum(self.phases.values())

    @property
    def floor(self) -> float:
        """The noise floor, or what stands in for one that was not measured when to stop."""
        return _DEFAULT_FLOOR if self.noise is None else self.noise

    def times(self, letter: str) -> list[float]:
        """Microseconds a call of one version, its median in each block."""
        return [_median(block["us"], order, letter) for block, order in self._ordered()]

    def logs(self) -> list[float]:
        """Each block's log ratio of original over candidate."""
        return [
            math.log(first / second)
            for first, second in zip(self.times("A"), self.times("B"), strict=True)
        ]

    def raw(self) -> list[tuple[str, list[float]]]:
        """Each block's order, and microseconds for each of its letters."""
        return [(order, block["us"]) for block, order in self._ordered()]

    def _ordered(self) -> list[tuple[dict[str, Any], str]]:
        return list(zip(self.blocks, self.orders, strict=True))


def figures(session: Session, verdict: str | None) -> dict[str, Any]:
    """What ``conducting.conduct`` tells of the samples."""
    logs = session.logs()
    said = session.said
    times = {letter: session.times(letter) for letter in "AB"}
    medians = {letter: statistics.median(found) for letter, found in times.items()}
    host = said["host_us"]
    interval = stopping_rule.interval_of(logs) if len(logs) >= stopping_rule.LOOKS[0] else None
    return {
        "blocks": [list(pair) for pair in zip(times["A"], times["B"], strict=True)],
        "logs": logs,
        "verdict": verdict,
        "value": math.exp(interval.value) if interval else None,
        "low": math.exp(interval.low) if interval else None,
        "high": math.exp(interval.high) if interval else None,
        "looks": sum(look <= len(logs) for look in stopping_rule.LOOKS),
        "original_us": medians["A"],
        "candidate_us": medians["B"],
        "host_bound": {name: host[name] > _HOST_BOUND * medians[name] for name in "AB"},
        "clean_original_us": session.spec.get("original_us"),
        "duration": duration_class(said["rough_us"]["A"]),
        "checked": session.checked,
        **({"raw": session.raw()} if session.spec.get("raw") else {}),
        **{key: said[key] for key in _KEPT},
    }


def duration_class(us: float) -> str:
    """Calls that take about as long stray alike: half a decade, named by its lower bound."""
    return f"{10 ** (math.floor(2 * math.log10(max(us, 1.0))) / 2):.0f} us and up"


def _median(us: list[float], order: str, letter: str) -> float:
    """Of two, their mean: A B B A then cancels drift. Of more, what one late call does not move."""
    return statistics.median(
        taken for taken, which in zip(us, order, strict=True) if which == letter
    )
