"""Intel's assembly, as IGC dumps it."""

import re
from collections.abc import Iterator

from tilewright.targets.assembly.model import Instruction, Place

_FILE = re.compile(r"^// File: (.*\S)")
_LINE = re.compile(r"^// Line (\d+):")
_INSTRUCTION = re.compile(r"^ *(?:\([^)]*\) *)*([a-z]\w*(?:\.[\w.()|&^~]+)?)(?=\s)")
_TOLD = re.compile(r"//.*\b(?:(?:spill|fill):? +(?:to|from) |\w*(?:load|store|atomic)\w*\.)")


def instructions(text: str) -> Iterator[Instruction]:
    """Instructions of a kernel; comments that tell a message or a spill are kept."""
    file = ""
    places: tuple[Place, ...] = ()
    for at, line in enumerate(text.splitlines(), 1):
        if name := _FILE.match(line):
            file, places = name[1].removeprefix("./"), ()
        elif number := _LINE.match(line):
            places = (Place(file, int(number[1])),)
        elif match := _INSTRUCTION.match(line):
            told = _TOLD.search(line)
            code = " ".join(line.partition("//")[0].split())
            text = f"{code} {line[told.start() :].strip()}" if told else code
            yield Instruction(at, match[1], text, places)
