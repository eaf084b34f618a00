"""Launches of a candidate to compile before its trial, and the number of processes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ..messages.trial import Check

_TELLING = ("case", "layout", "launch_options", "launching")


def shares(checks: Sequence[Check], most: int) -> list[list[Check]]:
    """The checks that compile differently, dealt out to at most so many processes."""
    found: dict[str, Check] = {}
    for check in checks:
        kept = {name: check.get(name) for name in _TELLING}
        key = json.dumps(_kind(kept), sort_keys=True, default=str)
        found.setdefault(key, cast("Check", kept))
    different = list(found.values())
    return [share for start in range(most) if (share := different[start::most])]


def _kind(kept: Mapping[str, Any]) -> dict[str, Any]:
    """A check without what no compiler sees: which variant of the spec it is, its tolerances."""
    case = kept["case"]
    told = {name: case.get(name) for name in ("dims", "dtype", "inputs", "init_args", "launch")}
    return {**kept, "case": told}
