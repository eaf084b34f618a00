"""What a run of a drafted call shows: how far it came, and what was wrong with it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from tilewright.worker.messages.drafted import (
    Deviation,
    DraftedCall,
    DraftedResult,
    DraftedRun,
    RunError,
)


class Reached(IntEnum):
    """How far a call came; a later member is further."""

    REFUSED = 0
    LAUNCHED_NOTHING = 1
    LAUNCH_FAILED = 2
    KERNEL_FAILED = 3
    ENDED = 4


class Wrong(StrEnum):
    """Kinds of what can be wrong with a call."""

    LAUNCH = "launch"
    NAME = "name"
    BROADCAST = "broadcast"
    OUTSIDE_READ = "outside_read"
    OUTSIDE_WRITE = "outside_write"
    RACE = "race"
    EARLY = "early"
    UNWRITTEN = "unwritten"
    NOT_FINITE = "not_finite"
    LANES = "lanes"
    TILES = "tiles"
    LAYOUT = "layout"
    REFERENCE = "reference"
    REVIEW = "review"
    LOST_TIME = "lost_time"


@dataclass(frozen=True)
class Fault:
    """Something wrong with one run; ``line`` is of the file, 0 where none is known."""

    kind: Wrong
    line: int
    text: str


@dataclass(frozen=True)
class Sighting:
    """A fault and the call that shows it; ``is_ordinary``: its extents are powers of two."""

    fault: Fault
    call: DraftedCall
    is_ordinary: bool


Run = Callable[[Sequence[DraftedCall]], list[DraftedRun]]
"""Runs calls; gives fewer runs than calls where no more may be made."""

_LAUNCHES = re.compile(
    r"missing \d+ required positional|unexpected keyword argument|multiple values for argument|"
    r"takes \d+ positional arguments|missing a required argument|too many positional"
)
_UNDEFINED = re.compile(r"name '\w+' is not defined")
_BROADCASTS = re.compile(
    r"incompatible dimensions|could not be broadcast|shape mismatch|Cannot broadcast|"
    r"cannot be broadcast"
)


def reached(run: DraftedRun) -> Reached:
    """How far a call came."""
    error = run.get("error")
    if error is None:
        return Reached.ENDED if run.get("launches") else Reached.LAUNCHED_NOTHING
    if error["by"] == "kernel":
        return Reached.KERNEL_FAILED
    if error["by"] == "launch":
        return Reached.LAUNCH_FAILED
    return Reached.REFUSED


def score(run: DraftedRun) -> tuple[int, int, int]:
    """Which of two runs says more for its call: the larger is better."""
    error = run.get("error")
    far = error["host_line"] or 0 if error is not None else 0
    return (reached(run), far, -len([*faults(run)]))


def is_clean(run: DraftedRun) -> bool:
    """Whether a call ran to its end with nothing wrong."""
    return reached(run) is Reached.ENDED and next(faults(run), None) is None


def faults(run: DraftedRun) -> Iterator[Fault]:
    """All that is wrong with a run."""
    error = run.get("error")
    if error is not None:
        yield from _of_error(error)
        return
    for outside in run.get("outside", ()):
        kind = Wrong.OUTSIDE_READ if outside["text"].startswith("reads") else Wrong.OUTSIDE_WRITE
        yield Fault(kind, _line(outside["lines"]), outside["text"])
    for race in run.get("races", ()):
        yield Fault(Wrong.RACE, _line(race["lines"]), race["text"])
    for early in run.get("early", ()):
        yield Fault(Wrong.EARLY, _line(early["lines"]), early["text"])
    for result in run.get("results", ()):
        yield from _of_result(result)


def _of_result(result: DraftedResult) -> Iterator[Fault]:
    what = f"{result['name']} (shape {tuple(result['shape'])}, {result['dtype']})"
    for kind, count, said in (
        (Wrong.UNWRITTEN, result["unwritten"], "never written"),
        (Wrong.NOT_FINITE, result["not_finite"], "not finite"),
    ):
        if count:
            text = f"{count} of {result['elements']} elements of {what} are {said}"
            yield Fault(kind, 0, text)


def _line(lines: list[int]) -> int:
    return lines[0] if lines else 0


def _of_error(error: RunError) -> Iterator[Fault]:
    """An error that a compiler or a launch would raise as well; others are no faults."""
    text, line = error["text"], error["line"] or 0
    if _LAUNCHES.search(text) and error["by"] == "launch":
        yield Fault(Wrong.LAUNCH, line, text)
    elif error["kind"] == "NameError" and _UNDEFINED.search(text):
        yield Fault(Wrong.NAME, line, text)
    elif _BROADCASTS.search(text) and error["by"] == "kernel":
        yield Fault(Wrong.BROADCAST, line, text)


def deviation_text(deviation: Deviation) -> str:
    """How a result differs from a reference, for people."""
    if not deviation["at"]:
        return f"{deviation['expected']} from {deviation['of']}, {deviation['found']} here"
    return (
        f"{deviation['expected']} from {deviation['of']} at {deviation['at']}, "
        f"{deviation['found']} here; {deviation['wrong']} of {deviation['elements']} elements "
        "differ by more than rounding"
    )


def described(call: DraftedCall) -> str:
    """A call for people: ``x of shape [37, 101] (float32), n = 4``."""
    parts = []
    for key, one in call["arguments"].items():
        name = key.removeprefix("=")
        name = name.removeprefix("=")
        if "shape" in one:
            axes = one.get("exchanged")
            stored = f", axes {axes[0]} and {axes[1]} stored in the other order" if axes else ""
            held = one.get("contents", "normal")
            what = "" if held == "normal" or ":" in held else f", {held} values"
            what += f", strides {one['strides']}" if "strides" in one else ""
            parts.append(f"{name} of shape {one['shape']} ({one['dtype']}{what}{stored})")
        else:
            parts.append(f"{name} = {one.get('dtype') or one.get('value')}")
    return ", ".join(parts)
