"""Recorded runs as JSON values: a line of a list, and all that is known of one."""

import difflib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilewright.evaluation.model import Level, StepName
from tilewright.memory.model import Recalled
from tilewright.models.model import Spent
from tilewright.search.axes import NAMES
from tilewright.search.spec import StrategySpec
from tilewright.serialize import dump, load
from tilewright.store.records import Records, RunRecord, UnitRecord
from tilewright.strategies.calls import spent_on_record
from tilewright.strategies.recorded_roof import case_roof_of, estimates

Json = Mapping[str, Any]
_FIGURES = ("registers", "spill_bytes", "shared_bytes")
_SECTION = re.compile(r"^## \d+\. (.+)$", re.MULTILINE)


def summary(records: Records, record: RunRecord) -> dict[str, Any]:
    """A run in a list: what was asked, how far it is, what it gained.

    ``gain`` is the measured speed-up of the result over the original with its interval and
    device; None: not measured, or nothing changed.
    """
    result = record.result or {}
    trials = _trials(record)
    device: Json = record.request.get("device") or {}
    return {
        "run": record.id,
        "path": record.path,
        "target": result.get("target") or _target(record.request.get("target")),
        "device": device.get("id") or result.get("device"),
        "device_name": device.get("name"),
        "started": record.started,
        "finished": record.finished,
        "state": record.state.value,
        "trials": len(trials),
        "kept": sum(bool(trial["kept"]) for trial in trials),
        "changed": result.get("changed"),
        "level": result.get("level"),
        "gain": result.get("speedup"),
        "error": result.get("error"),
        "spent": _model_costs(records, record),
    }


def detail(records: Records, record: RunRecord) -> dict[str, Any]:
    """All that is known of a run: its result, if it has one, and what is on record beyond it.

    Of a run that is not finished, the entries of a result hold what was reached so far.
    """
    units = records.units(record.id)
    evaluations = _evaluations(units)
    trials = _trials(record)
    original = record.request.get("text")
    reached = _last_kept(trials) or original
    return {
        **_empty_result(record, trials),
        **(record.result or {}),
        **summary(records, record),
        "tilewright": record.request.get("tilewright"),
        "budget": record.request.get("budget"),
        "seed": record.seed,
        "trials": [_enriched(records, record, trials, at) for at in range(len(trials))],
        "best": speeds(trials),
        "archive": archive(trials, record.request.get("strategy")),
        "memory": recalled(units, trials),
        "compile": {
            "before": compile_rows(evaluations.get(str(original))),
            "after": compile_rows(evaluations.get(str(reached))) if reached != original else [],
        },
        "roof": case_roof_of(records, record, trials),
        "estimates": estimates(records, record, trials, evaluations),
        "calls": [_call(records, unit) for unit in units if unit.kind == "call"],
        "units": _counted(units),
    }


def recorded_texts(records: Records, record: RunRecord) -> dict[str, Any]:
    """The original and every candidate by hash: ``texts``, and ``figures`` of those that were
    compiled, as ``compile_rows`` has them. ``problem`` is the hash of the spec they were run on,
    ``around`` the hashes of the files that the original depended on as the run began."""
    trials = _trials(record)
    original = record.request.get("text")
    names = dict.fromkeys((original, *(trial.get("candidate") for trial in trials)))
    known = {str(name): records.text(str(name)) for name in names if name is not None}
    evaluations = _evaluations(records.units(record.id))
    return {
        "original": original,
        "problem": _problem_hash(records, record),
        "around": record.request.get("around"),
        "texts": {name: text for name, text in known.items() if text is not None},
        "figures": {name: compile_rows(evaluations[name]) for name in known if name in evaluations},
    }


def _problem_hash(records: Records, record: RunRecord) -> str | None:
    """The content hash of the problem; None without one, or where its text is not kept."""
    name = record.request.get("problem")
    text = None if name is None else records.text(str(name))
    return None if text is None else json.loads(text).get("content_hash")


def _target(target: Json | None) -> str | None:
    return f"{target['backend']}:{target['arch']}" if target else None


def _trials(record: RunRecord) -> list[Json]:
    """The trials of the result, or those so far."""
    if record.result is not None:
        return list(record.result.get("trials", ()))
    numbered = (value for name, value in record.progress.items() if name.startswith("trial:"))
    return sorted(numbered, key=lambda trial: int(trial["number"]))


def _empty_result(record: RunRecord, trials: Sequence[Json]) -> dict[str, Any]:
    """The entries of a result of a run that has none."""
    notes = ["the run is not finished: what is shown is what is on record so far"]
    if record.result is not None:
        notes = [record.result["error"]] if "error" in record.result else []
    return {
        "changed": any(trial["kept"] for trial in trials),
        "diff": "",
        "plan": record.progress.get("plan", []),
        "issues": None,
        "remaining": None,
        "speedup": None,
        "certificate": None,
        "notes": notes,
        "seconds": None,
    }


def _last_kept(trials: Sequence[Json]) -> str | None:
    kept = (trial.get("candidate") for trial in reversed(trials) if trial["kept"])
    return next(kept, None)


def _enriched(
    records: Records, record: RunRecord, trials: Sequence[Json], at: int
) -> dict[str, Any]:
    """A trial with the number of its parent (0: the original) and its diff, where on record."""
    trial = trials[at]
    parent, candidate = trial.get("parent"), trial.get("candidate")
    return {
        **trial,
        "parent_trial": _parent(record, trials[:at], parent),
        "diff": _diff(records, parent, candidate),
    }


def _parent(record: RunRecord, before: Sequence[Json], parent: str | None) -> int | None:
    """The trial whose candidate is the parent; 0: the original, None: it is not known.

    Where a search keeps a single text, only a trial that was kept is a parent.
    """
    if parent is None:
        return None
    possible = (t for t in reversed(before) if t["kept"] or t.get("node"))
    made = (t["number"] for t in possible if t.get("candidate") == parent)
    found: int | None = next(made, None)
    return 0 if found is None and parent == record.request.get("text") else found


def _diff(records: Records, parent: str | None, candidate: str | None) -> str | None:
    if parent is None or candidate is None:
        return None
    before, after = records.text(parent), records.text(candidate)
    if before is None or after is None:
        return None
    return "".join(
        difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), "parent", "candidate"
        )
    )


def _evaluations(units: Sequence[UnitRecord]) -> dict[str, Json]:
    """The first evaluation of each candidate that came to a verdict, by the candidate's hash."""
    found: dict[str, Json] = {}
    for unit in units:
        if unit.kind == "evaluate" and unit.value is not None:
            found.setdefault(unit.value["candidate"], unit.value)
    return found


def compile_rows(evaluation: Json | None) -> list[dict[str, Any]]:
    """What the compiler made of each kernel: ranges of its figures over the configurations."""
    steps = evaluation["steps"] if evaluation else ()
    reports = [
        report
        for step in steps
        if step["step"] == StepName.COMPILE.value
        for report in step["data"].get("reports", ())
    ]
    names = dict.fromkeys(report["kernel"] for report in reports)
    return [compile_row(name, [r for r in reports if r["kernel"] == name]) for name in names]


def compile_row(kernel: str, reports: Sequence[Json]) -> dict[str, Any]:
    """Ranges of a kernel's figures over the configurations that compile."""
    good = [report for report in reports if report["ok"]]
    row: dict[str, Any] = {
        "kernel": kernel,
        "configurations": len(reports),
        "compiled": len(good),
    }
    for name in _FIGURES:
        values = [report[name] for report in good if report.get(name) is not None]
        row[name] = [min(values), max(values)] if values else None
    return row


def _counted(units: Sequence[UnitRecord]) -> dict[str, dict[str, int]]:
    """By kind of unit: how many are done, and how many are not."""
    done = Counter(unit.kind for unit in units if unit.finished is not None)
    kinds = Counter(unit.kind for unit in units)
    return {kind: {"done": done[kind], "open": count - done[kind]} for kind, count in kinds.items()}


def _model_costs(records: Records, record: RunRecord) -> dict[str, Any] | None:
    """What models cost; None where no model was asked."""
    models: Json | None = (record.result or {}).get("models")
    if models is not None:
        return dict(models["spent"])
    if record.result is not None:
        return None
    ledger = records.ledger(record.id)
    try:
        spent = spent_on_record(ledger)
    finally:
        ledger.close()
    return dump(spent) if spent != Spent() else None


def _call(records: Records, unit: UnitRecord) -> dict[str, Any]:
    """A model call with its messages, their sizes by section, and its reply."""
    described = {name: value for name, value in unit.input.items() if name != "messages"}
    messages = [_message(records, one) for one in unit.input.get("messages", ())]
    return {
        "key": unit.key.removeprefix("call:"),
        **described,
        "messages": messages,
        "sections": [size for one in messages for size in _sections(one["text"] or "")],
        "reply": unit.value,
    }


def _message(records: Records, message: Sequence[str]) -> dict[str, Any]:
    """A message, whose text is on record by its hash."""
    role, name = message
    return {"role": role, "text": records.text(name)}


def _sections(text: str) -> Iterator[dict[str, Any]]:
    """The name and the characters of each section of a prompt."""
    heads = list(_SECTION.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        yield {"name": head[1], "characters": end - head.start()}


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
