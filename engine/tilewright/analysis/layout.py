"""Where issues are, relative to the statements that they are in: a version of the file has these
on other lines, or with other empty lines.
"""

import ast
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from tilewright.analysis.host_code import UNITS, bound_by
from tilewright.analysis.model import Issue, Related
from tilewright.python_syntax import descendants
from tilewright.source.model import Module
from tilewright.source.node_memo import per_text, text_memo_of
from tilewright.source.text import Range

_Anchor = tuple[str, int]
_Place = tuple[_Anchor, int, int]
_IN_WORDS = re.compile(r"\bline \d")
_BEFORE_ALL: _Anchor = ("", -1)
_BLANK = " \t\f"
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
    def of(module: Module) -> "Layout":
        """The layout of a parsed file."""
        kernels = {id(kernel.node): kernel.name for kernel in module.kernels}
        seen: Counter[str] = Counter()
        starts, anchors, filled = [], [], []
        for node in module.tree.body:
            definition, above = head(node)
            name = kernels.get(id(node)) or definition
            starts.append(node.lineno - above)
            anchors.append((name, seen[name]))
            seen[name] += 1
            filled.append(_filled_lines(module, node, above))
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

    def filled_text(self, module: Module, place: int) -> str:
        """The text of a statement of the file without its empty lines."""
        filled, lines = self.filled[place], module.index.lines
        above = self.starts[place] - 1
        if isinstance(filled, range):
            return "\n".join(lines[above : above + len(filled)])
        return "\n".join([lines[above + within] for within in filled])

    def number_of(self, line: int) -> tuple[_Anchor, int] | None:
        """The statement that a line is in, and its number there; None for a line in none."""
        place = self.statement_at(line)
        if place < 0:
            return None
        filled, within = self.filled[place], line - self.starts[place]
        number = bisect_left(filled, within)
        is_filled = number < len(filled) and filled[number] == within
        return (self.anchors[place], number) if is_filled else None

    def line_of(self, anchor: _Anchor, number: int) -> int | None:
        """The line that has a number in a statement; None where there is none."""
        place = self.places.get(anchor)
        if place is None or number >= len(self.filled[place]):
            return None
        return self.starts[place] + self.filled[place][number]


@dataclass(frozen=True)
class KeptIssue:
    """An issue, and the statements and lines in them that its places are in.

    ``layout`` is that of the file, for an issue that names a line in words or is in no statement:
    it holds only there.
    """

    issue: Issue
    lines: tuple[tuple[_Anchor, int], ...]
    layout: Layout | None

    @staticmethod
    def at(issue: Issue, layout: Layout) -> "KeptIssue":
        """An issue of a file of this layout."""
        lines = tuple(map(layout.number_of, _lines(issue)))
        known = tuple(line for line in lines if line is not None)
        is_fixed = len(known) < len(lines) or _IN_WORDS.search(issue.message) is not None
        return KeptIssue(issue, known, layout if is_fixed else None)

    def moved(self, to: Layout) -> Issue | None:
        """The issue where it is in a file of another layout.

        None if it names a place in a statement that is not there, or a line's number.
        """
        if self.layout is not None:
            return self.issue if self.layout == to else None
        now = [to.line_of(anchor, number) for anchor, number in self.lines]
        lines = [line for line in now if line is not None]
        if len(lines) < len(now):
            return None
        return self.issue if lines == list(_lines(self.issue)) else _moved(self.issue, lines)


def _lines(issue: Issue) -> Iterator[int]:
    """First and last line of each place of an issue."""
    for where in (issue.range, *(related.range for related in issue.related)):
        yield from (where.line, where.end_line)


def _moved(issue: Issue, lines: Sequence[int]) -> Issue:
    """An issue with other first and last lines of its places."""
    own, *others = zip(lines[::2], lines[1::2], strict=True)
    related = tuple(
        Related(one.message, _on(one.range, *there))
        for one, there in zip(issue.related, others, strict=True)
    )
    return replace(issue, range=_on(issue.range, *own), related=related)


def _on(where: Range, line: int, end_line: int) -> Range:
    return Range(line, where.column, end_line, where.end_column)


@per_text
def head(node: ast.stmt) -> tuple[str, int]:
    """What a statement is known by, and how many lines of decorators are above it.

    Known by "" are those that count for the whole file.
    """
    decorators: list[int] = [d.lineno for d in getattr(node, "decorator_list", ())]
    above = node.lineno - min([node.lineno, *decorators])
    if isinstance(node, UNITS):
        return f"def {node.name}", above
    return f"set {sorted(bound_by(node))}" if is_followed(node) else "", above


def is_followed(node: ast.stmt) -> bool:
    """Whether a statement can matter only to what names it, or what it names."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(isinstance(target, ast.Name) for target in targets)
    return isinstance(node, (*UNITS, ast.Import, ast.ImportFrom))


def _filled_lines(module: Module, node: ast.stmt, above: int) -> Sequence[int]:
    """The lines of a statement that are not empty, counted from its first.

    Versions of the file share them where the statement has the same text.
    """
    memo = text_memo_of(node)
    known = memo.get(Layout)
    if known is None:
        lines = module.index.lines[node.lineno - above - 1 : node.end_lineno]
        known = memo[Layout] = _filled(lines, node, node.lineno - above)
    return cast("Sequence[int]", known)


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
