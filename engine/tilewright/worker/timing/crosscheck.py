"""The judge's clock against a performer's, after the blocks; the original against itself alone."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

from . import clock_check
from .clocks import DELAY_FACTOR
from .session import TIMEOUT_S, Session

_BATCH_US = 6000.0
_MOST_CALLS = 128
_LONGEST_DELAY_US = 10_000.0
_TRIES = 4
_CLEAN_MARGIN = 0.10


def cross_check(session: Session) -> tuple[dict[str, Any], list[str]]:
    """The candidate's clocks against the judge's; the original's where it has no clean time."""
    wall: dict[str, Any] = {}
    faults: list[str] = []
    for letter in "B" if session.spec.get("original_us") else "AB":
        median = statistics.median(session.times(letter))
        batch = _batch(session, letter, median)
        found = clock_check.batch_faults(batch, median)
        for _ in range(_TRIES):
            if not found:
                break
            batch = clock_check.quietest(batch, _batch(session, letter, median))
            found = clock_check.batch_faults(batch, median)
        name = {"A": "original", "B": "candidate"}[letter]
        faults += [f"the {name}'s clocks disagree: {told}" for told in found]
        wall[name] = {"calls": batch.calls, "judged_us": batch.judged_us} | {
            "event_us": batch.delayed_event_us / batch.calls
        }
    return wall, faults


def slowed(session: Session, clean: Callable[[], float] | None) -> list[str]:
    """Whether the original takes longer beside the candidate than by itself."""
    alone = session.spec.get("original_us")
    beside = statistics.median(session.times("A"))
    most = 1 + _CLEAN_MARGIN + session.floor
    if alone is not None and beside > alone * most and clean is not None:
        alone = clean()
    if alone is None or beside <= alone * most:
        return []
    return [
        f"the original takes {beside:.1f} us next to the candidate and {alone:.1f} us by itself: "
        "the candidate slows it, or something else uses the device"
    ]


def _batch(session: Session, letter: str, median_us: float) -> clock_check.Batch:
    host_us = max(session.said["host_us"].values())
    most = min(_MOST_CALLS, int(_LONGEST_DELAY_US / (DELAY_FACTOR * host_us + 1)))
    calls = max(2, min(most, math.ceil(_BATCH_US / median_us)))

    def timed(count: int, delayed: bool) -> tuple[float, float]:
        message = {"do": "time.batch", "which": letter, "calls": count}
        if delayed:
            message |= {"delayed": True, "as_for": calls}
        began = time.perf_counter()
        reply = session.ask(message, TIMEOUT_S)
        return float(reply["event_us"]), (time.perf_counter() - began) * 1e6

    idle_wall = timed(0, False)[1]
    plain_event, plain_wall = timed(calls, False)
    delay_wall = timed(0, True)[1]
    delayed_event, delayed_wall = timed(calls, True)
    return clock_check.Batch(
        calls, plain_event, plain_wall, idle_wall, delayed_event, delayed_wall, delay_wall
    )
