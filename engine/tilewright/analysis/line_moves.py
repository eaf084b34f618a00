"""Places in a file relative to their statement, so that they survive lines added above."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.analysis.model import Issue, Related
from tilewright.source.model import Module
from tilewright.source.text import Range

_Anchor = tuple[str, int]
_IN_WORDS = re.compile(r"\bline \d")
_BEFORE_ALL: _Anchor = ("", -1)


@dataclass(frozen=True)
class Layout:
    """Where a file's top-level statements begin, decorators included.

    A kernel is known by its name, any other statement by its number among those that are no
    kernels: one that comes or goes moves none of the others.
    """

    starts: tuple[int, ...]
    anchors: tuple[_Anchor, ...]
    lines: Mapping[_Anchor, int]

    @staticmethod
    def of(module: Module) -> "Layout":
        """The layout of a parsed file."""
        kernels = {id(kernel.node): kernel.name for kernel in module.kernels}
        seen: Counter[str] = Counter()
        starts, anchors = [], []
        for node in module.tree.body:
            name = kernels.get(id(node), "")
            decorators: list[int] = [d.lineno for d in getattr(node, "decorator_list", ())]
            starts.append(min([node.lineno, *decorators]))
            anchors.append((name, seen[name]))
            seen[name] += 1
        lines = {_BEFORE_ALL: 0, **dict(zip(anchors, starts, strict=True))}
        return Layout(tuple(starts), tuple(anchors), lines)

    def place_of(self, where: Range) -> tuple[_Anchor, int, int]:
        """The statement a range begins in, and its first line and column from there."""
        anchor = self._anchor(where)
        return anchor, where.line - self.lines[anchor], where.column

    def moved(self, issue: Issue, to: "Layout") -> Issue | None:
        """An issue of a file of this layout, where it is in one of another.

        None if it names a place in a statement that is not there, or says a line's number.
        """
        if self.starts == to.starts and self.anchors == to.anchors:
            return issue
        if _says_a_line(issue):
            return None
        places = (issue.range, *(r.range for r in issue.related))
        if not all(self._anchor(place) in to.lines for place in places):
            return None
        related = tuple(Related(r.message, self._moved(r.range, to)) for r in issue.related)
        return replace(issue, range=self._moved(issue.range, to), related=related)

    def _anchor(self, where: Range) -> _Anchor:
        place = bisect_right(self.starts, where.line) - 1
        return self.anchors[place] if place >= 0 else _BEFORE_ALL

    def _moved(self, where: Range, to: "Layout") -> Range:
        anchor = self._anchor(where)
        by = to.lines[anchor] - self.lines[anchor]
        return Range(where.line + by, where.column, where.end_line + by, where.end_column)


def _says_a_line(issue: Issue) -> bool:
    """Whether a line is named in words, where it is not moved along."""
    return _IN_WORDS.search(issue.message) is not None
