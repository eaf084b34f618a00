"""NVIDIA's PTX."""

import re
from collections.abc import Iterator

from tilewright.targets.assembly.dwarf import files_of, places_of
from tilewright.targets.assembly.model import Instruction, Place

_LABEL = re.compile(r"^[$%\w]+:(?!:)")
_INLINE = {"// begin inline asm": True, "// end inline asm": False}
_OPCODE = re.compile(r"(?:@!?%\w+\s+)?([a-z][\w.:]*)")


def instructions(text: str) -> Iterator[Instruction]:
    """Instructions of all functions, those of inline assembly too."""
    files = files_of(text)
    places: tuple[Place, ...] = ()
    waiting, began, depth = "", 0, 0
    inline, placed = False, False
    for at, line in enumerate(text.splitlines(), 1):
        if (marked := _INLINE.get(line.strip())) is not None:
            inline, placed = marked, False
        if found := places_of(line, files):
            # LLVM counts the lines of inline assembly on from the source line that it stands for.
            places = places if inline and placed else found
            placed = True
            continue
        code = line.partition("//")[0].strip()
        if code.startswith(".section"):
            return  # debug information is last
        outside, depth = depth == 0, depth + code.count("{") - code.count("}")
        if outside or depth == 0:  # a function's head, which lists parameters, or its end
            waiting = ""
            continue
        began = began if waiting else at
        *statements, waiting = f"{waiting} {code}".split(";")
        for statement in statements:
            yield from _instruction(statement, began, places)
            began = at
        waiting = _without_blocks(waiting)


def _without_blocks(text: str) -> str:
    """Without the labels and braces that stand where a statement would begin."""
    while True:
        rest = _LABEL.sub("", text.lstrip("{} "), count=1)
        if rest == text:
            return text
        text = rest


def _instruction(text: str, at: int, places: tuple[Place, ...]) -> Iterator[Instruction]:
    text = _without_blocks(text).strip()
    if match := _OPCODE.match(text):
        yield Instruction(at, match[1], text, places)
