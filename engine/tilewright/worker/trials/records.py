"""What a trial puts on record of its checks, and says of their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from . import run_faults
from .baselines import Base, Originals
from .results import Results

if TYPE_CHECKING:
    from ..messages.nki import InstructionRecord
    from ..messages.trial import Check, Record, TrialJob


def of_check(check: Check, base: Base, notes: list[str]) -> Record:
    """What a person may want to know of a check next to its figures."""
    case = check["case"]
    record: Record = {
        "name": check["name"],
        "case": f"{case['category']}[{case['index']}]",
        "seed": check["seed"],
        "config": check.get("config_index") or 0,
        "oracle": base.oracle_name,
        "rtol": case["rtol"],
        "atol": case["atol"],
    }
    record |= cast("Record", run_faults.unusual(check))
    if check.get("training"):
        record["training"] = True
    if check.get("gradients"):
        record["gradients"] = True
    if notes:
        record["note"] = "; ".join(dict.fromkeys(notes))
    return record


def drawn_number_texts(check: Check, base: Base) -> Iterator[str]:
    """The plain numbers that are not the spec's in a check, with their values."""
    usual = {one["name"]: one.get("value") for one in check["case"].get("inputs") or ()}
    for entry in base.inputs:
        if "value" in entry and usual.get(entry["name"]) not in (None, entry["value"]):
            yield f"{entry['name']} {entry['value']:.6g}"


def executed(
    originals: Originals, job: TrialJob, given: Results | None
) -> dict[str, list[InstructionRecord]]:
    """The instructions of the first check by version, where they were noted."""
    if given is None or not given.told.get("instructions"):
        return {}
    base = originals.base(job, job["checks"][0])
    told = base.original.told if base.original is not None else {}
    own = given.told["instructions"]
    return {"original": told.get("instructions") or [], "candidate": own}
