"""``# tilewright: ignore[...]`` written into a text, merged with what is ignored there already."""

import ast
import re
from collections.abc import Iterator
from enum import StrEnum

from tilewright.analysis.model import Issue
from tilewright.analysis.suppression import suppressions
from tilewright.source.comments import Comment, comments
from tilewright.source.model import Kernel, Module
from tilewright.source.parse import parse_module

_DIRECTIVE = re.compile(r"(#\s*tilewright:\s*ignore\s*\[)([^\]]*)(\])")
_OF_FILE = re.compile(r"(#\s*tilewright:\s*ignore-file\s*\[)([^\]]*)(\])")
_FIRST_LINES = re.compile(r"#!|#.*coding[:=]")
_LONGEST_LINE = 100


class Scope(StrEnum):
    """Where an issue is not to be reported any more."""

    LINE = "line"
    KERNEL = "kernel"
    FILE = "file"


def kernel_of(module: Module, issue: Issue) -> Kernel | None:
    """The kernel whose text an issue starts in."""
    return module.kernel_at(issue.range.line)


def ignoring(module: Module, issue: Issue, scope: Scope) -> str | None:
    """The text with a comment that silences an issue; None where no comment can.

    Every way to write it is tried until one leaves the code as it is and works.
    """
    line = issue.range.line
    if scope is Scope.KERNEL:
        kernel = kernel_of(module, issue)
        if kernel is None:
            return None
        line = kernel.range.line
    if scope is Scope.FILE:
        candidates = _in_file(module, issue.id)
    else:
        candidates = _candidates(module, issue.id, line)
    for new in candidates:
        if _works(module, parse_module(new, module.path), issue):
            return new
    return None


def _candidates(module: Module, issue_id: str, line: int) -> Iterator[str]:
    """Merged into a directive there, behind the line, above it, above its statement."""
    for comment in comments(module.index):
        above = comment.stands_alone and comment.range.line == line - 1
        if comment.range.line == line or above:
            yield from _merged(module, comment, issue_id, _DIRECTIVE)
    behind = f"  # tilewright: ignore[{issue_id}]"
    content = module.index.lines[line - 1]
    if len(content.rstrip()) + len(behind) <= _LONGEST_LINE:
        yield _spliced(module, line, len(content.rstrip()), len(content), behind)
    yield _comment_above(module, line, issue_id)
    yield _comment_above(module, _statement_start(module, line), issue_id)


def _in_file(module: Module, issue_id: str) -> Iterator[str]:
    """Merged into a directive of the file, else at its top, behind what must stand first."""
    for comment in comments(module.index):
        yield from _merged(module, comment, issue_id, _OF_FILE)
    lines = enumerate(module.index.lines, 1)
    first = next((n for n, line in lines if not _FIRST_LINES.match(line)), 1)
    yield _comment_above(module, first, issue_id, "ignore-file")


def _merged(
    module: Module, comment: Comment, issue_id: str, directive: re.Pattern[str]
) -> Iterator[str]:
    found = directive.search(comment.text)
    if found is not None:
        ids = [*filter(None, map(str.strip, found[2].split(","))), issue_id]
        column = comment.range.column
        start, end = column + found.start(2), column + found.end(2)
        yield _spliced(module, comment.range.line, start, end, ", ".join(dict.fromkeys(ids)))


def _comment_above(module: Module, line: int, issue_id: str, word: str = "ignore") -> str:
    content = module.index.lines[line - 1]
    indent = content[: len(content) - len(content.lstrip())]
    end = "\r\n" if "\r\n" in module.text else "\n"
    return _spliced(module, line, 0, 0, f"{indent}# tilewright: {word}[{issue_id}]{end}")


def _spliced(module: Module, line: int, start: int, end: int, new: str) -> str:
    """The text with columns ``start`` to ``end`` of a line replaced."""
    offset = module.index.offset(line, 0)
    return module.text[: offset + start] + new + module.text[offset + end :]


def _statement_start(module: Module, line: int) -> int:
    """The first line of the innermost statement that covers a line."""
    starts = [
        node.lineno
        for node in ast.walk(module.tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(starts, default=line)


def _works(old: Module, new: Module, issue: Issue) -> bool:
    """Whether the new text is the same code and the issue is silenced in it."""
    if len(new.problems) != len(old.problems) or ast.dump(new.tree) != ast.dump(old.tree):
        return False
    line = issue.range.line + len(new.index.lines) - len(old.index.lines)
    return any(s.first <= line <= s.last and issue.id in s.ids for s in suppressions(new)[0])
