"""What a search left on record beyond its trials: speeds over the original, its archive, and what
was recalled from memory."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilewright.evaluation.model import Level
from tilewright.memory.model import Recalled
from tilewright.search.axes import NAMES
from tilewright.search.spec import StrategySpec
from tilewright.serialize import load
from tilewright.store import UnitRecord

Json = Mapping[str, Any]


def speeds(trials: Sequence[Json]) -> list[dict[str, Any]]:
    """After each trial its own speed-up over the original, and the best so far.

    Of a search that keeps one text, the product of the speed-ups that were kept, each measured over
    its parent; of a tree, what its contests come to. None: not measured, as is ``best`` from the
    first kept trial on that was not.
    """
    best: float | None = 1.0
    found = []
    for trial in trials:
        own = _own(trial, best)
        if trial["kept"]:
            best = own
        found.append({"trial": trial["number"], "best": best, "own": own})
    return found


def _own(trial: Json, best: float | None) -> float | None:
    node, speedup = trial.get("node"), trial.get("speedup")
    if node is not None:
        log_speed = node["log_speed"]
        return math.exp(log_speed) if node["measured"] and log_speed is not None else None
    return None if best is None or speedup is None else best * speedup["value"]


def archive(trials: Sequence[Json], strategy: Json | None) -> dict[str, Any] | None:
    """Texts of a tree by the cells of their behaviour; None where there is no tree.

    Each cell has its number of correct texts, and the fastest of them where any was timed.
    """
    cells: dict[tuple[int, ...], list[Json]] = {}
    tree = [trial for trial in trials if trial.get("node")]
    for trial in tree:
        if Level(trial["level"]).reaches(Level.CORRECT):
            cells.setdefault(tuple(trial["node"]["cell"]), []).append(trial)
    if not tree:
        return None
    kind = StrategySpec.model_validate(strategy or {}).grid.axes
    return {
        "axes": list(NAMES[kind]),
        "cells": [_cell(cell, members) for cell, members in sorted(cells.items())],
    }


def _cell(cell: tuple[int, ...], members: Sequence[Json]) -> dict[str, Any]:
    timed = [(own, trial) for trial in members if (own := _own(trial, None)) is not None]
    speed, fastest = max(timed, key=lambda one: one[0], default=(None, members[0]))
    return {
        "cell": list(cell),
        "texts": len(members),
        "speed": speed,
        "trial": fastest["number"],
        "parents": sum(trial["node"]["state"] == "alive" for trial in members),
    }


def recalled(units: Sequence[UnitRecord], trials: Sequence[Json]) -> list[dict[str, Any]]:
    """Entries of memory that the run recalled, and the trials of their ideas, in order."""
    found: dict[str, dict[str, Any]] = {}
    for one in _entries(units):
        entry = one.entry
        row = found.setdefault(entry.id, {
            "id": entry.id,
            "outcome": entry.outcome.value,
            "title": entry.title,
            "ratio": entry.measured.ratio,
            "low": entry.measured.low,
            "high": entry.measured.high,
            "device": entry.measured.device,
            "project": entry.source.project,
            "reasons": list(one.reasons),
            "recalled": 0,
            "trials": [],
        })  # fmt: skip
        row["recalled"] += 1
    for trial in trials:
        idea = (trial.get("node") or {}).get("idea") or ""
        entry_id = idea.rpartition("@memory:")[2]
        if "@memory:" in idea and entry_id in found:
            found[entry_id]["trials"].append(trial["number"])
    return list(found.values())


def _entries(units: Sequence[UnitRecord]) -> Iterator[Recalled]:
    """Of all recalls; schedules are not entries."""
    for unit in units:
        if unit.kind == "recall" and isinstance(unit.value, list):
            for one in unit.value:
                if "entry" in one:
                    yield load(Recalled, one)
