"""``# tilewright: ignore[id]``: what the person who wrote a kernel does not want to hear.

On a line of code it covers the statement there; on a line of its own, the next statement; on a
kernel's decorators or its ``def``, the whole kernel. ``ignore-file[id]`` covers the file.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from tilewright.analysis.model import Issue
from tilewright.knowledge.base import taxonomy
from tilewright.source.comments import Comment, comments
from tilewright.source.model import Module
from tilewright.source.text import Range

_MARK = "tilewright:"
_DIRECTIVE = re.compile(r"#\s*tilewright:\s*(?P<rest>.*)$")
_WELL_FORMED = re.compile(r"(?P<scope>ignore|ignore-file)\s*\[(?P<ids>[^\]]*)\]")
_BODY_FIELDS = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True)
class Suppression:
    """Issue ids that are not reported where an issue starts on lines ``first`` to ``last``."""

    ids: frozenset[str]
    first: int
    last: int


@dataclass(frozen=True)
class Notice:
    """Something odd in what a person told Tilewright; never about a kernel itself."""

    range: Range
    message: str


def visible_issues(
    module: Module, issues: Iterable[Issue], silenced: Collection[str] = ()
) -> tuple[Issue, ...]:
    """The issues that neither a comment of the file suppresses nor its project silences."""
    known = suppressions(module)[0]
    wanted = (issue for issue in issues if issue.id not in silenced)
    return tuple(i for i in wanted if not any(_covers(s, i) for s in known))


def notices(module: Module) -> tuple[Notice, ...]:
    """Directives that are not understood or name no issue."""
    return suppressions(module)[1]


def has_directives(text: str) -> bool:
    """Whether a text says anything to Tilewright."""
    return _MARK in text


def suppressions(module: Module) -> tuple[tuple[Suppression, ...], tuple[Notice, ...]]:
    """What the comments of a file suppress, and what is wrong with them."""
    if not has_directives(module.text):
        return (), ()
    found: list[Suppression] = []
    odd: list[Notice] = []
    for comment in comments(module.index):
        directive = _DIRECTIVE.search(comment.text)
        if directive is None:
            continue
        parts = list(_WELL_FORMED.finditer(directive["rest"]))
        if not parts:
            odd.append(Notice(comment.range, f"write {_example()}; nothing is ignored here"))
        for part in parts:
            ids = frozenset(i.strip() for i in part["ids"].split(",") if i.strip())
            odd += [Notice(comment.range, why) for why in _complaints(ids)]
            first, last = _lines_of(module, comment, part["scope"])
            found.append(Suppression(ids & taxonomy().keys(), first, last))
    return tuple(found), tuple(odd)


def _example() -> str:
    return "`# tilewright: ignore[missing_autotune]` with the ids of the issues to ignore"


def _complaints(ids: frozenset[str]) -> Iterator[str]:
    if not ids:
        yield f"no issue is named; write {_example()}"
    for issue_id in sorted(ids - taxonomy().keys()):
        near = get_close_matches(issue_id, taxonomy(), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield f"no issue is called {issue_id}{hint}"


def _covers(suppression: Suppression, issue: Issue) -> bool:
    starts = suppression.first <= issue.range.line <= suppression.last
    return starts and issue.id in suppression.ids


def _lines_of(module: Module, comment: Comment, scope: str) -> tuple[int, int]:
    if scope == "ignore-file":
        return 1, len(module.index.lines)
    line = _next_code_line(module, comment.range.line) if comment.stands_alone else None
    line = line or comment.range.line
    for kernel in module.kernels:
        if kernel.range.line <= line < kernel.node.body[0].lineno:
            return kernel.range.line, kernel.range.end_line
    return _statement_lines(module, line)


def _next_code_line(module: Module, line: int) -> int | None:
    for number in range(line + 1, len(module.index.lines) + 1):
        content = module.index.lines[number - 1].strip()
        if content and not content.startswith("#"):
            return number
    return None


def _statement_lines(module: Module, line: int) -> tuple[int, int]:
    """Lines of the innermost statement there; of a compound one, those of its head."""
    body: list[ast.AST] = list(module.tree.body)
    span = (line, line)
    while True:
        inside = next((s for s in body if _first(s) <= line <= _last(s)), None)
        if inside is None:
            return span
        body = [n for f in _BODY_FIELDS for n in getattr(inside, f, []) if isinstance(n, ast.AST)]
        last = min((_first(n) - 1 for n in body), default=_last(inside))
        if line <= last or not body:
            return _first(inside), max(last, line)


def _first(node: ast.AST) -> int:
    decorators: list[int] = [d.lineno for d in getattr(node, "decorator_list", [])]
    own: int = getattr(node, "lineno", 0)
    return min([own, *decorators])


def _last(node: ast.AST) -> int:
    return int(getattr(node, "end_lineno", 0) or 0)
