"""Which launches of a candidate to compile before it is heard, and in how many processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_TELLING = ("case", "layout", "launch_options", "launching")


def shares(job: Mapping[str, Any], most: int) -> list[list[dict[str, Any]]]:
    """The checks of a trial that compile differently, dealt out to at most so many processes.

    What is timed comes first and has a process of its own where there are two: the others are
    small variations that take as long each.
    """
    timed = [told["check"] for told in (job.get("timing") or {}).get("cases", ())]
    found: dict[str, dict[str, Any]] = {}
    for check in (*timed, *job["checks"]):
        kept = {name: check.get(name) for name in _TELLING}
        found.setdefault(json.dumps(_kind(kept), sort_keys=True, default=str), kept)
    checks = list(found.values())
    if len(checks) <= 1 or most == 1:
        return [checks] if checks else []
    dealt = [checks[1 + start :: most - 1] for start in range(most - 1)]
    return [checks[:1], *(share for share in dealt if share)]


def _kind(kept: Mapping[str, Any]) -> dict[str, Any]:
    """A check without what no compiler sees: which variant of the spec it is, its tolerances."""
    case = kept["case"]
    told = {name: case.get(name) for name in ("dims", "dtype", "inputs", "init_args", "launch")}
    return {**kept, "case": told}
