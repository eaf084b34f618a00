"""Where issues are, relative to the statements that they are in: a version of the file has these
on other lines, or with other empty lines.
"""

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from tilewright.analysis.host_code import UNITS, bound_by
from tilewright.analysis.model import Issue, Related
from tilewright.python_syntax import descendants
from tilewright.source.facts import blocks
from tilewright.source.model import Kernel, Module
from tilewright.source.node_memo import per_text, text_memo_of
from tilewright.source.text import Range

_Anchor = tuple[str, int]
_Place = tuple[_Anchor, int, int]
_Form = tuple[str, int, Sequence[int]]
_IN_WORDS = re.compile(r"\bline \d")
_BEFORE_ALL: _Anchor = ("", -1)
_BLANK = " \t\f"
_FILLED = "filled text"
_QUOTES = ('"""', "'''")


@dataclass(frozen=True)
class Layout:
    """Where a file's top-level statements begin, decorators included, and which lines they fill.

    A kernel, function, class or assignment is known by its names, any other statement by its
    number among these: one that comes or goes moves none of the others. A line within a statement
    is known by its number among those that are not empty.

    Attributes:
        filled: of each statement the lines that are not empty, counted from its first.
    """

    starts: tuple[int, ...]
    anchors: tuple[_Anchor, ...]
    filled: tuple[Sequence[int], ...]
    places: Mapping[_Anchor, int] = field(compare=False)

    @staticmethod
    def from_module(module: Module) -> "Layout":
        """The layout of a parsed file."""
        kernels = {id(kernel.node): kernel.name for kernel in module.kernels}
        lines = module.index.lines
        numbers: dict[str, int] = {}
        starts, anchors, filled = [], [], []
        for node in module.tree.body:
            definition, above, own = _form(node, lines)
            name = kernels.get(id(node), definition)
            number = numbers.get(name, 0)
            numbers[name] = number + 1
            starts.append(node.lineno - above)
            anchors.append((name, number))
            filled.append(own)
        places = {anchor: place for place, anchor in enumerate(anchors)}
        return Layout(tuple(starts), tuple(anchors), tuple(filled), places)

    def place_of(self, where: Range) -> _Place:
        """The statement a range begins in, and its first line and column from there."""
        place = self.statement_at(where.line)
        if place < 0:
            return _BEFORE_ALL, where.line, where.column
        return self.anchors[place], where.line - self.starts[place], where.column

    def statement_at(self, line: int) -> int:
        """The number of the top-level statement that a line belongs to; -1 above all."""
        return bisect_right(self.starts, line) - 1

    def filled_text(self, kernel: Kernel, place: int) -> str:
        """The text of a kernel that is a statement of the file, without its empty lines."""
        filled = self.filled[place]
        if isinstance(filled, range):
            return kernel.text
        memo = text_memo_of(kernel.node)
        known = memo.get(_FILLED)
        if known is None:
            lines = kernel.text.split("\n")
            known = memo[_FILLED] = "\n".join([lines[within] for within in filled])
        return cast("str", known)

    def number_of(self, line: int) -> tuple[_Anchor, int] | None:
        """The statement that a line is in, and its number there; None for a line in none."""
        place = self.statement_at(line)
        if place < 0:
            return None
        filled, within = self.filled[place], line - self.starts[place]
        number = bisect_left(filled, within)
        is_filled = number < len(filled) and filled[number] == within
        return (self.anchors[place], number) if is_filled else None


@dataclass(frozen=True)
class KeptIssue:
    """An issue, and the statements and lines in them that its places are in.

    Attributes:
        places: for each line of ``_lines`` its statement and its number there.
        layout: that of the file, for an issue that names a line in words or is in no statement:
            it holds only there.
    """

    issue: Issue
    lines: list[int]
    places: tuple[tuple[_Anchor, int], ...]
    layout: Layout | None

    @staticmethod
    def from_issue(issue: Issue, layout: Layout) -> "KeptIssue":
        """An issue of a file of this layout."""
        lines = list(_lines(issue))
        found = tuple(map(layout.number_of, lines))
        places = tuple(place for place in found if place is not None)
        is_fixed = len(places) < len(found) or _IN_WORDS.search(issue.message) is not None
        return KeptIssue(issue, lines, places, layout if is_fixed else None)

    def moved(self, to: Layout) -> Issue | None:
        """The issue where it is in a file of another layout.

        None if it names a place in a statement that is not there, or a line's number.
        """
        if self.layout is not None:
            return self.issue if self.layout == to else None
        lines = []
        for anchor, number in self.places:
            place = to.places.get(anchor)
            if place is None or number >= len(to.filled[place]):
                return None
            lines.append(to.starts[place] + to.filled[place][number])
        return self.issue if lines == self.lines else _moved(self.issue, lines)


def _lines(issue: Issue) -> Iterator[int]:
    """First and last line of each place of an issue."""
    for where in (issue.range, *(related.range for related in issue.related)):
        yield from (where.line, where.end_line)


def _moved(issue: Issue, lines: Sequence[int]) -> Issue:
    """An issue with other first and last lines of its places."""
    own, *others = zip(lines[::2], lines[1::2], strict=True)
    related = tuple(
        Related(one.message, _range_on_lines(one.range, *there))
        for one, there in zip(issue.related, others, strict=True)
    )
    return replace(issue, range=_range_on_lines(issue.range, *own), related=related)


def _range_on_lines(where: Range, line: int, end_line: int) -> Range:
    return Range(line, where.column, end_line, where.end_column)


def _form(node: ast.stmt, lines: Sequence[str]) -> _Form:
    """What a statement is known by, its lines of decorators, and which of its lines are filled.

    Versions of the file share it where the statement has the same text.
    """
    memo = text_memo_of(node)
    known = memo.get(Layout)
    if known is None:
        decorators: list[int] = [d.lineno for d in getattr(node, "decorator_list", ())]
        first = min([node.lineno, *decorators])
        own = _filled(lines[first - 1 : node.end_lineno], node, first)
        known = memo[Layout] = _name_of(node), node.lineno - first, own
    return cast("_Form", known)


def _name_of(node: ast.stmt) -> str:
    """Known by "" are those that count for the whole file."""
    if isinstance(node, UNITS):
        return f"def {node.name}"
    return f"set {sorted(bound_by(node))}" if is_followed(node) else ""


@per_text
def is_followed(node: ast.stmt) -> bool:
    """Whether a statement can matter only to what names it, or what it names."""
    match node:
        case ast.Assign(targets=targets):
            return all(isinstance(target, ast.Name) for target in targets)
        case ast.AnnAssign(target=target):
            return isinstance(target, ast.Name)
        case ast.Expr(value=value):
            return isinstance(value, ast.Constant)
        case ast.If() | ast.Try():
            return all(map(is_followed, blocks(node)))
    return isinstance(node, (*UNITS, ast.Import, ast.ImportFrom, ast.Pass))


def _filled(lines: Sequence[str], node: ast.stmt, first: int) -> Sequence[int]:
    """Where an empty line may belong to a value or end a statement, none counts as empty."""
    if all(line.strip(_BLANK) for line in lines):
        return range(len(lines))
    if any(line.endswith("\\") for line in lines):
        return range(len(lines))
    inside = frozenset[int]()
    if any(mark in line for line in lines for mark in _QUOTES):
        inside = frozenset(line - first for line in _within_strings(node))
    return tuple(n for n, line in enumerate(lines) if n in inside or line.strip(_BLANK))


def _within_strings(node: ast.stmt) -> Iterator[int]:
    for inner in descendants(node):
        if isinstance(inner, ast.Constant | ast.JoinedStr) and inner.end_lineno is not None:
            yield from range(inner.lineno, inner.end_lineno + 1)
