"""A model's review of a file, run: its references and calls of the file's host functions.

A difference counts only where the model names a fault of that function as well: a reference may be
wrong, and then the model finds nothing wrong with the function.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

from tilewright.agents import reviewer
from tilewright.agents.reviewer import NamedFault, Review
from tilewright.agents.speed_reviewer import LostTime
from tilewright.devices.model import Device
from tilewright.executed.jobs import (
    differentiable_functions,
    host_functions,
    launching_methods,
    runner,
)
from tilewright.executed.observations import (
    Fault,
    Sighting,
    Wrong,
    deviation_text,
    faults,
)
from tilewright.executed.search import Tried
from tilewright.source.model import Module
from tilewright.worker.messages.drafted import Deviation, DraftedCall, DraftedRun, Reference


def reviewed(
    module: Module, path: str, review: Review, written: Path, device: Device
) -> list[Tried]:
    """What the calls of a review show of each function.

    Args:
        path: where the module's text lies, as it is imported.
        written: where the review's module lies.

    Raises:
        NotImportedError: importing the file fails.
    """
    run = runner(path, device, written)
    known = [replace(one, line=known_line(module, one.line)) for one in review.faults]
    found = []
    for function in reviewed_functions(module):
        calls = [*_calls(function, gradient=False)]
        if _has_backward(module):
            calls += _calls(function, gradient=True)
        pairs = [*zip(calls, run(calls), strict=False)]
        named = tuple(fault for fault in known if is_fault_of(fault, function))
        found.append(_tried(function, pairs, named, written))
    return found


def known_line(module: Module, line: int) -> int:
    """The line, or 0 where the file does not have it: a report then stands at the kernel."""
    return line if 1 <= line <= len(module.text.splitlines()) else 0


def is_fault_of(fault: NamedFault | LostTime, function: str) -> bool:
    """Whether a fault or place is of a function; of a class, whichever of its methods is named."""
    owner, _, method = function.rpartition(".")
    if not owner:
        return fault.function == function
    named = fault.function.partition(".")[0] if method == "apply" else fault.function
    return named in (function, owner)


def reviewed_functions(module: Module) -> list[str]:
    """The functions that are reviewed, as a call names them."""
    names = [function.name for function in host_functions(module)]
    return [*names, *differentiable_functions(module), *launching_methods(module)]


def _calls(function: str, *, gradient: bool) -> Iterator[DraftedCall]:
    for number in range(reviewer.MOST_CALLS):
        reference: Reference = {"number": number}
        if gradient:
            reference["gradient"] = True
        yield {"function": function, "arguments": {}, "reference": reference}


def _has_backward(module: Module) -> bool:
    """Whether a class of the file says how its results' gradients become those of arguments."""
    return any(name.endswith(".backward") for name in module.host_functions)


Pairs = list[tuple[DraftedCall, DraftedRun]]


def _tried(function: str, pairs: Pairs, named: tuple[NamedFault, ...], written: Path) -> Tried:
    made = [
        (cast("DraftedCall", {**call, "arguments": run["arguments"]}), run)
        for call, run in pairs
        if "arguments" in run
    ]
    compared = [call for call, run in made if "agreed" in run]
    why = "no call comes to its end"
    for _, run in pairs:
        if "unusable" in run:
            why = run["unusable"]
            break
    found = tuple(_sightings(made, named, written)) if named else ()
    call = compared[0] if compared else None
    return Tried(function, call, "" if call else why, not found, found, len(made))


def _sightings(made: Pairs, named: tuple[NamedFault, ...], written: Path) -> Iterator[Sighting]:
    """The first difference from the reference, and what else is wrong with any call."""
    said = "; ".join(f"line {one.line}: {one.why}" if one.line else one.why for one in named)
    agreed = sum(bool(run.get("agreed")) for _, run in made)
    differing = [pair for pair in made if pair[1].get("deviation") is not None]
    for call, run in differing[:1]:
        deviation = cast("Deviation", run.get("deviation"))
        text = (
            f"{deviation_text(deviation)} ({agreed} of {len(made)} calls agree). The model that "
            f"wrote the reference says of {said} The reference is in {written}"
        )
        yield Sighting(Fault(Wrong.REVIEW, named[0].line, text), call, True)
    for call, run in made:
        error = run.get("error")
        known = [fault for fault in faults(run) if fault.kind is not Wrong.NOT_FINITE]
        if error is not None and error["by"] == "kernel" and not known:
            text = f"{error['kind']} in the kernel: {error['text']}. The model says of {said}"
            known = [Fault(Wrong.REVIEW, error["line"] or named[0].line, text)]
        yield from (Sighting(fault, call, True) for fault in known)
