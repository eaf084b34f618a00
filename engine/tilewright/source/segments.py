"""Where the top-level statements of a text may begin, found without parsing it.

A segment is a stretch of whole lines from one such place to the next. A statement that holds
lines in the first column (in a string, in brackets) spans several segments.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

_INSIDE = frozenset(" \t\f#)]}\\")
_RESUMES = re.compile(r"(?:else|elif|except|finally)\b")
_NO_STATEMENT = "<>=|&^%/,.:;!?$"
_DECORATED = re.compile(r"(?:@|def\b|class\b|async\b)")
_DECORATOR = re.compile(r"@\s*[\w(]")
_DEFINES = re.compile(r"(?:def|class|async)\b")
STRING = (
    r'(?P<text>"""(?:\\.|[^\\])*?"""|'
    r"'''(?:\\.|[^\\])*?'''|"
    r'"(?!"")(?:\\.|[^"\\\n])*"|'
    r"'(?!'')(?:\\.|[^'\\\n])*')"
)
"""A string literal that is closed."""
_TOKEN = re.compile(
    rf"(?P<comment>\#[^\n]*)|{STRING}"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<joined>\\\n)|(?P<end>\n)|(?P<loose>[\"'])",
    re.DOTALL,
)


class Segment(NamedTuple):
    """Lines ``first`` to ``last``, 1-based and inclusive, with their text."""

    first: int
    last: int
    text: str


def segments(lines: Sequence[str]) -> list[Segment]:
    """The segments of a text, which together cover it."""
    if not lines:
        return []
    starts = _starts(lines)
    ends = [*starts[1:], len(lines)]
    return [Segment(a + 1, b, "\n".join(lines[a:b])) for a, b in zip(starts, ends, strict=True)]


def _starts(lines: Sequence[str]) -> list[int]:
    """0-based first lines of segments; decorators stay with what they decorate."""
    starts = [0]
    decorator = 0 if lines[0].lstrip("\f").startswith("@") else None
    # Most lines are indented: they are passed over in one go.
    outer = [number for number, line in enumerate(lines) if line and line[0] not in _INSIDE]
    for number in outer:
        line = lines[number]
        if not number or _goes_on(lines, number, line):
            continue
        joined = decorator is not None and _DECORATED.match(line) is not None
        if not (joined and _decorates(lines, decorator or 0, number)):
            starts.append(number)
        decorator = number if line[0] == "@" else None
    return starts


def _decorates(lines: Sequence[str], decorator: int, number: int) -> bool:
    """Whether a decorator surely goes on in a line: no blank line is between them.

    One whose brackets are left open takes what follows along, as the kernel is not known
    without it. Where a decorator is complete, ``closing_segment`` finds what it decorates.
    """
    if not _DECORATOR.match(lines[decorator].lstrip("\f")):
        return False
    depth, is_closed, is_interrupted = 0, False, False
    for part in lines[decorator:number]:
        is_comment = part.lstrip().startswith("#")
        if is_closed and not is_comment:
            return False
        depth += 0 if is_comment else sum(map(part.count, "([{")) - sum(map(part.count, ")]}"))
        is_closed = is_closed or (depth <= 0 and not part.endswith("\\"))
        is_interrupted = is_interrupted or not part.strip()
    return is_closed or not is_interrupted


def _goes_on(lines: Sequence[str], number: int, line: str) -> bool:
    """Whether a line in the first column belongs to the text above it."""
    if line[0] in "ef" and _RESUMES.match(line):
        return True
    if lines[number - 1].endswith("\\"):
        return True
    return line[0] in _NO_STATEMENT and _indented_next(lines, number + 1)


def _indented_next(lines: Sequence[str], number: int) -> bool:
    for line in lines[number:]:
        if line.strip():
            return line[0] in " \t"
    return False


def closing_segment(found: Sequence[Segment], first: int) -> int | None:
    """The segment before which a statement begun in ``first`` ends, by its brackets and strings.

    None where they do not close, or close before the next segment.
    """
    decorated = found[first].text.lstrip("\f").startswith("@")
    starts = {segment.first: k for k, segment in enumerate(found[first:], first)}
    text = "\n".join(segment.text for segment in found[first:])
    line, depth = found[first].first, 0
    defined = not decorated or _defines(found[first])
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        line += token.group().count("\n")
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "end" and depth == 0 and line in starts:
            if defined:
                return starts[line] if starts[line] > first + 1 else None
            defined = _defines(found[starts[line]])
        if kind == "loose" or depth < 0:
            return None
    return len(found) if depth == 0 and len(found) > first + 1 else None


def _defines(segment: Segment) -> bool:
    return any(_DEFINES.match(line) for line in segment.text.split("\n"))
