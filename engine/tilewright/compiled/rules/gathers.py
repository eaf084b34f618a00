"""Tiles that Intel's chips could load as blocks and that are gathered lane by lane."""

import math
from collections.abc import Iterator

from tilewright.analysis.flow import flow_of
from tilewright.analysis.tiles import Polynomial
from tilewright.analysis.values import Access as Place
from tilewright.analysis.values import Value
from tilewright.compiled.causes import accesses_on
from tilewright.compiled.model import Seen, Subject
from tilewright.compiled.places import known_line, place_of
from tilewright.targets.model import LineReport

_WITHOUT_BLOCKS = ("dg2",)
_TRANSPOSE = "triton.language.trans"
# intel-xpu-backend-for-triton: a block message wants a pitch of 64 bytes and more, in steps of 16.
_PITCH_BYTES = 16
_LEAST_PITCH = 64


def gather_not_block_load(subject: Subject) -> Iterator[Seen]:
    """A regular two-dimensional tile of a product's operand, loaded by an address a lane."""
    report = subject.report
    if subject.backend != "xpu" or not report.ok or report.target.arch in _WITHOUT_BLOCKS:
        return
    if not any(line.dots for line in report.lines):
        return
    for line in report.lines:
        gathers = _gathers(line)
        if gathers and _is_regular(subject, line.line):
            yield Seen(
                place_of(subject.module, line.line, "load"),
                f"this tile is gathered by {gathers} loads with an address for each lane, where a "
                "two-dimensional block load moves many rows at once",
                "load it through a tensor descriptor, or through tl.make_block_ptr where Triton "
                "still has it",
                amount=gathers,
            )


def _gathers(line: LineReport) -> int:
    """Loads by addresses; 0 where block loads are as many, as the line of either is not sure."""
    moved = {"load": 0, "block2d_load": 0}
    for access in line.accesses:
        if access.kind in moved and access.space == "global":
            moved[access.kind] += access.count
    return moved["load"] if moved["load"] > moved["block2d_load"] else 0


def _is_regular(subject: Subject, line: int) -> bool:
    """One load of a product's operand, of two dimensions with a stride each, one of them 1."""
    if not known_line(subject.module, line):
        return False
    places = [place for place in accesses_on(subject, line) if place.kind == "load"]
    if len(places) != 1 or not _feeds_product(subject, places[0]):
        return False
    facts = subject.tiles.facts_of(places[0].pointer)
    if facts.shape is None or len(facts.shape) != 2 or facts.strides is None:
        return False
    known = [stride for stride in facts.strides if stride is not None]
    pitches = [stride for stride in known if stride.number != 1]
    return len(known) == 2 and len(pitches) == 1 and _suits(subject, facts.dtype, pitches[0])


def _feeds_product(subject: Subject, place: Place) -> bool:
    """Whether what is loaded is an operand of tl.dot, cast or transposed at most."""
    flow = flow_of(subject.module, subject.kernel)
    products = flow.calls("triton.language.dot")
    operands = {_bare(operand) for _, dot, _ in products for operand in dot.positional[:2]}
    return place.result in operands


def _bare(value: Value) -> Value:
    while value.operands and (value.op in ("cast", "method") or value.is_call(_TRANSPOSE)):
        value = value.operands[0]
    return value


def _suits(subject: Subject, dtype: str | None, pitch: Polynomial) -> bool:
    """Whether rows may begin where the block message needs them; unknown counts as yes."""
    digits = "".join(c for c in (dtype or "").partition("e")[0] if c.isdigit())
    if not digits:
        return True
    size, number = max(1, int(digits) // 8), pitch.number
    if number is None:
        found = [subject.launch.argument(str(value.detail)) for value in pitch.values]
        known = [a.value for a in found if a is not None and isinstance(a.value, int)]
        number = math.prod(known) if len(pitch.monomials) == 1 and len(known) == 1 else None
    return number is None or (number * size % _PITCH_BYTES == 0 and number * size >= _LEAST_PITCH)
