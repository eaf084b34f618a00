"""A prompt as numbered sections, each within its number of tokens.

The sections that stay the same for longest stand first, so that an endpoint's cache of prompt
prefixes serves them. What does not fit is left out item by item from the back of its own list, and
``Prompt.cut`` says so: no item is ever cut in its middle.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.models.model import Message, Role

_CODE, _PROSE = 2.5, 4.0
"""Characters that one token has, in code and in English."""
PARENT_TOKENS = 6000
"""The most that a prompt shows of a file."""
_SYSTEM = 3
"""Sections up to this number stand in the system message."""
_FENCE = re.compile(r" {0,3}(`{3,})")
_TICKS = re.compile(r"`+")


@dataclass(frozen=True)
class Section:
    """One part of a prompt; ``tokens`` is an estimate."""

    number: int
    name: str
    text: str
    tokens: int


@dataclass(frozen=True)
class Prompt:
    """What a model is sent; ``cut`` says in words what did not fit."""

    role: Role
    sections: tuple[Section, ...]
    cut: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """An estimate for all sections."""
        return sum(section.tokens for section in self.sections)

    def messages(self) -> tuple[Message, ...]:
        """The lasting sections as the system message, the others as the user's."""
        parts = {
            "system": [s for s in self.sections if s.number <= _SYSTEM],
            "user": [s for s in self.sections if s.number > _SYSTEM],
        }
        return tuple(
            Message(role, "\n\n".join(map(_headed, sections)) + "\n")
            for role, sections in parts.items()
            if sections
        )


def _headed(section: Section) -> str:
    return f"## {section.number}. {section.name}\n\n{section.text}"


def section(
    number: int,
    name: str,
    items: Sequence[str],
    cap: int,
    *,
    lead: str = "",
    joint: str = "\n",
    wrap: Callable[[str], str] = str,
) -> tuple[Section | None, tuple[str, ...]]:
    """A section of ``lead`` and as many items as fit, wrapped together, and what was left out.

    None where no item is left: a lead alone says nothing.
    """
    kept = list(items)

    def text() -> str:
        return "\n\n".join(filter(None, (lead, wrap(joint.join(kept)))))

    while kept and estimated(text()) > cap:
        kept.pop()
    left = len(items) - len(kept)
    cut = (f"section {number} ({name}): {left} of {len(items)} items left out",) if left else ()
    return (whole(number, name, text()) if kept else None), cut


def whole(number: int, name: str, text: str) -> Section:
    """A section that is never cut."""
    return Section(number, name, text, estimated(text))


def estimated(text: str) -> int:
    """Tokens of a text, by its characters: those in fences count as code."""
    code = prose = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and len(found[1]) >= len(fence) and not line.strip(" `\n"):
            fence = ""
        elif fence:
            code += len(line)
            continue
        prose += len(line)
    return -int(-(code / _CODE + prose / _PROSE) // 1)


def numbered(lines: Sequence[str]) -> list[str]:
    """Lines of a file behind their numbers, without their ends."""
    width = len(str(len(lines)))
    bare = (line.rstrip("\r\n") for line in lines)
    return [
        f"{n:>{width}} | {line}" if line else f"{n:>{width}} |" for n, line in enumerate(bare, 1)
    ]


def fenced(text: str, language: str = "") -> str:
    """A text as data: in a fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
