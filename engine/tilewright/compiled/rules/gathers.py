"""Tiles that Intel's chips could load as blocks and that are gathered lane by lane."""

from collections.abc import Iterator

from tilewright.compiled.causes import accesses_on
from tilewright.compiled.model import Seen, Subject
from tilewright.compiled.places import known_line, place_of
from tilewright.targets.model import LineReport

_WITHOUT_BLOCKS = ("dg2",)


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
                "still has it, if rows begin at multiples of 16 bytes",
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
    """One load of two dimensions, each with a stride, one of them 1."""
    if not known_line(subject.module, line):
        return False
    places = [place for place in accesses_on(subject, line) if place.kind == "load"]
    if len(places) != 1:
        return False
    facts = subject.tiles.of(places[0].pointer)
    if facts.shape is None or len(facts.shape) != 2 or facts.strides is None:
        return False
    known = [stride for stride in facts.strides if stride is not None]
    return len(known) == 2 and any(stride.number == 1 for stride in known)
