"""How long the last requests took, for the debug command."""

from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

_KEPT = 50


@dataclass(frozen=True)
class Timing:
    """One handled message. ``outcome`` is "ok", "failed" or "cancelled"."""

    method: str
    milliseconds: float
    outcome: str


class Timings:
    """The last messages, oldest first."""

    def __init__(self) -> None:
        self._kept: deque[Timing] = deque(maxlen=_KEPT)

    def add(self, method: str, seconds: float, outcome: str) -> None:
        self._kept.append(Timing(method, round(seconds * 1000, 2), outcome))

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(timing) for timing in self._kept]
