"""``.file`` and ``.loc``, which PTX and AMD's assembly have in common."""

import posixpath
import re
from collections.abc import Iterator

from tilewright.targets.assembly.model import Place

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
