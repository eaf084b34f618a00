"""Compilers' texts as data: instructions with their source lines, and what kinds they are of."""

from tilewright.targets.assembly.kinds import Kind
from tilewright.targets.assembly.listing import CODE, listing_of
from tilewright.targets.assembly.markers import with_markers
from tilewright.targets.assembly.mixes import Counts, mix, mix_by_line
from tilewright.targets.assembly.model import Instruction, Listing, Place

__all__ = [
    "CODE",
    "Counts",
    "Instruction",
    "Kind",
    "Listing",
    "Place",
    "listing_of",
    "mix",
    "mix_by_line",
    "with_markers",
]
