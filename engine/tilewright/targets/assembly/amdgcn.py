"""AMD's assembly, as LLVM writes it."""

import re
from collections.abc import Iterator

from tilewright.targets.assembly.dwarf import files_of, places_of
from tilewright.targets.assembly.model import Instruction, Place

_INSTRUCTION = re.compile(r"^\s+([a-z]\w*)\b(?!:)")
_SECTION = re.compile(r'^\s+(?:\.section\s+"?)?(\.text\b|(?<=\.section\s)"?\S+)')
_TOLD = re.compile(r";.*\b(?:Folded Spill|Folded Reload|Reload Reuse)\b.*")


def instructions(text: str) -> Iterator[Instruction]:
    """Instructions of all functions; a spill's comment is kept, which alone tells it."""
    files = files_of(text)
    places: tuple[Place, ...] = ()
    code_section = True
    for at, line in enumerate(text.splitlines(), 1):
        if found := places_of(line, files):
            places = found
        elif section := _SECTION.match(line):
            code_section = section[1].startswith(".text")
        elif code_section and (match := _INSTRUCTION.match(line)):
            told = _TOLD.search(line)
            code = " ".join(line.partition(";")[0].split())
            yield Instruction(at, match[1], f"{code} {told[0]}" if told else code, places)
