"""What a person may want to know of a check in addition to its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import run_faults
from .baselines import Base


def drawn(check: Mapping[str, Any], base: Base) -> Iterator[str]:
    """The plain numbers that are not the spec's in a check, with their values."""
    usual = {one["name"]: one.get("value") for one in check["case"].get("inputs") or ()}
    for entry in base.inputs:
        if "value" in entry and usual.get(entry["name"]) not in (None, entry["value"]):
            yield f"{entry['name']} {entry['value']:.6g}"


def record(check: Mapping[str, Any], base: Base, notes: list[str]) -> dict[str, Any]:
    """What a person may want to know of a check beside its figures."""
    case = check["case"]
    told: dict[str, Any] = {
        "name": check["name"],
        "case": f"{case['category']}[{case['index']}]",
        "seed": check["seed"],
        "config": check.get("config_index") or 0,
        "oracle": base.oracle_name,
        "rtol": case["rtol"],
        "atol": case["atol"],
    }
    told |= run_faults.unusual(check)
    told |= {name: True for name in ("training", "gradients") if check.get(name)}
    if notes:
        told["note"] = "; ".join(dict.fromkeys(notes))
    return told
