"""Places of lost time that a model names, run: its version against the function of the file.

A place counts only where both give the same results in every call and the cost that the model
names, as it is counted in the interpreter, is clearly lower in its version. Nothing is timed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from tilewright.agents import speed_reviewer
from tilewright.agents.speed_reviewer import LostTime, SpeedReview
from tilewright.devices.model import Device
from tilewright.executed.jobs import runner
from tilewright.executed.observations import Fault, Sighting, Wrong, faults
from tilewright.executed.reviews import is_fault_of, known_line, reviewed_functions
from tilewright.executed.search import Tried
from tilewright.source.model import Module
from tilewright.worker.messages.drafted import Cost, DraftedCall, DraftedRun

_CLEARLY = 0.8
_BALANCE = 7
"""Elements that an H200 computes while it moves a byte: 33.5e12 fp32 FMA/s and 4.8e12 bytes/s by
its data sheet."""
_SLACK = 1.25
"""By how much that may rise: a launch that is saved by computing everything twice is not saved."""
_SLACK_OF_SERIAL = 1.5
"""Where a loop becomes programs, each of them loads again what all of them need."""
_NAMES: Mapping[Cost, str] = {
    "launches": "launches of kernels and operators of torch",
    "waits": "waits of the host for the device",
    "traffic": "bytes of memory traffic",
    "work": "computed elements",
    "serial": "clocks of the longest programs",
    "contention": "atomic updates of one address",
}
_CALL_S = 6.0
"""The calls are as large as the costs need to show."""
Runs = tuple[DraftedRun, DraftedRun]
"""Of the function, and of the faster version on the same arguments."""


def lost_time(
    module: Module, path: str, review: SpeedReview, written: Path, device: Device
) -> list[Tried]:
    """What the calls of a review show of each function of which it names places.

    Args:
        path: where the module's text lies, as it is imported.
        written: where the review's module lies.

    Raises:
        NotImportedError: importing the file fails.
    """
    run = runner(path, device, written, _CALL_S)
    found = []
    for function in reviewed_functions(module):
        places = [
            replace(one, line=known_line(module, one.line))
            for one in review.places
            if is_fault_of(one, function)
        ]
        if places:
            calls = [*_calls(function)]
            runs = run(calls)
            pairs = [*zip(runs[::2], runs[1::2], strict=False)]
            found.append(_tried(calls[0], pairs, places, written))
    return found


def _calls(function: str) -> Iterator[DraftedCall]:
    """Each call of the function, and right after it the same of the faster version."""
    for number in range(speed_reviewer.MOST_CALLS):
        counted = number == 0
        yield {
            "function": function, "arguments": {},
            "reference": {"number": number, "faster": False, "counted": counted},
        }  # fmt: skip
        yield {
            "function": function, "arguments": {}, "like": -1,
            "reference": {"number": number, "faster": True, "counted": counted},
        }  # fmt: skip


def _tried(
    call: DraftedCall, pairs: Sequence[Runs], places: Sequence[LostTime], written: Path
) -> Tried:
    why = _unusable(pairs)
    if why:
        return Tried(call["function"], None, why, True, (), len(pairs))
    first, other = pairs[0]
    before, after = first.get("costs", {}), other.get("costs", {})
    made = cast("DraftedCall", {**call, "arguments": first.get("arguments", {})})
    lower = [one for one in places if is_lower(one.cost, before, after)]
    compared = sum(_is_compared(pair) for pair in pairs)
    sightings = tuple(
        Sighting(_fault(one, before, after, compared, written), made, True) for one in lower
    )
    why = "" if lower else "the costs that it names are not lower in its version"
    return Tried(call["function"], made, why, not lower, sightings, len(pairs))


def _fault(
    place: LostTime, before: Mapping[Cost, int], after: Mapping[Cost, int], compared: int,
    written: Path,
) -> Fault:  # fmt: skip
    calls = "1 call" if compared == 1 else f"{compared} calls"
    text = (
        f"a model says: {place.why} Its version of the function gives the same results in {calls} "
        f"and needs {after[place.cost]:,} instead of {before[place.cost]:,} {_NAMES[place.cost]}, "
        f"counted and not timed. It is in {written}"
    )
    return Fault(Wrong.LOST_TIME, place.line, text)


def is_lower(cost: Cost, before: Mapping[Cost, int], after: Mapping[Cost, int]) -> bool:
    """Whether a cost is clearly lower, and the device is no longer busy for it."""
    if cost not in before or cost not in after:
        return False
    share = _CLEARLY if cost not in ("launches", "waits") else 1.0
    if after[cost] >= before[cost] or after[cost] > share * before[cost]:
        return False
    slack = _SLACK_OF_SERIAL if cost == "serial" else _SLACK
    return _throughput(after) <= slack * _throughput(before)


def _throughput(costs: Mapping[Cost, int]) -> float:
    """What takes longer on a device that is busy, traffic or work, in bytes."""
    return max(costs["traffic"], costs["work"] / _BALANCE)


def _unusable(pairs: Sequence[Runs]) -> str:
    """Why the calls are no evidence; empty where they are."""
    for pair in pairs:
        why = _unusable_pair(pair, is_first=pair is pairs[0])
        if why:
            return why
    if not any(_is_compared(pair) for pair in pairs):
        return "no call comes to its end"
    if not all(run.get("costs") for run in pairs[0]):
        return "counting the costs of the first call takes too long"
    return ""


def _unusable_pair(pair: Runs, *, is_first: bool) -> str:
    """Why two runs are no evidence; a later call that the function refuses says nothing."""
    one, other = pair
    for run, what in ((one, "the function"), (other, "the faster version")):
        if "unusable" in run:
            return run["unusable"]
        error = run.get("error")
        if error is not None and (is_first or (run is other and not one.get("error"))):
            return f"{what} ends with {error['kind']}: {error['text']}"
    if not _is_compared(pair):
        return ""
    if other.get("difference") is not None:
        return f"the faster version gives other results: {other['difference']}"
    known = {fault.kind for fault in faults(one)}
    new = next((fault for fault in faults(other) if fault.kind not in known), None)
    return f"the faster version has a fault: {new.text}" if new is not None else ""


def _is_compared(pair: Runs) -> bool:
    """Whether there is a tensor to compare, and both runs came to their end."""
    one, other = pair
    return bool(one.get("results")) and not one.get("error") and "difference" in other
