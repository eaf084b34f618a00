"""Instructions counted by kind: of a kernel, and of each of its source lines."""

from collections import Counter
from collections.abc import Iterable, Mapping

from tilewright.targets.assembly.kinds import Kind, kind_of
from tilewright.targets.assembly.model import Instruction, Listing
from tilewright.targets.assembly.widths import width_of

Counts = Mapping[str, int]
_SIZED = (Kind.GLOBAL_LOAD, Kind.GLOBAL_STORE)


def mix(listing: Listing) -> Counts:
    """How many instructions of each kind; global accesses by width: ``global_load_128b``."""
    return _counted(listing.stage, listing.instructions)


def mix_by_line(listing: Listing) -> Mapping[int | None, Counts]:
    """The same for each line of the user's file; None: what comes from none of its lines."""
    return {line: _counted(listing.stage, of) for line, of in _by_line(listing).items()}


def _by_line(listing: Listing) -> dict[int | None, list[Instruction]]:
    lines: dict[int | None, list[Instruction]] = {}
    for one in listing.instructions:
        lines.setdefault(one.line, []).append(one)
    return dict(sorted(lines.items(), key=lambda item: (item[0] is None, item[0] or 0)))


def _counted(stage: str, instructions: Iterable[Instruction]) -> Counts:
    counts = Counter(_name(stage, one) for one in instructions)
    return dict(sorted(counts.items(), key=lambda item: (item[0] == Kind.OTHER, -item[1], item[0])))


def _name(stage: str, one: Instruction) -> str:
    kind = kind_of(stage, one)
    bits = width_of(stage, one.opcode) if kind in _SIZED else None
    return f"{kind}_{bits}b" if bits else str(kind)
