"""The instructions of each stage that has some: PTX, SASS, AMD's and Intel's assembly."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tilewright.targets.assembly.model import Instruction, Listing, Place

_MARK = re.compile(r'^\s*//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?')
_SASS_INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]{4,}\*/\s+\{?\s*((?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.\w+)*).*?)\s*;?\s*\}?$"
)
_LABEL = re.compile(r"^[$%\w]+:(?!:)")
_INLINE = {"// begin inline asm": True, "// end inline asm": False}
_OPCODE = re.compile(r"(?:@!?%\w+\s+)?([a-z][\w.:]*)")
_AMDGCN_INSTRUCTION = re.compile(r"^\s+([a-z]\w*)\b(?!:)")
_SECTION = re.compile(r'^\s+(?:\.section\s+"?)?(\.text\b|(?<=\.section\s)"?\S+)')
_AMDGCN_TOLD = re.compile(r";.*\b(?:Folded Spill|Folded Reload|Reload Reuse)\b.*")
_XE_FILE = re.compile(r"^// File: (.*\S)")
_XE_LINE = re.compile(r"^// Line (\d+):")
_XE_INSTRUCTION = re.compile(r"^ *(?:\([^)]*\) *)*([a-z]\w*(?:\.[\w.()|&^~]+)?)(?=\s)")
_SPILLS = re.compile(r"\bspill:? +to ")
_FILLS = re.compile(r"\bfill:? +from ")
_XE_TOLD = re.compile(r"//.*\b(?:(?:spill|fill):? +(?:to|from) |\w*(?:load|store|atomic)\w*\.)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', re.MULTILINE)
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_INLINED = re.compile(r"\binlined_at\s+(\d+)\s+(\d+)")
_INLINED_BY_NAME = re.compile(r"@\[ ([^\s:]+):(\d+):\d+")


def files_of(text: str) -> dict[int, str]:
    """File names by number."""
    return {int(number): _joined(first, second) for number, first, second in _FILE.findall(text)}


def _joined(first: str, second: str) -> str:
    return posixpath.normpath(posixpath.join(first, second) if second else first)


def places_of(line: str, files: dict[int, str]) -> tuple[Place, ...] | None:
    """What a ``.loc`` line says, the innermost first; None if the line is none."""
    match = _LOC.match(line)
    if match is None:
        return None
    name = files.get(int(match[1]), "")
    return (Place(name, int(match[2])), *_callers(line, files))


def _callers(line: str, files: dict[int, str]) -> Iterator[Place]:
    for number, at in _INLINED.findall(line):
        yield Place(files.get(int(number), ""), int(at))
    for base, at in _INLINED_BY_NAME.findall(line):
        # The comment has the file's last name alone; among several that share it, none is chosen.
        known = {name for name in files.values() if posixpath.basename(name) == base}
        yield Place(known.pop() if len(known) == 1 else "", int(at))


def xe_instructions(text: str) -> Iterator[Instruction]:
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
        if name := _XE_FILE.match(line):
            file, places = name[1].removeprefix("./"), ()
        elif number := _XE_LINE.match(line):
            places = (Place(file, int(number[1])),)
        elif match := _XE_INSTRUCTION.match(line):
            told = _XE_TOLD.search(line)
            code = " ".join(line.partition("//")[0].split())
            text = f"{code} {line[told.start() :].strip()}" if told else code
            yield Instruction(at, match[1], text, places)


def amdgcn_instructions(text: str) -> Iterator[Instruction]:
    """Instructions of all functions; a spill's comment is kept, which alone tells it."""
    files = files_of(text)
    places: tuple[Place, ...] = ()
    code_section = True
    for at, line in enumerate(text.splitlines(), 1):
        if found := places_of(line, files):
            places = found
        elif section := _SECTION.match(line):
            code_section = section[1].startswith(".text")
        elif code_section and (match := _AMDGCN_INSTRUCTION.match(line)):
            told = _AMDGCN_TOLD.search(line)
            code = " ".join(line.partition(";")[0].split())
            yield Instruction(at, match[1], f"{code} {told[0]}" if told else code, places)


def ptx_instructions(text: str) -> Iterator[Instruction]:
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
            yield from _ptx_instruction(statement, began, places)
            began = at
        waiting = _without_blocks(waiting)


def _without_blocks(text: str) -> str:
    """Without the labels and braces that stand where a statement would begin."""
    while True:
        rest = _LABEL.sub("", text.lstrip("{} "), count=1)
        if rest == text:
            return text
        text = rest


def _ptx_instruction(text: str, at: int, places: tuple[Place, ...]) -> Iterator[Instruction]:
    text = _without_blocks(text).strip()
    if match := _OPCODE.match(text):
        yield Instruction(at, match[1], text, places)


def sass_instructions(text: str) -> Iterator[Instruction]:
    """Instructions of all functions."""
    places: tuple[Place, ...] = ()
    marking = False
    for at, line in enumerate(text.splitlines(), 1):
        if mark := _MARK.match(line):
            # Marks that follow one another tell one chain: where the function before was inlined.
            places = (*(places if marking else ()), Place(mark[1], int(mark[2])))
            marking = True
        elif match := _SASS_INSTRUCTION.match(line):
            marking = False
            yield Instruction(at, match[2], match[1], places)


_READERS: Mapping[str, Callable[[str], Iterator[Instruction]]] = {
    "ptx": ptx_instructions,
    "sass": sass_instructions,
    "amdgcn": amdgcn_instructions,
    "xe-asm": xe_instructions,
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
