"""What can be kept of a broken top-level statement: lines that cannot stay are blanked out.

Of a class, or of a block under ``if`` or ``try``, its parts that parse are kept. Of a function
nothing less than all of it, as half a kernel would be judged for what it does not do; only
stray lines behind it are taken off.
"""

import re
from collections.abc import Callable, Iterator, Sequence

_BLOCK = re.compile(r"(?:class|if|try|else|elif|except|finally|with|for|while)\b")
_FUNCTION = re.compile(r"(?:async\s+)?def\b")
_INDENT = re.compile(r"[ \t]*")

Broken = Callable[[str], Sequence[tuple[int, int]]]
"""The stretches of lines of a text, 1-based and inclusive, that do not parse."""


def repaired(text: str, broken: Broken) -> str | None:
    """``text`` with as many lines, without what does not parse; None where nothing is kept."""
    lines = text.split("\n")
    words = (k for k, line in enumerate(lines) if _BLOCK.match(line) or _FUNCTION.match(line))
    head = next(words, None)
    if head is None:
        return None
    if _BLOCK.match(lines[head]):
        return _without_broken_parts(lines, broken)
    return _without_strays(lines, head)


def _without_broken_parts(lines: list[str], broken: Broken) -> str | None:
    kept = list(lines)
    is_changed = False
    for first, last, indent in _blocks(lines):
        inner = "\n".join(line[len(indent) :] for line in lines[first:last])
        for start, end in broken(inner):
            is_changed = True
            kept[first + start - 1] = f"{indent}pass"
            kept[first + start : first + end] = [""] * (end - start)
    return "\n".join(kept) if is_changed else None


def _blocks(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Stretches of indented lines, with the indentation of their first."""
    first: int | None = None
    for number, line in enumerate([*lines, "end"]):
        if line.strip() and line[0] not in " \t":
            if first is not None:
                yield first, number, _indent(lines[first])
            first = None
        elif line.strip() and first is None:
            first = number


def _without_strays(lines: list[str], head: int) -> str | None:
    """Without the lines at the end that are indented less than the function's body."""
    body = next((line for line in lines[head + 1 :] if line.strip()), "")
    depth = len(_indent(body))
    end = len(lines)
    while end > head + 1 and len(_indent(lines[end - 1])) < depth:
        end -= 1
    strays = [line for line in lines[end:] if line.strip()]
    if not strays or any(line[0] in ")]}" for line in strays):
        return None
    return "\n".join([*lines[:end], *[""] * (len(lines) - end)])


def _indent(line: str) -> str:
    found = _INDENT.match(line)
    return found.group() if found is not None else ""
