"""What has only moved is made again when someone asks for it.

The nodes of a syntax tree hold absolute lines, so that a statement on other lines needs nodes of
its own. Most functions below an edit are not looked into before the next one: all that is needed
of them follows from their text, and is moved along.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Any, TypeVar

from tilewright.python_syntax import parse_silently

N = TypeVar("N", bound=ast.AST)
_FIND = "tilewright_late"
_LOCK = RLock()


class _Part:
    """A field of a late object; one that is there hides this."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, one: object, owner: type[object]) -> object:
        if one is None:  # What the plain class says: some fields may be left out there.
            return getattr(owner.__base__, self._name)
        complete(one)
        return one.__dict__[self._name]


def has_late_parts(late: type[object], names: Iterable[str]) -> None:
    """Let a subclass look up some fields when they are asked for."""
    for name in names:
        setattr(late, name, _Part(name))


def make_late(one: object, find: Callable[[], Mapping[str, Any]]) -> None:
    """Let ``find`` say the fields of an object whose class has late parts."""
    one.__dict__[_FIND] = find


def complete(one: object) -> None:
    """Find the late parts of an object, which is one of the plain class from then on."""
    with _LOCK:
        find = one.__dict__.pop(_FIND, None)
        if find is None:  # Another thread was quicker.
            return
        one.__dict__.update(find())
        object.__setattr__(one, "__class__", one.__class__.__base__)


@dataclass(frozen=True)
class Shape:
    """Where a function is in the lines of its text, counted from 0."""

    name: str
    line: int
    column: int
    end_line: int
    end_column: int

    @staticmethod
    def from_node(node: ast.FunctionDef, first: int) -> "Shape":
        """The shape of a function whose text begins in line ``first``."""
        last, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        return Shape(node.name, node.lineno - first, node.col_offset, last - first, end)


class LateFunction(ast.FunctionDef):
    """A function at module level of which the place and the name are known."""


LateFunction.__name__ = ast.FunctionDef.__name__  # Visitors and dumps go by it.
has_late_parts(LateFunction, (field for field in ast.FunctionDef._fields if field != "name"))


def late_function(text: str, first: int, shape: Shape) -> LateFunction:
    """The function that stands in a text, which begins in line ``first`` of its file."""
    node = LateFunction.__new__(LateFunction)
    node.name = shape.name
    node.lineno, node.col_offset = first + shape.line, shape.column
    node.end_lineno, node.end_col_offset = first + shape.end_line, shape.end_column
    make_late(node, partial(_parsed, text, first))
    return node


def moved_copy(node: N, lines: int) -> N:
    """The same node so many lines below. Nodes without fields, as contexts, have no place."""
    copy = node.__class__.__new__(node.__class__)
    fields = copy.__dict__
    fields.update(node.__dict__)
    for name in node._fields:
        value = fields.get(name)
        if isinstance(value, list):
            fields[name] = [
                moved_copy(part, lines) if isinstance(part, ast.AST) else part for part in value
            ]
        elif isinstance(value, ast.AST) and value._fields:
            fields[name] = moved_copy(value, lines)
    if "lineno" in fields:
        fields["lineno"] += lines
        fields["end_lineno"] += lines
    return copy


def _parsed(text: str, first: int) -> Mapping[str, Any]:
    (found,) = parse_silently("\n" * (first - 1) + text).body
    return found.__dict__
