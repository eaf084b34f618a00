"""A model's review of a file, run: its references and calls of the file's host functions.

A difference counts only where the model names a fault of that function as well: a reference may be
wrong, and then the model finds nothing wrong with the function.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

from tilewright.agents import reviewer
from tilewright.agents.prompt import Prompt
from tilewright.agents.reviewer import NamedFault, Review
from tilewright.devices.model import Device
from tilewright.executed.jobs import host_functions, runner
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


def prompt_for(module: Module) -> Prompt | None:
    """What a model is asked about a file; None for one without host functions that launch."""
    names = [function.name for function in host_functions(module)]
    return reviewer.build(module.text, names) if names else None


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
    found = []
    for function in host_functions(module):
        calls = [*_calls(function.name, gradient=False)]
        if _has_backward(module):
            calls += _calls(function.name, gradient=True)
        runs = run(calls)
        named = tuple(f for f in review.faults if f.function == function.name)
        pairs = [*zip(calls, runs, strict=False)]
        found.append(_tried(function.name, pairs, named, written))
    return found


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
    said = "; ".join(f"line {fault.line}: {fault.why}" for fault in named)
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
