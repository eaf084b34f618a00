"""The noise floor: differences of a kernel from itself on a device; an original's clean time.

Each session loads the same text twice, anew: two modules, two copies of the code at addresses of
their own, timed like an original and its candidate.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from .controller import conduct
from .session import Ask
from .stopping_rule import ALPHA

SESSIONS = 8
BLOCKS = 24
CLEAN_BLOCKS = 12

_LEAST = 0.002
_SLOW_S = 1.5
_ENOUGH_S = 12.0
_FEWEST = 4
_END_TIMEOUT_S = 60.0
_LEAST_SHARE = 1 / 9
_HALF_WIDTH = statistics.NormalDist().inv_cdf(1 - ALPHA / 2)
# Student's t for a two-sided error of 1 %, by degrees of freedom (sessions; the mean is known: 0).
_STUDENT = {4: 4.604, 5: 4.032, 6: 3.707, 7: 3.499, 8: 3.355, 9: 3.250, 10: 3.169, 12: 3.055}


def survey(ask: Ask, spec: Mapping[str, Any], sessions: int = SESSIONS) -> dict[str, Any]:
    """Sessions of the original against itself.

    ``ask`` reaches a runner whose contest can load, and loads the original twice.

    Returns: floor, logs (of the ratios), errors (standard, of each), original_us, device, driver,
    duration, seconds.
    """
    found: list[dict[str, Any]] = []
    for session in range(sessions + 1):
        # Loading again moves the code; where it takes long (tuning on import), once must do.
        reload = session < 2 or found[-1]["seconds"] < _SLOW_S
        blocks = BLOCKS if reload else CLEAN_BLOCKS
        asked = {"blocks": blocks, "batches": False, "noise": 0.0, "again": True}
        found.append(conduct(ask, {**spec, **asked, "reload": reload}, None))
        if session >= _FEWEST and sum(told["seconds"] for told in found) > _ENOUGH_S:
            break
    ask({"do": "time.end"}, _END_TIMEOUT_S)
    # The first warms up what outlives a session: clocks, allocators, the host's caches.
    kept = found[1:]
    logs = [math.log(told["value"]) for told in kept]
    errors = [math.log(told["high"] / told["low"]) / 2 / _HALF_WIDTH for told in kept]
    return {
        "floor": floor_of(logs, errors),
        "logs": logs,
        "errors": errors,
        "original_us": statistics.median(told["original_us"] for told in kept),
        "device": kept[-1]["device"],
        "driver": kept[-1]["driver"],
        "duration": kept[-1]["duration"],
        "seconds": sum(told["seconds"] for told in found),
    }


def clean_time(ask: Ask, spec: Mapping[str, Any]) -> float:
    """Microseconds a call of the original with no candidate in its process.

    ``ask`` reaches a runner whose contest holds the original alone.
    """
    told = conduct(ask, {**spec, "blocks": CLEAN_BLOCKS, "batches": False, "noise": 0.0}, None)
    return min(float(told["original_us"]), float(told["candidate_us"]))


def floor_of(logs: Sequence[float], errors: Sequence[float]) -> float:
    """The ratio, less 1, that identical kernels exceed in one session of a hundred.

    Of the sessions' spread only what their own standard ``errors`` do not explain (a third of it
    at the least): those are in every contest's interval already. From it, Student's prediction
    limit for one more value about a known mean of 0, with as many degrees of freedom as there are
    sessions; never below 0.2 %.

    Raises:
        ValueError: fewer than four sessions.
    """
    known = [count for count in _STUDENT if count <= len(logs)]
    if not known:
        raise ValueError(
            f"{len(logs)} sessions are too few for a noise floor; {min(_STUDENT)} are needed"
        )
    square = statistics.fmean(log * log for log in logs)
    explained = statistics.fmean(error * error for error in errors)
    spread = math.sqrt(max(square - explained, _LEAST_SHARE * square))
    return max(_LEAST, math.expm1(_STUDENT[max(known)] * spread))
