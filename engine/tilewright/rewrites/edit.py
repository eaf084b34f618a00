"""Exact text edits at the places of ``ast`` nodes, so that every other character survives.

A ``Patch`` collects replacements of stretches of one module's text; ``apply`` splices them in.
Lines are 1-based and columns are UTF-8 bytes, as ``ast`` has them; offsets are code points.
"""

import ast
import re
from dataclasses import dataclass

from tilewright.python_syntax import parse_expression
from tilewright.source.model import Module

_NEWLINE = re.compile(r"\r\n|\n|\r")

LINE_LENGTH = 100
"""Columns beyond which a call that was edited is laid out anew."""

Placed = ast.expr | ast.stmt | ast.arg | ast.keyword


class OverlapError(ValueError):
    """Two edits of one patch touch the same characters: a fault of the rewrite that made them."""


@dataclass(frozen=True)
class _Edit:
    start: int
    end: int
    text: str


class Patch:
    """Replacements collected over one text, applied together."""

    def __init__(self, module: Module) -> None:
        self.text = module.text
        self._index = module.index
        self._starts = [0, *(match.end() for match in _NEWLINE.finditer(module.text))]
        self._edits: list[_Edit] = []
        newline = _NEWLINE.search(module.text)
        self.newline = newline.group() if newline else "\n"

    def offset(self, line: int, byte_column: int) -> int:
        """Code-point offset of a place as ``ast`` states it."""
        return self._starts[line - 1] + self._index.column(line, byte_column)

    def span(self, node: Placed) -> tuple[int, int]:
        """Start and end offset of a node, without parentheses around it."""
        end_line = node.end_lineno or node.lineno
        end_column = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def source(self, node: Placed) -> str:
        """The node's own text."""
        start, end = self.span(node)
        return self.text[start:end]

    def replace(self, node: Placed, text: str) -> None:
        """Put ``text`` where the node stands."""
        self.splice(*self.span(node), text)

    def splice(self, start: int, end: int, text: str) -> None:
        """Put ``text`` where the characters from ``start`` to ``end`` stand."""
        self._edits.append(_Edit(start, end, text))

    def line_start(self, line: int) -> int:
        """Offset of a 1-based line's first character; one past the last line gives the end."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def indent(self, statement: ast.stmt) -> str:
        """White space before the statement on its line."""
        start = self.line_start(statement.lineno)
        return self.text[start : self.span(statement)[0]]

    def owns_lines(self, statement: ast.stmt) -> bool:
        """Whether nothing else than a comment shares the statement's lines."""
        end = self.span(statement)[1]
        tail = self.text[end : self.line_start((statement.end_lineno or statement.lineno) + 1)]
        return not self.indent(statement).strip() and tail.lstrip(" \t")[:1] in (
            "",
            "#",
            "\r",
            "\n",
        )

    def delete_lines(self, statement: ast.stmt) -> None:
        """Remove the statement's lines, a trailing comment on them included."""
        self.splice(
            self.line_start(first_line(statement)),
            self.line_start((statement.end_lineno or statement.lineno) + 1),
            "",
        )

    def rendered(self, start: int, end: int) -> str:
        """The text between two offsets with the edits inside it applied."""
        inside = [e for e in self._edits if start <= e.start and e.end <= end]
        return _spliced(self.text, inside, start, end)

    def new_line(self, offset: int) -> int:
        """The 1-based line that a place has once the edits that begin before it are made."""
        added = sum(
            e.text.count("\n") - self.text.count("\n", e.start, e.end)
            for e in self._edits
            if e.start < offset
        )
        return 1 + self.text.count("\n", 0, offset) + added

    def fold(self, call: ast.Call) -> None:
        """Lay a call out again where its edits made a line too long; comments forbid it."""
        start, end = self.span(call)
        text = self.rendered(start, end)
        line = self.text[self.line_start(call.lineno) : start]
        longest = max(len(part) for part in (line + text).splitlines())
        if longest <= LINE_LENGTH or "#" in text or text == self.text[start:end]:
            return
        indent = line[: len(line) - len(line.lstrip())]
        folded = _folded(text, indent, self.newline)
        self._edits = [e for e in self._edits if not (start <= e.start and e.end <= end)]
        self.splice(start, end, folded)

    def apply(self) -> str:
        """The whole text with every edit in it."""
        return _spliced(self.text, self._edits, 0, len(self.text))


def first_line(statement: ast.stmt) -> int:
    """The statement's first line, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    lines: list[int] = [d.lineno for d in decorators]
    return min([statement.lineno, *lines])


def _spliced(text: str, edits: list[_Edit], start: int, end: int) -> str:
    pieces: list[str] = []
    place = start
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < place:
            raise OverlapError(f"edits overlap at offset {edit.start}")
        pieces += [text[place : edit.start], edit.text]
        place = edit.end
    pieces.append(text[place:end])
    return "".join(pieces)


def _folded(text: str, indent: str, newline: str) -> str:
    """A call with its arguments on a line of their own, or one on each where that is too long."""
    call = parse_expression(text).body
    assert isinstance(call, ast.Call)
    parts = call_parts(call)
    sources = [ast.get_source_segment(text, part) or "" for part in parts]
    head = ast.get_source_segment(text, call.func) or ""
    inner = indent + "    "
    together = inner + ", ".join(sources)
    if len(together) <= LINE_LENGTH:
        return f"{head}({newline}{together}{newline}{indent})"
    lines = "".join(f"{inner}{source},{newline}" for source in sources)
    return f"{head}({newline}{lines}{indent})"


def call_parts(call: ast.Call) -> list[ast.expr | ast.keyword]:
    """Every argument of a call, in text order."""
    parts: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    return sorted(parts, key=lambda part: (part.lineno, part.col_offset))
