"""Text to ``ast``, never failing: what does not parse is set aside, the rest is kept.

A text is parsed in pieces, each some whole top-level statements. A piece found again at its
place in the next version of the text is not parsed again: its nodes are the same objects.
Neighbouring new pieces are parsed in one go; only where that fails, one by one.

That pieces parsed by themselves are what the whole text holds follows from how they begin: in
the first column, behind a piece that is complete (no string, bracket or line continuation is
open), with a word that cannot continue a statement.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.python_syntax import check, descendants, parse_silently
from tilewright.source.late import ClassShape, Shape, late_class, late_function, moved_copy
from tilewright.source.model import SyntaxProblem
from tilewright.source.node_memo import share_text_memo
from tilewright.source.segments import Segment, closing_segment, segments
from tilewright.source.text import LineIndex, Range

_SURROGATES = re.compile("[\ud800-\udfff]")
_NEWER = (3, 12)
_OF_NEWER = re.compile(r"\s*(type\s+\w+.*=|(def|class)\s+\w+\s*\[)")
"""Lines that Python reads from that release on: names and parameters of types."""
PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What ``ast`` raises for a text it cannot read."""
_TRIES = 6
_MOST_COPIED = 40
_PLAIN = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_BLOCK = re.compile(r"(?:class|if|try|else|elif|except|finally|with|for|while)\b")
_FUNCTION = re.compile(r"(?:async\s+)?def\b")
_INDENT = re.compile(r"[ \t]*")
Broken = Callable[[str], Sequence[tuple[int, int]]]
"""The stretches of lines of a text, 1-based and inclusive, that do not parse."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Some whole top-level statements, or a stretch of text that does not parse.

    ``texts`` are its segments'. ``memo`` keeps what others find out about its nodes, ``moves`` what
    they find out from its text, with lines counted from its first: pieces of one segment share it
    with that of the same text in the version before.
    """

    first: int
    last: int
    texts: tuple[str, ...]
    body: tuple[ast.stmt, ...]
    problems: tuple[SyntaxProblem, ...] = ()
    memo: dict[object, object] = field(default_factory=dict, repr=False)
    moves: dict[object, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Known:
    """Pieces of an earlier version of a text.

    Attributes:
        placed: by first line and first segment.
        texts: of those that are one segment, whatever their lines, what moves along with them.
            They parse, and were checked.
    """

    placed: Mapping[tuple[int, str], Piece] = field(default_factory=dict)
    texts: Mapping[str, dict[object, Any]] = field(default_factory=dict)


def parse_pieces(index: LineIndex, known: Known) -> list[Piece]:
    """The pieces of a text, in order; those in ``known`` as they are there."""
    return _Pieces(index, known).parsed()


def as_known(pieces: Sequence[Piece]) -> Known:
    """What a later version of the text may find again. A broken piece may be whole by then."""
    whole = [piece for piece in pieces if not piece.problems]
    texts = {piece.texts[0]: piece.moves for piece in whole if len(piece.texts) == 1}
    return Known({(piece.first, piece.texts[0]): piece for piece in whole}, texts)


def parseable(text: str) -> str:
    """``text`` with what stops Python's parser outright replaced, every byte column kept.

    A byte-order mark becomes three form feeds (blank to Python, as many bytes), a null
    byte another unprintable one, a lone surrogate a question mark.
    """
    if text.startswith("\ufeff"):
        text = "\f\f\f" + text[1:]
    if text.isascii():
        return text.replace("\0", "\x01")
    return _SURROGATES.sub("?", text.replace("\0", "\x01"))


class _Pieces:
    def __init__(self, index: LineIndex, known: Known) -> None:
        readable = parseable(index.text)
        lines = index.lines if readable == index.text else LineIndex(readable).lines
        self._index = index
        self._known = known
        self._segments = segments(lines)
        self._pieces: list[Piece] = []

    def parsed(self) -> list[Piece]:
        place = 0
        while place < len(self._segments):
            found = self._known_piece(place)
            if found is not None:
                self._pieces.append(found)
                place += len(found.texts)
                continue
            end = place + 1
            while end < len(self._segments) and self._known_piece(end) is None:
                end += 1
            place = self._parse_run(place, end)
        return self._pieces

    def _was_known(self, piece: Piece) -> bool:
        """Whether the piece stood in the earlier version, on whatever lines."""
        return len(piece.texts) == 1 and piece.texts[0] in self._known.texts

    def _known_piece(self, place: int) -> Piece | None:
        segment = self._segments[place]
        piece = self._known.placed.get((segment.first, segment.text))
        if piece is None:
            return self._moved(segment)
        if len(piece.texts) == 1:
            return piece
        texts = tuple(s.text for s in self._segments[place : place + len(piece.texts)])
        return piece if texts == piece.texts else None

    def _moved(self, segment: Segment) -> Piece | None:
        """What stood on other lines: a function, most classes, or a short statement."""
        moves = self._known.texts.get(segment.text)
        if moves is None or "statement" not in moves:
            return None
        memo: dict[object, Any] = {}
        if Shape in moves:
            node: ast.stmt = late_function(segment.text, segment.first, moves[Shape])
        elif ClassShape in moves:
            node, memo["methods"] = late_class(segment.text, segment.first, moves[ClassShape])
        else:
            if _template not in moves:
                moves[_template] = _template(segment.text)
            template = moves[_template]
            if template is None:
                return None
            node = moved_copy(template, segment.first - 1)
        share_text_memo(node, moves["statement"])
        return Piece(segment.first, segment.last, (segment.text,), (node,), (), memo, moves)

    def _parse_run(self, place: int, end: int) -> int:
        """Parse segments from ``place`` to ``end`` or beyond; where it came to."""
        failures = 0
        while place < end:
            if end - place > 1 and failures < _TRIES:
                error = self._try(place, end)
                if error is None:
                    return end
                failures += 1
                bad = self._segment_of(error, place, end)
                if bad > place and self._try(place, bad) is None:
                    place = bad
            place = self._parse_one(place)
        return place

    def _parse_one(self, place: int) -> int:
        """Parse the statement that begins with a segment, or set the segment aside."""
        error = self._try(place, place + 1)
        if error is None:
            return place + 1
        closed = closing_segment(self._segments, place)
        if closed is not None and self._try(place, closed) is None:
            return closed
        self._set_aside(self._segments[place], error)
        return place + 1

    def _try(self, place: int, end: int) -> BaseException | None:
        run = self._segments[place:end]
        text = "\n".join(segment.text for segment in run)
        if end < len(self._segments):
            text += "\n"  # a backslash at the end of a line is an error at the end of a text only
        try:
            tree = parse_silently("\n" * (run[0].first - 1) + text)
            pieces = _distributed(run, tree.body, self._known.texts)
            # To check takes half as long as to parse: what was only moved was checked before.
            new = (piece for piece in pieces if not self._was_known(piece))
            check(ast.Module([node for piece in new for node in piece.body], []))
        except PARSE_ERRORS as error:
            # With its frames it would hold all of this parse in a reference cycle.
            return error.with_traceback(None)
        self._pieces.extend(pieces)
        return None

    def _segment_of(self, error: BaseException, place: int, end: int) -> int:
        line = error.lineno if isinstance(error, SyntaxError) else None
        for number in range(place, end):
            if line is not None and line <= self._segments[number].last:
                return number
        return place

    def _set_aside(self, segment: Segment, error: BaseException) -> None:
        problems = [_problem(error, self._index, segment)]
        body: list[ast.stmt] = []
        masked = repaired(segment.text, _broken)
        if masked is not None:
            try:
                tree = parse_silently("\n" * (segment.first - 1) + masked)
                check(tree)
                body = tree.body
            except PARSE_ERRORS:
                body = []
        piece = Piece(segment.first, segment.last, (segment.text,), tuple(body), tuple(problems))
        self._pieces.append(piece)


def _template(text: str) -> ast.stmt | None:
    """The statement in a text of one; None where to copy its nodes takes longer than to parse.

    It is no part of any version, so that nothing is ever kept with it.
    """
    try:
        (statement,) = parse_silently(f"{text}\n").body
    except PARSE_ERRORS:
        return None
    is_plain = isinstance(statement, _PLAIN)
    return statement if is_plain and len(descendants(statement)) <= _MOST_COPIED else None


def _broken(text: str) -> list[tuple[int, int]]:
    """The stretches of lines of a text that do not parse."""
    return [
        (piece.first, piece.last)
        for piece in parse_pieces(LineIndex(text), Known())
        if piece.problems
    ]


def _distributed(
    run: Sequence[Segment], body: Sequence[ast.stmt], known: Mapping[str, dict[object, Any]]
) -> list[Piece]:
    """The statements of segments parsed together, cut again where segments begin."""
    pieces: list[Piece] = []
    place = taken = 0
    while place < len(run):
        end, first = place + 1, taken
        while taken < len(body) and (end == len(run) or _first_line(body[taken]) < run[end].first):
            last = body[taken].end_lineno or 0
            while end < len(run) and run[end].first <= last:
                end += 1
            taken += 1
        texts = tuple(segment.text for segment in run[place:end])
        statements = tuple(body[first:taken])
        moves = known.get(texts[0], {}) if len(texts) == 1 else {}
        if len(statements) == 1:
            share_text_memo(statements[0], moves.setdefault("statement", {}))
            if len(texts) == 1 and isinstance(statements[0], ast.FunctionDef):
                moves[Shape] = Shape.from_node(statements[0], run[place].first)
        pieces.append(Piece(run[place].first, run[end - 1].last, texts, statements, moves=moves))
        place = end
    return pieces


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _problem(error: BaseException, index: LineIndex, segment: Segment) -> SyntaxProblem:
    first, last = segment.first, segment.last
    if not isinstance(error, SyntaxError) or error.lineno is None:
        where = Range(first, 0, last, len(index.lines[last - 1]))
        return SyntaxProblem(f"cannot be read as Python: {error}", where)
    line = min(max(error.lineno, first), last)
    width = len(index.lines[line - 1])
    column = min(max((error.offset or 1) - 1, 0), width)
    same_line = error.end_lineno == error.lineno and (error.end_offset or 0) > (error.offset or 0)
    end = min((error.end_offset or 1) - 1, width) if same_line else width
    said = error.msg
    if sys.version_info < _NEWER and _OF_NEWER.match(index.lines[line - 1]):
        said += (
            f": Python {'.'.join(map(str, sys.version_info[:2]))} reads it, a newer one wrote it"
        )
    return SyntaxProblem(said, Range(line, column, line, max(end, column)))


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
