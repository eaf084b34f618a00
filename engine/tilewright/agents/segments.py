"""A file as its top-level statements, each with the bytes that belong to it."""

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.agents.answers import lines_of
from tilewright.python_syntax import parse

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What parsing a text raises that is not Python, or nested too deeply for it."""
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Segment:
    """Statements that share lines; mostly one.

    Attributes:
        before: blank lines and comments above it.
        text: its own lines.
        line: 1-based, of its first line, decorators included.
        names: what it defines or binds, where that is all it does.
        form: equal for segments that differ in comments and formatting alone.
    """

    before: str
    text: str
    line: int
    names: tuple[str, ...]
    form: str
    nodes: tuple[ast.stmt, ...]

    @property
    def last_line(self) -> int:
        return self.line + len(lines_of(self.text)) - 1

    @property
    def title(self) -> str:
        """Its first name, or its first line."""
        return self.names[0] if self.names else self.text.split("\n", 1)[0].strip()

    @property
    def is_import(self) -> bool:
        return all(isinstance(node, ast.Import | ast.ImportFrom) for node in self.nodes)

    @property
    def definition(self) -> Definition | None:
        node = self.nodes[0]
        return node if isinstance(node, Definition) else None


def segments(text: str) -> tuple[tuple[Segment, ...], str]:
    """The segments of a file, and what follows the last one.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it does not parse (``UNPARSABLE``).
    """
    lines = lines_of(text)
    found, done = [], 0
    for nodes in _sharing(parse(text).body):
        first = min(_first_line(node) for node in nodes) - 1
        last = max(node.end_lineno or node.lineno for node in nodes)
        found.append(
            Segment(
                before="".join(lines[done:first]),
                text="".join(lines[first:last]),
                line=first + 1,
                names=tuple(name for node in nodes for name in _names(node)),
                form="\n".join(map(ast.dump, nodes)),
                nodes=tuple(nodes),
            )
        )
        done = last
    return tuple(found), "".join(lines[done:])


def _sharing(body: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Statements in groups that share a line (``a = 1; b = 2``)."""
    group: list[ast.stmt] = []
    end = 0
    for node in body:
        if group and _first_line(node) > end:
            yield group
            group = []
        group.append(node)
        end = max(end, node.end_lineno or node.lineno)
    if group:
        yield group


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, Definition) else []
    return min(node.lineno, *(one.lineno for one in decorators)) if decorators else node.lineno


def _names(node: ast.stmt) -> tuple[str, ...]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
        case ast.Assign(targets=targets):
            parts = (part for target in targets for part in ast.walk(target))
            return tuple(part.id for part in parts if isinstance(part, ast.Name))
    return ()


def by_name(found: Iterable[Segment]) -> dict[str, list[Segment]]:
    """The segments that define or bind each name."""
    out: dict[str, list[Segment]] = {}
    for segment in found:
        for name in segment.names:
            out.setdefault(name, []).append(segment)
    return out


def paired(old: Sequence[Segment], new: Sequence[Segment]) -> dict[int, Segment]:
    """For positions in ``new``: the old segment of the same form, each one once, in order."""
    places: dict[str, deque[Segment]] = {}
    for segment in old:
        places.setdefault(segment.form, deque()).append(segment)
    return {
        n: places[segment.form].popleft()
        for n, segment in enumerate(new)
        if places.get(segment.form)
    }


def reads(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that statements read."""
    return frozenset(
        node.id
        for one in nodes
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )


def needed(start: Iterable[str], found: Sequence[Segment]) -> tuple[Segment, ...]:
    """The segments that define these names or are read by such, in the order of the file."""
    named = by_name(found)
    pending, seen = list(start), set[str]()
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += (other for s in named.get(name, ()) for other in reads(s.nodes))
    return tuple(segment for segment in found if seen.intersection(segment.names))
