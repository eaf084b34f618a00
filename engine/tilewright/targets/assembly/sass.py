"""NVIDIA's machine code, as ``nvdisasm -c -gi`` prints it."""

import re
from collections.abc import Iterator

from tilewright.targets.assembly.model import Instruction, Place

_MARK = re.compile(r'^\s*//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?')
_INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]{4,}\*/\s+\{?\s*((?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.\w+)*).*?)\s*;?\s*\}?$"
)


def instructions(text: str) -> Iterator[Instruction]:
    """Instructions of all functions."""
    places: tuple[Place, ...] = ()
    marking = False
    for at, line in enumerate(text.splitlines(), 1):
        if mark := _MARK.match(line):
            # Marks that follow one another tell one chain: where the function before was inlined.
            places = (*(places if marking else ()), Place(mark[1], int(mark[2])))
            marking = True
        elif match := _INSTRUCTION.match(line):
            marking = False
            yield Instruction(at, match[2], match[1], places)
