"""What surrounds a place of a text that is being typed: the word, the open calls, the function.

The text need not parse. It is read from the top-level statement that the place is in, token by
token, so that a bracket that is still open is known with what it belongs to.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<text>[rbfuRBFU]{0,2}(?:\"{3}(?:[^\\]|\\.)*?(?:\"{3}|\Z)|'{3}(?:[^\\]|\\.)*?(?:'{3}|\Z)
        |"(?:[^"\\\n]|\\.)*(?:"|(?=\n)|\Z)|'(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\Z)))
    |(?P<comment>\#[^\n]*)
    |(?P<number>\d[\w.]*)
    |(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
    |(?P<open>[(\[{])
    |(?P<close>[)\]}])
    |(?P<equals>==|!=|<=|>=|:=|=)
    |(?P<comma>,)
    |(?P<colon>:)
    |(?P<line>\n)
    |(?P<other>[^\s])""",
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"((?:[^\W\d]\w*\.)*)(\w*)\Z")
_DEFINITION = re.compile(r"(\s*)(?:async\s+)?def\s+([^\W\d]\w*)")
_JIT = re.compile(r"@\s*[\w.]*jit\b")
_MOST_CHARACTERS = 20_000


@dataclass
class _Frame:
    """An open bracket while the text is read."""

    bracket: str
    callee: str
    subscripted: bool
    indent: int
    position: int = 0
    keyword: str | None = None
    key: str | None = None
    given: dict[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class OpenCall:
    """A bracket that is open at the place, with the text before it.

    Attributes:
        bracket: "(", "[" or "{".
        callee: the dotted name before it, "" for none; ``kernel`` for ``kernel[grid](``.
        subscripted: whether a subscript stands between the name and the bracket.
        position: the number of commas before the place.
        keyword: of the argument at the place, where one is written.
        key: in a dict, the key whose value the place is in.
        given: keywords, or keys, that stand before the place, with the numbers they are given.
    """

    bracket: str
    callee: str
    subscripted: bool
    position: int
    keyword: str | None
    key: str | None
    given: Mapping[str, int | None]


@dataclass(frozen=True)
class Cursor:
    """The surroundings of a place.

    Attributes:
        word: the part of an identifier, or of a string, that ends at the place.
        owner: the dotted name before the word, "" for none: ``tl`` in ``tl.lo``.
        calls: open brackets, the innermost last.
        in_text: whether the place is in a string; ``in_comment`` in a comment.
    """

    word: str
    owner: str
    calls: tuple[OpenCall, ...]
    in_text: bool = False
    in_comment: bool = False

    @property
    def call(self) -> OpenCall | None:
        """The innermost open call: a parenthesis that follows a name."""
        found = (c for c in reversed(self.calls) if c.bracket == "(" and c.callee)
        return next(found, None)


def cursor_at(lines: Sequence[str], line: int, column: int) -> Cursor:
    """The surroundings of a place (1-based line, code-point column)."""
    before = [*lines[_start(lines, line) : line - 1], lines[line - 1][:column]]
    text = "\n".join(before)[-_MOST_CHARACTERS:]
    reader = _Reader(text)
    reader.read()
    if reader.in_text or reader.in_comment:
        word = re.split(r"['\"]", reader.last)[-1]
        return Cursor(word, "", reader.calls, reader.in_text, reader.in_comment)
    owner, word = _WORD.search(text).groups()  # type: ignore[union-attr]
    return Cursor(word, owner.rstrip("."), reader.calls)


def _start(lines: Sequence[str], line: int) -> int:
    """The row of the line at which the top-level statement around a line begins."""
    row = line - 1
    while row > 0:
        text = lines[row]
        if text[:1].strip() and text[0] not in ")]}#" and not _is_decorated(lines, row):
            return row
        row -= 1
    return 0


def _is_decorated(lines: Sequence[str], row: int) -> bool:
    """Whether the line before is a decorator, which belongs to the same statement."""
    return lines[row - 1][:1] == "@"


class _Reader:
    """Reads tokens and keeps the stack of open brackets."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._frames: list[_Frame] = []
        self._before = ("", "")
        self._subscripted = ""
        self.in_text = self.in_comment = False
        self.last = ""

    @property
    def calls(self) -> tuple[OpenCall, ...]:
        return tuple(
            OpenCall(
                f.bracket, f.callee, f.subscripted, f.position, f.keyword, f.key, dict(f.given)
            )
            for f in self._frames
        )

    def read(self) -> None:
        """Read all; then say whether the end lies in a string or a comment."""
        kind, value = "", ""
        for match in _TOKEN.finditer(self._text):
            kind, value = match.lastgroup or "", match[0]
            self._token(kind, value, match.start())
        ends_here = bool(value) and self._text.endswith(value)
        self.in_comment = ends_here and kind == "comment"
        self.in_text = ends_here and kind == "text" and not _is_closed(value)
        self.last = value

    def _token(self, kind: str, value: str, start: int) -> None:
        if kind not in ("line", "comment", "close"):
            self._leave_unfinished(start)
        match kind:
            case "open":
                self._open(value, start)
            case "close":
                self._close()
                return
            case "comma" if self._frames:
                frame = self._frames[-1]
                frame.position += 1
                frame.keyword = frame.key = None
            case "equals" if value == "=" and self._frames and self._before[0] == "name":
                self._frames[-1].keyword = self._before[1]
                self._frames[-1].given[self._before[1]] = None
            case "colon" if self._frames and self._frames[-1].bracket == "{":
                self._frames[-1].key = self._before[1].strip("'\"")
                self._frames[-1].given[self._frames[-1].key] = None
            case "number" if self._frames and self._before[0] in ("equals", "colon"):
                frame = self._frames[-1]
                name = frame.key if frame.bracket == "{" else frame.keyword
                if name is not None and value.isdigit():
                    frame.given[name] = int(value)
        if kind not in ("line", "comment"):
            self._before = (kind, value)

    def _leave_unfinished(self, start: int) -> None:
        """Forget brackets whose line is indented no less than a line that begins here.

        What continues a line is indented more; so they were left unfinished.
        """
        line = self._text.rfind("\n", 0, start) + 1
        if self._frames and line and not self._text[line:start].strip():
            self._frames = [frame for frame in self._frames if frame.indent < start - line]

    def _indent(self, start: int) -> int:
        """Blanks before the line of a token."""
        line = self._text.rfind("\n", 0, start) + 1
        return len(self._text[line:start]) - len(self._text[line:start].lstrip())

    def _open(self, bracket: str, start: int) -> None:
        kind, value = self._before
        callee = value if kind == "name" else self._subscripted if kind == "subscript" else ""
        self._frames.append(_Frame(bracket, callee, kind == "subscript", self._indent(start)))

    def _close(self) -> None:
        closed = self._frames.pop() if self._frames else None
        is_subscript = closed is not None and closed.bracket == "[" and closed.callee
        self._subscripted = closed.callee if closed is not None and is_subscript else ""
        self._before = ("subscript" if is_subscript else "close", "")


def _is_closed(value: str) -> bool:
    """Whether a string token ends with the quotes that it begins with."""
    body = value.lstrip("rbfuRBFU")
    quote = body[:3] if body[:3] in ('"""', "'''") else body[:1]
    return len(body) >= 2 * len(quote) and body.endswith(quote)


@dataclass(frozen=True)
class Definition:
    """A function whose body, header or decorators are around a place; ``line`` is 1-based."""

    name: str
    line: int
    is_jitted: bool


def definition_around(lines: Sequence[str], line: int) -> Definition | None:
    """The function that a line is in, by indentation alone; None outside of any.

    A line among decorators belongs to the function that they decorate.
    """
    row = min(line, len(lines)) - 1
    below = _decorated(lines, row)
    if below is not None:
        return below
    indent = _indent(lines[row]) if lines[row].strip() else None
    for above in range(row, -1, -1):
        text = lines[above]
        found = _DEFINITION.match(text)
        if found and (above == row or indent is None or len(found[1]) < indent):
            return Definition(found[2], above + 1, _is_jitted(lines, above))
        if text[:1].strip() and above != row and text[0] not in ")]}#@" and not found:
            return None
    return None


def _decorated(lines: Sequence[str], row: int) -> Definition | None:
    """The function below, where a line lies in a decorator."""
    top = row
    while (
        top > 0 and lines[top][:1] != "@" and (not lines[top][:1].strip() or lines[top][0] in ")]}")
    ):
        top -= 1
    if lines[top][:1] != "@":
        return None
    for below in range(top, len(lines)):
        found = _DEFINITION.match(lines[below])
        if found:
            return (
                Definition(found[2], below + 1, _is_jitted(lines, below)) if below > row else None
            )
    return None


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _is_jitted(lines: Sequence[str], row: int) -> bool:
    """Whether a decorator directly above a definition makes it a kernel."""
    for above in range(row - 1, -1, -1):
        if _JIT.match(lines[above].lstrip()):
            return True
        text = lines[above]
        if not text.strip() or _DEFINITION.match(text):
            return False
    return False


_SIGNATURE_NAME = re.compile(r"\b([^\W\d]\w*)\s*:\s*[\w.\"']*constexpr\b")


def constexprs_below(lines: Sequence[str], line: int, most: int = 60) -> tuple[str, ...]:
    """Constexpr parameters of the definition that begins on a line, as its text annotates them."""
    text = "\n".join(lines[line - 1 : line - 1 + most])
    end = text.find("):")
    return tuple(_SIGNATURE_NAME.findall(text if end < 0 else text[:end]))
