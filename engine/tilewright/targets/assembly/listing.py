"""One way in for every stage that has instructions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tilewright.targets.assembly.amdgcn import instructions as of_amdgcn
from tilewright.targets.assembly.model import Instruction, Listing, Place
from tilewright.targets.assembly.ptx import instructions as of_ptx
from tilewright.targets.assembly.sass import instructions as of_sass
from tilewright.targets.assembly.xe import instructions as of_xe

_READERS: Mapping[str, Callable[[str], Iterator[Instruction]]] = {
    "ptx": of_ptx,
    "sass": of_sass,
    "amdgcn": of_amdgcn,
    "xe-asm": of_xe,
}

CODE = frozenset(_READERS)
"""Stages whose texts are lists of instructions."""


def listing_of(stage: str, text: str, source: str) -> Listing:
    """The instructions of a text.

    Args:
        stage: one of ``CODE``.
        source: the user's file, named as in the text.
    """
    found = tuple(_placed(one, source) for one in _READERS[stage](text))
    return Listing(stage, found)


def _placed(one: Instruction, source: str) -> Instruction:
    line = user_line(one.places, source)
    return one if line is None else replace(one, line=line)


def user_line(places: tuple[Place, ...], source: str) -> int | None:
    """The innermost line of the user's file that an instruction comes from."""
    return next((p.line for p in places if p.file == source and p.line > 0), None)
