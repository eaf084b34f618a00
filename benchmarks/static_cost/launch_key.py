"""What of a launch its compiler sees: launches of which that is the same are compiled once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def launch_key(point: Mapping[str, Any]) -> str:
    """What the compiler sees of a point's launch."""
    launch = point["launch"]
    seen = []
    for argument in launch["arguments"]:
        value = argument.get("value")
        fixed = argument["kind"] == "constexpr" or (argument["kind"] == "int" and value == 1)
        known = value if fixed else None
        seen.append([argument["type"], known, argument.get("divisible_by_16", False)])
    return json.dumps([launch["kernel"], seen, launch["options"]], separators=(",", ":"))
