"""What a run may still spend on models: reserved before a call, settled after it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from tilewright.errors import Stopped
from tilewright.models.model import BudgetSpentError, Limits, Spent
from tilewright.models.wire import Usage

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Permit:
    """The most that a call may spend."""

    tokens: int
    dollars: float


class Budget:
    """Counts what calls spend; safe between threads.

    A call that fits only if calls under way spend less than they may waits for them, so that the
    limits hold at every moment and nothing is refused that would have fitted.

    Args:
        before: what the run had spent when it was interrupted; minutes begin anew.
        now: seconds of a clock that never goes back.
    """

    def __init__(self, limits: Limits, before: Spent, now: Callable[[], float]) -> None:
        self._limits = limits
        self._spent = before
        self._now = now
        self._begun = now()
        self._out: list[Permit] = []
        self._changed = threading.Condition()
        self._stopped = False

    @property
    def spent(self) -> Spent:
        """So far, without calls under way."""
        with self._changed:
            return self._spent

    def seconds_left(self) -> float | None:
        """Until the limit in minutes; None without one."""
        if self._limits.minutes is None:
            return None
        return self._limits.minutes * 60 - (self._now() - self._begun)

    def reserve(self, tokens: int, dollars: float) -> Permit:
        """Permission for one call of at most so much; counts the call.

        Raises:
            BudgetSpentError: a limit does not allow it.
            Stopped: ``stop`` was called.
        """
        with self._changed:
            while not self._stopped:
                self._refuse_spent(tokens, dollars)
                if not self._waits(tokens, dollars):
                    permit = Permit(tokens, dollars)
                    self._out.append(permit)
                    self._spent = replace(self._spent, calls=self._spent.calls + 1)
                    return permit
                self._changed.wait(self.seconds_left())
            raise Stopped

    def settle(self, permit: Permit, usage: Usage, dollars: float | None, seconds: float) -> None:
        """What the call really spent; ``dollars`` is None without a price."""
        with self._changed:
            self._out.remove(permit)
            spent = self._spent
            known = spent.dollars is not None and dollars is not None
            self._spent = replace(
                spent,
                tokens_in=spent.tokens_in + usage.tokens_in,
                tokens_cached=spent.tokens_cached + usage.tokens_cached,
                tokens_out=spent.tokens_out + usage.tokens_out,
                dollars=(spent.dollars or 0.0) + (dollars or 0.0) if known else None,
                seconds=spent.seconds + seconds,
            )
            self._changed.notify_all()

    def count_cached(self) -> None:
        """A reply came from disk."""
        with self._changed:
            self._spent = replace(self._spent, calls_cached=self._spent.calls_cached + 1)

    def stop(self) -> None:
        """Grant nothing any more; callers that wait get Stopped."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _refuse_spent(self, tokens: int, dollars: float) -> None:
        """Raise if a call of that size would not fit even after those under way."""
        limits, spent = self._limits, self._spent
        left = self.seconds_left()
        if left is not None and left <= 0:
            raise _spent_up("minutes", f"{limits.minutes:g} minutes have passed")
        if limits.calls is not None and spent.calls >= limits.calls:
            raise _spent_up("calls", f"{spent.calls} of {limits.calls} calls were made")
        used = spent.tokens_in + spent.tokens_out
        if limits.tokens is not None and used + tokens > limits.tokens:
            raise _spent_up(
                "tokens",
                f"{used} of {limits.tokens} tokens are spent, the next call may take {tokens}",
            )
        paid = spent.dollars or 0.0
        if limits.dollars is not None and paid + dollars > limits.dollars + _TOLERANCE:
            raise _spent_up(
                "dollars",
                f"${paid:.4f} of ${limits.dollars:.4f} are spent, the next call may cost "
                f"${dollars:.4f}",
            )

    def _waits(self, tokens: int, dollars: float) -> bool:
        """Whether calls under way could take what this one needs."""
        limits, spent = self._limits, self._spent
        tokens += spent.tokens_in + spent.tokens_out + sum(p.tokens for p in self._out)
        dollars += (spent.dollars or 0.0) + sum(p.dollars for p in self._out)
        return (limits.tokens is not None and tokens > limits.tokens) or (
            limits.dollars is not None and dollars > limits.dollars + _TOLERANCE
        )


def _spent_up(limit: str, detail: str) -> BudgetSpentError:
    return BudgetSpentError(
        f"the limit on {limit} does not allow another call to a model: {detail}", limit
    )
