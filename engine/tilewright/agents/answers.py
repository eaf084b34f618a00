"""The answer in a reply: edits, or code in a fence. What precedes it is the model's reasoning."""

import json
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from tilewright.textfile import encodable

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_OPENING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([\w+.-]*)[^`]*$")
_SEARCH = re.compile(r" {0,3}<{5,9} ?SEARCH\b")
_DIVIDER = re.compile(r" {0,3}={5,9}\s*$")
_REPLACE = re.compile(r" {0,3}>{5,9} ?REPLACE\b")
_THINKING = ("think", "thinking", "reasoning")
_CODE = frozenset(("", "python", "python3", "py", "triton"))
_TEXT_FIELDS = ("answer", "code", "reply", "content")
_MOST_THOUGHT = 1500
_MOST_CHARACTERS = 200_000
"""The end of a reply that is read: its last answer counts."""
_NESTED = 3
_MOST_FENCES = 8

NO_ANSWER = (
    "the reply has no answer: give SEARCH/REPLACE blocks, or whole functions or the whole file in "
    "one fence that begins with ```python"
)
CUT_FENCE = (
    "the last fence of the reply is never closed, so the answer may be cut: close it with ```, and "
    "prefer SEARCH/REPLACE blocks, which are shorter"
)
CUT_BLOCK = (
    "the last SEARCH/REPLACE block is not complete: it needs the lines `<<<<<<< SEARCH`, `=======` "
    "and `>>>>>>> REPLACE`, in this order"
)


class AnswerError(Exception):
    """A reply without an answer that could be applied; the message says what to change in it."""


@dataclass(frozen=True)
class Block:
    """One SEARCH/REPLACE block.

    Attributes:
        readings: (search, replace) as lines without their ends; more than one where the block has
            several lines that could be its divider.
    """

    readings: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


@dataclass(frozen=True)
class Answer:
    """Either ``blocks`` or ``code``, and the ``thought`` before it."""

    thought: str
    blocks: tuple[Block, ...] = ()
    code: str = ""


@dataclass(frozen=True)
class _Part:
    """A part of a reply, from line ``first`` on: a block, or the code of a fence."""

    first: int
    what: Block | str


def lines_of(text: str) -> list[str]:
    r"""The lines with their ends, as Python counts them: ``\n``, ``\r\n`` or ``\r``."""
    return _LINE.findall(text)


def line_end(text: str) -> str:
    """The line end that a file mostly has."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def answer(reply: str) -> Answer:
    """The last complete answer of a reply.

    SEARCH/REPLACE blocks after the last fence of code belong together, in one fence or several.

    Raises:
        AnswerError: there is none, or it is cut.
    """
    text = _unwrapped(without_thinking(reply), _NESTED)
    lines = [line.rstrip("\r\n") for line in lines_of(text)]
    parts = list(_parts(lines))
    if not parts:
        raise AnswerError(NO_ANSWER)
    last = parts[-1].what
    if isinstance(last, str):
        return Answer(_reasoning(lines[: parts[0].first]), code=last)
    after = max((n for n, part in enumerate(parts) if isinstance(part.what, str)), default=-1)
    blocks = tuple(p.what for p in parts[after + 1 :] if isinstance(p.what, Block))
    return Answer(_reasoning(lines[: parts[0].first]), blocks)


def thought_of(reply: str) -> str:
    """What a reply says that has no answer."""
    return _reasoning([line.rstrip("\r\n") for line in lines_of(without_thinking(reply))])


def without_thinking(reply: str) -> str:
    """The reply without what a reasoning model thinks aloud; fences in there are no answer."""
    text = encodable(reply[-_MOST_CHARACTERS:])
    for tag in _THINKING:
        # Some servers leave the opening tag in the prompt, and some replies end before the closing.
        text = text.rpartition(f"</{tag}>")[2]
        if text.lstrip().startswith(f"<{tag}>"):
            return ""
    return text


def _unwrapped(text: str, deep: int) -> str:
    """The text in a reply that is JSON: a string, or an object with an answer or edits."""
    stripped = text.strip()
    if not deep or stripped[:1] not in ('"', "{"):
        return text
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, str):
        return _unwrapped(value, deep - 1)
    found = [value[name] for name in _TEXT_FIELDS if isinstance(value.get(name), str)]
    if len(found) != 1:
        return text
    inner = _unwrapped(found[0], deep - 1)
    if "```" in inner or "<<<<< SEARCH" in inner or "<<<<<SEARCH" in inner:
        return inner
    return f"```````python\n{inner.rstrip()}\n```````\n"


def _parts(lines: list[str]) -> Iterator[_Part]:
    """Blocks and fences of code in order; raises for one that is cut, unless another follows."""
    at, begin, cut, around = 0, 0, "", ""
    while at < len(lines):
        opening = _OPENING.match(lines[at])
        if _SEARCH.match(lines[at]):
            block, end = _block(lines, at)
            cut = "" if block else CUT_BLOCK
            if block is not None:
                yield _Part(begin if around else at, block)
        elif around and _is_bare(lines[at], around):
            around, end = "", at + 1
        elif opening is None:
            end = at + 1
        elif _holds_blocks(lines, at, opening[1]):
            around, begin, end = opening[1], at, at + 1
        else:
            end = _closing(lines, at, opening[1]) + 1
            if opening[2].lower() in _CODE:
                cut = ""
                yield _Part(at, "\n".join(lines[at + 1 : end - 1]) + "\n")
        at = end
    if cut:
        raise AnswerError(cut)


def _block(lines: list[str], start: int) -> tuple[Block | None, int]:
    """The block that begins at a line, and the line after it; None where it is cut."""
    for end in range(start + 1, len(lines)):
        if _SEARCH.match(lines[end]):
            return None, end
        if _REPLACE.match(lines[end]):
            break
    else:
        return None, len(lines)
    dividers = [n for n in range(start + 1, end) if _DIVIDER.match(lines[n])]
    readings = tuple((tuple(lines[start + 1 : n]), tuple(lines[n + 1 : end])) for n in dividers)
    return (Block(readings) if readings else None), end + 1


def _holds_blocks(lines: list[str], start: int, fence: str) -> bool:
    """Whether there are blocks in a fence: they are read line by line, whatever is around them."""
    for n in range(start + 1, len(lines)):
        if _SEARCH.match(lines[n]):
            return True
        if _is_bare(lines[n], fence):
            return False
    return False


def _closing(lines: list[str], start: int, fence: str) -> int:
    """The line that closes a fence; one in a string of the code does not."""
    found = (n for n in range(start + 1, len(lines)) if _is_bare(lines[n], fence))
    first = next(found, None)
    if first is None:
        raise AnswerError(CUT_FENCE)
    for n in chain((first,), islice(found, _MOST_FENCES)):
        if not _ends_in_a_string(lines[start + 1 : n]):
            return n
    return first


def _is_bare(line: str, fence: str) -> bool:
    text = line.strip(" \t")
    return len(text) >= len(fence) and not text.strip(fence[0]) and not line.startswith("    ")


def _ends_in_a_string(lines: list[str]) -> bool:
    """Whether code ends within a string of several lines."""
    if not any('"""' in line or "'''" in line for line in lines):
        return False
    source = iter([*(f"{line}\n" for line in lines), ""])
    try:
        for _ in tokenize.generate_tokens(source.__next__):
            pass
    except tokenize.TokenError as error:
        return "string" in str(error)
    except SyntaxError:
        return False
    return False


def _reasoning(lines: list[str]) -> str:
    """The reasoning, at most so long; its beginning says what is to be done."""
    text = "\n".join(line.rstrip() for line in lines).strip()
    if len(text) <= _MOST_THOUGHT:
        return text
    kept = text[:_MOST_THOUGHT].rpartition(" ")[0]
    return f"{kept} [...]"
