"""Many calls in a row, in memory that is used again: what one call leaves shows in another."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..inputs import tensor_files
from . import answers, results, run_faults
from .baselines import Base, Originals, message_of
from .results import Results
from .runner_handle import CandidateEndedError, Handle, RunnerEndedError, owned
from .version import is_on_host, place_of

if TYPE_CHECKING:
    from ..messages.parts import Entries
    from ..messages.trial import Check, Facts, Message, TrialJob
    from ..messages.trial import Repeated as Replied

_CALLS = {True: 24, False: 96}
"""At least; in the interpreter, and on a device."""
_MORE = {True: 8, False: 32}
_WATCHED = {True: ((1, 4), (4, 12), (12, 24)), False: ((1, 4), (4, 12), (12, 64))}
_LIMIT_S = {True: 0.3, False: 2.0}
_TIMEOUT_S = 60.0

Pair = tuple["Check", "Check"]


@dataclass(frozen=True)
class Repeated:
    """What many calls in a row showed.

    Attributes:
        fault: what is wrong; None where nothing is.
        figures: how many calls were made, or why none.
        facts: what the original and the candidate were seen doing in some of them.
    """

    fault: str | None
    figures: dict[str, int | str] | None
    facts: tuple[Facts, Facts] = ({}, {})


def pair_of(checks: Sequence[Check]) -> Pair | None:
    """Two plain checks of the same case with different seeds."""
    first = next((one for one in checks if _is_plain(one)), None)
    if first is None:
        return None
    second: Check = {**first, "seed": int(first["seed"]) + 1}
    seeds = {one["seed"] for one in checks if one["case"] == first["case"]}
    return (first, second) if second["seed"] in seeds else None


def _is_plain(check: Check) -> bool:
    changed = run_faults.unusual(check) or check.get("launch_options") or check.get("config_index")
    return not changed


def repetition_result(
    originals: Originals, candidate: Handle, job: TrialJob, pair: Pair,
    is_new: Callable[[Facts], bool],
) -> Repeated:  # fmt: skip
    """What became of it. Nothing speaks against a candidate where the original itself does not
    stand it, which is asked where anything would.

    Args:
        is_new: whether facts of such calls hold what the original was not seen doing so far.
    """
    # Weights stay as they are from call to call: those of the first set, for both.
    if (job.get("entry") or {}).get("kind") == "model":
        pair = (pair[0], {**pair[1], "weights": int(pair[0]["seed"])})
    first, second = bases = (originals.base(job, pair[0]), originals.base(job, pair[1]))
    unfit = _unfit(bases) or first.repeats_well
    if unfit:
        return Repeated(None, {"skipped": unfit})
    message = _message(pair, second, originals.device)
    fault: str | None
    facts: Facts = {}
    calls = 0
    try:
        fault, calls, facts = _wrong(originals, candidate, message, pair, bases)
    except CandidateEndedError as error:
        fault = f"called many times in a row, it failed: {error}"
    if (fault or is_new(facts)) and (unfit := _original(originals, job, pair, bases)):
        return Repeated(None, {"skipped": unfit})
    told = fault and f"{pair[0]['name']}: {fault}"
    return Repeated(told, {"calls": calls} if calls else None, (first.repeated or {}, facts))


def _unfit(bases: tuple[Base, Base]) -> str:
    """Why it is asked of no version; empty where it is."""
    for base in bases:
        if base.unfit or base.original is None:
            return base.unfit
        if base.original.told.get("inputs_changed"):
            return "the entry point changes its inputs in place"
    return ""


def _original(originals: Originals, job: TrialJob, pair: Pair, bases: tuple[Base, Base]) -> str:
    """Why the original does not stand it, found out once; empty if it does."""
    first, second = bases
    with originals.lock:
        if first.repeats_well is None:
            message = _message(pair, second, originals.device)
            try:
                original = originals.original(job)
                told, _, first.repeated = _wrong(originals, original, message, pair, bases)
            except RunnerEndedError as error:
                told = str(error)
            first.repeats_well = f"the original itself fails it: {told}" if told else ""
    return first.repeats_well


def _message(pair: Pair, second: Base, device: str) -> Message:
    """How often, and which of them are watched, is drawn anew each time: no candidate can count
    on it."""
    draw = random.SystemRandom()
    slow = is_on_host(device)
    return message_of(
        pair[0], do="repeat", second=second.inputs,
        calls=_CALLS[slow] + draw.randrange(_MORE[slow]), limit_s=_LIMIT_S[slow],
        watched=[draw.randrange(*some) for some in _WATCHED[slow]],
    )  # fmt: skip


def _wrong(
    originals: Originals, runner: Handle, message: Message, pair: Pair,
    bases: tuple[Base, Base],
) -> tuple[str | None, int, Facts]:  # fmt: skip
    """(what is wrong, how many calls were made, what was seen in some of them)."""
    reply: Replied = originals.answer_about(runner, bases[0], message, _TIMEOUT_S)
    with runner.answering():
        answers.of_repeat(reply)
    calls, facts = int(reply["calls"]), reply["facts"]
    said = (
        (reply["first"], 0, "the result of the first of many calls, looked at after the last"),
        (reply["second"], 1, "other contents in the memory of the call before"),
        (reply["third"], 0, f"call {calls}, in new memory"),
    )
    try:
        for manifest, which, what in said:
            base = bases[which]
            given = _read(manifest, runner, base, originals.device)
            assert base.oracle is not None
            oracle, own = base.oracle.returned, base.own.returned if base.own else None
            noisy = tuple(one.returned for one in base.noisy)
            wrong = results.fault(oracle, own, given, pair[which], None, noisy)
            if wrong is not None:
                return f"{what}: {wrong}", calls, facts
    finally:
        runner.clear()
    return None, calls, facts


def _read(manifest: Entries, runner: Handle, base: Base, device: str) -> Results:
    assert base.original is not None
    place = place_of(device)
    with runner.answering():
        entries = owned(manifest, runner.outbox)
        values = tuple(tensor_files.load_entry(entry, place) for entry in entries)
    names = tuple(str(entry["name"]) for entry in entries)
    return Results(names, values, {"output_tree": base.original.tree})
