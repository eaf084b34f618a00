"""Text to ``ast``, never failing: what does not parse is set aside, the rest is kept.

Whole files go to ``ast`` in one piece. A file that is broken somewhere is cut into its
top-level statements, first along tree-sitter's reading of it, then, where that is broken
as well, at the lines that start in the first column; each piece parses by itself.
"""

import ast
import re
import warnings
from functools import cache
from itertools import pairwise

import tree_sitter_python
from tree_sitter import Language as Grammar
from tree_sitter import Parser

from tilewright.python_syntax import parse
from tilewright.source.model import SyntaxProblem
from tilewright.source.text import LineIndex, Range

_CONTINUES = re.compile(r"(?:[)\]}#\s]|$|(?:else|elif|except|finally)\b)")
_SURROGATES = re.compile("[\ud800-\udfff]")
_PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)


def parse_tree(text: str) -> tuple[ast.Module, tuple[SyntaxProblem, ...]]:
    """The statements of ``text`` that parse, at their true places, and what does not."""
    readable = parseable(text)
    try:
        return _parse(readable), ()
    except _PARSE_ERRORS:
        return _parse_pieces(readable)


def parseable(text: str) -> str:
    """``text`` with what stops Python's parser outright replaced, every byte column kept.

    A byte-order mark becomes three form feeds (blank to Python, as many bytes), a null
    byte another unprintable one, a lone surrogate a question mark.
    """
    if text.startswith("\ufeff"):
        text = "\f\f\f" + text[1:]
    return _SURROGATES.sub("?", text.replace("\0", "\x01"))


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse(text)


def _parse_pieces(text: str) -> tuple[ast.Module, tuple[SyntaxProblem, ...]]:
    index = LineIndex(text)
    body: list[ast.stmt] = []
    problems: list[SyntaxProblem] = []
    for first, last in _whole_decorators(index, _segments(text, index)):
        piece = _try_piece(index, first, last)
        if isinstance(piece, ast.Module):
            body.extend(piece.body)
            continue
        for start, end in _first_column_pieces(index, first, last):
            part = _try_piece(index, start, end)
            if isinstance(part, SyntaxProblem):
                problems.append(part)
            else:
                body.extend(part.body)
    return ast.Module(body=body, type_ignores=[]), tuple(problems)


def _try_piece(index: LineIndex, first: int, last: int) -> ast.Module | SyntaxProblem:
    """Parse lines ``first`` to ``last`` (1-based, inclusive) by themselves."""
    try:
        tree = _parse("\n".join(index.lines[first - 1 : last]))
    except _PARSE_ERRORS as error:
        return _problem(error, index, first, last)
    ast.increment_lineno(tree, first - 1)
    return tree


def _problem(error: BaseException, index: LineIndex, first: int, last: int) -> SyntaxProblem:
    if not isinstance(error, SyntaxError) or error.lineno is None:
        where = Range(first, 0, last, len(index.lines[last - 1]))
        return SyntaxProblem(f"cannot be read as Python: {error}", where)
    line = min(first + error.lineno - 1, last)
    width = len(index.lines[line - 1])
    column = min(max((error.offset or 1) - 1, 0), width)
    same_line = error.end_lineno == error.lineno and (error.end_offset or 0) > (error.offset or 0)
    end = min((error.end_offset or 1) - 1, width) if same_line else width
    return SyntaxProblem(error.msg, Range(line, column, line, max(end, column)))


def _segments(text: str, index: LineIndex) -> list[tuple[int, int]]:
    """Line spans of the top-level pieces as tree-sitter sees them; broken neighbours joined."""
    spans: list[tuple[int, int, bool]] = []
    for node in Parser(_grammar()).parse(text.encode()).root_node.children:
        first, last = node.start_point[0] + 1, node.end_point[0] + 1
        if node.end_point[1] == 0 and last > first:
            last -= 1
        inside = node.start_point[1] > 0 or first <= (spans[-1][1] if spans else 0)
        if spans and (inside or (node.has_error and spans[-1][2])):
            before = spans.pop()
            spans.append((before[0], max(last, before[1]), before[2] or node.has_error))
        else:
            spans.append((first, last, node.has_error))
    return [(first, min(last, len(index.lines))) for first, last, _ in spans]


def _whole_decorators(index: LineIndex, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans, joined where one ends with a decorator whose function begins the next."""
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if joined and index.lines[joined[-1][1] - 1].startswith("@"):
            first = joined.pop()[0]
        joined.append((first, last))
    return joined


def _first_column_pieces(index: LineIndex, first: int, last: int) -> list[tuple[int, int]]:
    starts = [first]
    for line in range(first + 1, last + 1):
        decorated = index.lines[starts[-1] - 1].startswith("@") and not any(
            re.match(r"(async\s+)?(def|class)\b", index.lines[k - 1])
            for k in range(starts[-1], line)
        )
        if not decorated and not _CONTINUES.match(index.lines[line - 1]):
            starts.append(line)
    return [(start, end - 1) for start, end in pairwise([*starts, last + 1])]


@cache
def _grammar() -> Grammar:
    return Grammar(tree_sitter_python.language())
