"""Faults of a call other than its values, from the answers of two runners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .version import WEIGHT

if TYPE_CHECKING:
    from ..messages.trial import Called, Check, KernelFault, Message, Reached

USUAL = {"values": "normal", "layout": "plain", "order": "forward"}
"""What a check asks where it asks for nothing out of the ordinary."""
_ORDER_MATTERS = (
    "the result changes with the order of programs: two programs write the same place, or one "
    "reads what another writes"
)


def of_run(base: Called, told: Called) -> Iterator[str]:
    """Inputs overwritten, memory reached that is nobody's."""
    allowed = base.get("inputs_changed") or ()
    changed = [name for name in told.get("inputs_changed") or () if name not in allowed]
    for what, names in _inputs_and_weights(changed):
        yield f"it overwrites its {what} {', '.join(names)}, which the original leaves alone"
    known = base.get("out_of_bounds") or ()
    for place, said in stray_accesses(told):
        if place not in known:
            yield f"it {said}"

    races = set(base.get("races") or ())
    for text, said in raced(told):
        if text not in races:
            yield f"{said}: nothing orders the programs of one launch, so the first to come decides"
    yield from _too_early(base, told)
    yield from _borrowed(base, told)
    yield from _looked_at(base, told)
    yield from _of_kernels(base, told)


def of_gradients(base: Sequence[str], told: Sequence[str]) -> str | None:
    """Gradients that come back from the original and not from the candidate; None for none."""
    gone = [name.partition("'")[2].rstrip("']") or name for name in base if name not in told]
    if not gone:
        return None
    return (
        f"no {', '.join(gone)} comes back, where the original gives one: a launch that no "
        "autograd.Function knows of cuts it off, and training would go on without it, with no error"
    )


def _inputs_and_weights(names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Which of changed tensors are which, as people call them; nothing for none."""
    weights = [name for name in names if name.startswith(WEIGHT)]
    found = {
        "inputs": [name for name in names if name not in weights],
        "weights": [name.removeprefix(WEIGHT) for name in weights],
    }
    yield from ((what, several) for what, several in found.items() if several)


def _too_early(base: Called, told: Called) -> Iterator[str]:
    """Memory that was loaded from before anything had written it."""
    known = {one["name"] for one in base.get("unwritten") or ()}
    for one in told.get("unwritten") or ():
        if one["name"] not in known:
            count = f"{one['elements']} element{'' if one['elements'] == 1 else 's'}"
            yield (
                f"it reads {count} of {one['text']} before anything has written them in this call"
                f"{_lines_text(one['lines'])}: its contents depend on earlier kernels; "
                "mask the load, or write first"
            )


def _borrowed(base: Called, told: Called) -> Iterator[str]:
    """Inputs and weights that kernels store into, where nothing of the original does."""
    changed = {f"input {name}" for name in base.get("inputs_changed") or ()}
    known = _names(base.get("stored_inputs") or ()) | changed
    for one in told.get("stored_inputs") or ():
        if one["changes"] and known.isdisjoint(one["inputs"]):
            yield (
                f"it writes into {', '.join(one['inputs'])}{_lines_text(one['lines'])}, which the "
                "original leaves alone, even if it puts the values back: use memory of its own"
            )


def _looked_at(base: Called, told: Called) -> Iterator[str]:
    """Tensors that the original only stores into, loaded from before anything is stored there."""
    written = _names(base.get("stored_inputs") or ())
    loaded = _names(base.get("loaded_inputs") or ())
    for one in told.get("loaded_inputs") or ():
        if written.intersection(one["inputs"]) and loaded.isdisjoint(one["inputs"]):
            yield (
                f"it reads {', '.join(one['inputs'])}{_lines_text(one['lines'])} before it has "
                "written there, where the original only writes: its contents depend on earlier "
                "kernels"
            )


def _of_kernels(base: Called, told: Called) -> Iterator[str]:
    """What an NKI kernel does wrong though it ran to its end; an original may do the same kind."""
    known = {one["kind"] for one in kernel_faults(base)}
    for one in kernel_faults(told):
        if one["kind"] not in known:
            yield f"line {one['line']}: {one['message']} ({one['kind']})"


def kernel_faults(told: Called) -> list[KernelFault]:
    """The errors among the faults of NKI kernels."""
    return [one for one in told.get("kernel_faults") or () if one["severity"] == "error"]


def _names(reached: Sequence[Reached]) -> set[str]:
    return {name for one in reached for name in one["inputs"]}


def _lines_text(lines: Sequence[str]) -> str:
    return f" at {', '.join(lines)}" if lines else ""


def raced(told: Called) -> Iterator[tuple[str, str]]:
    """What two programs of a launch do to the same memory: (what, the same with lines)."""
    lines = told.get("races_lines") or ()
    for at, text in enumerate(told.get("races") or ()):
        where = f" at {', '.join(lines[at])}" if at < len(lines) and lines[at] else ""
        yield text, f"{text}{where}"


def stray_accesses(told: Called) -> Iterator[tuple[str, str]]:
    """What was reached outside of a tensor: (which place, the same with lines and the way out)."""
    lines = told.get("out_of_bounds_lines") or ()
    for at, place in enumerate(told.get("out_of_bounds") or ()):
        where = f" at {', '.join(lines[at])}" if at < len(lines) and lines[at] else ""
        access = "load" if place.startswith("reads") else "store"
        yield place, f"{place}{where}: check the mask of the {access}, and its offsets"


def unusual(check: Check | Message) -> dict[str, object]:
    """Which values, layout and order a check asks for, as far as they are not the usual ones."""
    asked: Mapping[str, object] = check
    return {name: asked[name] for name in USUAL if asked.get(name, USUAL[name]) != USUAL[name]}


def in_other_order(check: Check, wrong: str) -> str:
    """A difference, said of the order of programs where nothing else was out of the ordinary."""
    orders = {"reversed": "from the last program to the first", "shuffled": "in another order"}
    order = orders.get(str(check.get("order", "forward")))
    is_ragged = "ragged" in str(check["case"]["category"])
    if order is None or is_ragged or unusual(check).keys() != {"order"}:
        return wrong
    return f"{_ORDER_MATTERS} (run {order}: {wrong})"
