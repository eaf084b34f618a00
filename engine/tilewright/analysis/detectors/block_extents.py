"""Which extent of the problem a block is laid over: ``offs < N`` bounds the block of ``offs``."""

from collections.abc import Mapping

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.values import Flow, Value, walk

Extents = Mapping[str, frozenset[Value]]
_CDIV = (TL + "cdiv", "triton.cdiv")


def extents_of(flow: Flow) -> Extents:
    """For each constexpr that is the length of a block, what masks and loops hold it against."""
    found: dict[str, set[Value]] = {}
    for value in flow.values.values():
        if value.op == "compare" and value.detail == "Lt":
            blocks = {v.operands[1] for v in walk(value.operands[0]) if v.op == "arange"}
            if len(blocks) == 1:
                _note(found, next(iter(blocks)), value.operands[1])
    for loop in flow.loops.values():
        if loop.bounds is None:
            continue
        _, stop, step = loop.bounds
        _note(found, step, stop)
        if stop.is_call(*_CDIV) and len(stop.operands) == 2:
            _note(found, stop.operands[1], stop.operands[0])
    return {name: frozenset(bounds) for name, bounds in found.items()}


def extent(extents: Extents, block: str, numbers: Numbers) -> int | None:
    """The extent a block is laid over, at known numbers; None if one of several is unknown."""
    known = [_number(bound, numbers) for bound in extents.get(block, ())]
    found = [number for number in known if number is not None]
    return max(found) if found and len(found) == len(known) else None


def _note(found: dict[str, set[Value]], block: Value, bound: Value) -> None:
    if block.op == "param" and bound is not block:
        found.setdefault(str(block.detail), set()).add(bound)


def _number(bound: Value, numbers: Numbers) -> int | None:
    while bound.op in ("cast", "expand"):
        bound = bound.operands[0]
    return number_of(bound, numbers)
