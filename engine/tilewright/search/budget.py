"""What a run may still spend: reserved before work begins, settled after it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock


@dataclass(frozen=True)
class Permit:
    """The most that a piece of work may spend, by name."""

    amounts: Mapping[str, float] = field(default_factory=dict)


class Budget:
    """Counts by name what is spent and what is reserved; safe between threads.

    Args:
        limits: by name, such as "evaluations", "calls", "tokens", "dollars" and "minutes"; a name
            that is missing, or None, has no limit.
    """

    def __init__(self, limits: Mapping[str, float | None]) -> None:
        self._limits = {name: most for name, most in limits.items() if most is not None}
        self._spent: dict[str, float] = {}
        self._reserved: dict[str, float] = {}
        self._lock = Lock()

    def reserve(self, **amounts: float) -> Permit | None:
        """Permission to spend at most so much; None if a limit does not allow it."""
        with self._lock:
            if any(amount > self._amount_left(name) for name, amount in amounts.items()):
                return None
            for name, amount in amounts.items():
                self._reserved[name] = self._reserved.get(name, 0.0) + amount
        return Permit(amounts)

    def settle(self, permit: Permit, **spent: float) -> None:
        """What the work really spent; what it does not name was spent as reserved."""
        with self._lock:
            for name, amount in permit.amounts.items():
                self._reserved[name] -= amount
                self._spent[name] = self._spent.get(name, 0.0) + spent.get(name, amount)

    def amount_left(self, name: str) -> float:
        """What may still be reserved; infinite without a limit."""
        with self._lock:
            return self._amount_left(name)

    def amount_spent(self, name: str) -> float:
        """What was settled so far."""
        with self._lock:
            return self._spent.get(name, 0.0)

    def _amount_left(self, name: str) -> float:
        used = self._spent.get(name, 0.0) + self._reserved.get(name, 0.0)
        return self._limits.get(name, float("inf")) - used
