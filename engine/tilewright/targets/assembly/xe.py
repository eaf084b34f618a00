"""Intel's assembly, as IGC dumps it."""

import re
from collections.abc import Iterator
from dataclasses import replace

from tilewright.targets.assembly.model import Instruction, Place

_FILE = re.compile(r"^// File: (.*\S)")
_LINE = re.compile(r"^// Line (\d+):")
_INSTRUCTION = re.compile(r"^ *(?:\([^)]*\) *)*([a-z]\w*(?:\.[\w.()|&^~]+)?)(?=\s)")
_SPILLS = re.compile(r"\bspill:? +to ")
_FILLS = re.compile(r"\bfill:? +from ")
_TOLD = re.compile(r"//.*\b(?:(?:spill|fill):? +(?:to|from) |\w*(?:load|store|atomic)\w*\.)")


def instructions(text: str) -> Iterator[Instruction]:
    """Instructions of a kernel; comments that tell a message or a spill are kept.

    IGC marks all that it adds to move registers with one line, whatever needs the register. So a
    spill is placed where the instruction before it is, and a fill where the next one is.
    """
    before: tuple[Place, ...] = ()
    fills: list[Instruction] = []
    for one in _as_marked(text):
        if _FILLS.search(one.text):
            fills.append(one)
        elif _SPILLS.search(one.text):
            yield replace(one, places=before)
        else:
            yield from (replace(fill, places=one.places) for fill in fills)
            fills = []
            before = one.places
            yield one
    yield from fills


def _as_marked(text: str) -> Iterator[Instruction]:
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
