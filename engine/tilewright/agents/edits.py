"""A new text of a file from an answer; every byte that the answer does not name stays as it is."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewright.agents.answers import Answer, AnswerError, Block, line_end, lines_of
from tilewright.agents.definitions import merged
from tilewright.agents.protected import forbidden
from tilewright.problems.model import Entry

_MOST_LINES = 8
_ALIKE = 0.7
_NUMBERED = re.compile(r"\s*\d+ ?\|( |$)")


@dataclass(frozen=True)
class _Edit:
    """Lines ``first`` up to ``end`` (0-based, the end excluded) become ``lines``."""

    first: int
    end: int
    lines: tuple[str, ...]
    number: int


def applied(answer: Answer, text: str, entry: Entry | None) -> str:
    """The text with the answer's changes.

    Raises:
        AnswerError: a block matches no place or several, or the answer changes what it may not.
    """
    new = _with_blocks(answer.blocks, text) if answer.blocks else merged(text, answer.code, entry)
    if new == text:
        raise AnswerError("the answer changes nothing: propose another change")
    faults = forbidden(text, new, entry)
    if faults:
        raise AnswerError(
            f"the answer {'; it '.join(faults)}. Leave these parts as they are; with "
            "SEARCH/REPLACE blocks or whole functions, leave them out of the answer"
        )
    return new


def _with_blocks(blocks: Sequence[Block], text: str) -> str:
    lines = lines_of(text)
    edits = sorted(
        (_placed(block, number, lines) for number, block in enumerate(blocks, 1)),
        key=lambda edit: (edit.first, edit.number),
    )
    for one, other in pairwise(edits):
        if other.first < one.end:
            raise AnswerError(
                f"SEARCH blocks {one.number} and {other.number} overlap at line "
                f"{other.first + 1}: make one block of them"
            )
    end = line_end(text)
    for edit in reversed(edits):
        new = [line + end for line in edit.lines]
        at_end = edit.end == len(lines) and lines and not lines[-1].endswith(("\n", "\r"))
        if new and at_end:
            new[-1] = new[-1].removesuffix(end)
        lines[edit.first : edit.end] = new
    return "".join(lines)


def _placed(block: Block, number: int, lines: Sequence[str]) -> _Edit:
    """Where a block's SEARCH lines are in the file: exactly once."""
    bare = [line.rstrip("\r\n") for line in lines]
    found: list[_Edit] = []
    # Of several dividers, the last that gives lines of the file: the others belong to these lines.
    for search, replace in map(_unnumbered, reversed(block.readings)):
        if found or not any(line.strip() for line in search):
            continue
        found = [
            _Edit(first, first + len(search), replace, number) for first in _places(search, bare)
        ]
    if len(found) == 1:
        return found[0]
    if found:
        at = ", ".join(str(edit.first + 1) for edit in found[:_MOST_LINES])
        raise AnswerError(
            f"SEARCH block {number} matches {len(found)} places (lines {at}): add lines before or "
            "after, so that it matches exactly one"
        )
    raise AnswerError(_unmatched(block, number, bare))


def _places(search: Sequence[str], lines: Sequence[str]) -> list[int]:
    """First lines of the places with these lines; blanks at their ends count only where a place
    has the very same."""
    wanted = tuple(search)
    size = len(wanted)
    starts = range(len(lines) - size + 1)
    exact = [n for n in starts if tuple(lines[n : n + size]) == wanted]
    if exact:
        return exact
    trimmed = [line.rstrip() for line in lines]
    wanted = tuple(line.rstrip() for line in wanted)
    return [n for n in starts if tuple(trimmed[n : n + size]) == wanted]


def _unnumbered(
    reading: tuple[tuple[str, ...], tuple[str, ...]],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A reading without the line numbers that the prompt shows, where its lines all have them."""
    search, replace = reading
    filled = [line for line in search if line.strip()]
    if not filled or not all(_NUMBERED.match(line) for line in filled):
        return reading
    if any(line.strip() and not _NUMBERED.match(line) for line in replace):
        replaced = replace
    else:
        replaced = tuple(_NUMBERED.sub("", line, count=1) for line in replace)
    return tuple(_NUMBERED.sub("", line, count=1) for line in search), replaced


def _unmatched(block: Block, number: int, lines: Sequence[str]) -> str:
    search, _ = _unnumbered(block.readings[0])
    if not any(line.strip() for line in search):
        return (
            f"SEARCH block {number} is empty: repeat the lines before which or after which the new "
            "lines are to stand"
        )
    best = _nearest(search, lines)
    start = f"SEARCH block {number} matches no place in the file"
    if best is None:
        return f"{start}: its lines are not in it. Copy whole lines of the text as it is shown"
    size = len(search)
    differing = next(
        n
        for n in range(size)
        if n + best >= len(lines) or lines[n + best].rstrip() != search[n].rstrip()
    )
    there = (
        lines[best + differing].strip() if best + differing < len(lines) else "the end of the file"
    )
    return (
        f"{start}. The nearest are lines {best + 1} to {best + size}; line "
        f"{best + differing + 1} is `{there}` where the block has "
        f"`{search[differing].strip()}`. Copy whole lines exactly"
    )


def _nearest(search: Sequence[str], lines: Sequence[str]) -> int | None:
    """The first line of the place that is most alike; None where none is at all."""
    wanted = [line.strip() for line in search]
    there = [line.strip() for line in lines]
    matcher = difflib.SequenceMatcher(None, there, wanted, autojunk=False)
    found = matcher.find_longest_match()
    if found.size and any(wanted[found.b : found.b + found.size]):
        return max(0, found.a - found.b)
    first = next(line for line in wanted if line)
    close = difflib.get_close_matches(first, there, 1, _ALIKE)
    return max(0, there.index(close[0]) - wanted.index(first)) if close else None
