"""The noise floor: how far a kernel strays from itself on a device; and an original's clean time.

Each session loads the same text twice, anew: two modules, two copies of the code at addresses of
their own, timed like an original and its candidate.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from .conducting import Ask, conduct

SESSIONS = 8
BLOCKS = 12

_LEAST = 0.002
_SLOW_S = 1.5
# Student's t for a two-sided error of 1 %, by degrees of freedom (sessions; the mean is known: 0).
_STUDENT = {4: 4.604, 5: 4.032, 6: 3.707, 7: 3.499, 8: 3.355, 9: 3.250, 10: 3.169, 12: 3.055}


def survey(ask: Ask, spec: Mapping[str, Any], sessions: int = SESSIONS) -> dict[str, Any]:
    """Sessions of the original against itself.

    ``ask`` reaches a performer whose contest can load, and loads the original twice.

    Returns: floor, logs (of the ratios), original_us, device, driver, duration, seconds.
    """
    logs: list[float] = []
    times: list[float] = []
    seconds = 0.0
    told: dict[str, Any] = {}
    for session in range(sessions):
        # Loading again moves the code; where it takes long (tuning on import), once must do.
        reload = session == 0 or seconds / session < _SLOW_S
        last = session == sessions - 1
        asked = {
            **spec,
            "reload": reload,
            "again": not last,
            "blocks": BLOCKS,
            "batches": False,
            "noise": 0.0,
        }
        told = conduct(ask, asked, None)
        logs.append(math.log(told["value"]))
        times.append(min(told["original_us"], told["candidate_us"]))
        seconds += told["seconds"]
    return {
        "floor": floor_of(logs),
        "logs": logs,
        "original_us": statistics.median(times),
        "device": told["device"],
        "driver": told["driver"],
        "duration": told["duration"],
        "seconds": seconds,
    }


def clean_time(ask: Ask, spec: Mapping[str, Any]) -> float:
    """Microseconds a call of the original with no candidate in its process.

    ``ask`` reaches a performer whose contest holds the original alone.
    """
    told = conduct(ask, {**spec, "blocks": BLOCKS, "batches": False, "noise": 0.0}, None)
    return min(float(told["original_us"]), float(told["candidate_us"]))


def floor_of(logs: Sequence[float]) -> float:
    """The ratio, less 1, that a further session of identical kernels exceeds once in a hundred.

    Student's prediction limit for one more value about a known mean of 0, with as many degrees of
    freedom as there are sessions; never below 0.2 %.

    Raises:
        ValueError: fewer than four sessions.
    """
    known = [count for count in _STUDENT if count <= len(logs)]
    if not known:
        raise ValueError(f"{len(logs)} sessions tell no noise floor; {min(_STUDENT)} are needed")
    spread = math.sqrt(statistics.fmean(log * log for log in logs))
    return max(_LEAST, math.expm1(_STUDENT[max(known)] * spread))
