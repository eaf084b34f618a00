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
from tilewright.source.node_memo import share_text_memo

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
    """Where a function or class is in the lines of its text, counted from 0."""

    name: str
    line: int
    column: int
    end_line: int
    end_column: int

    @staticmethod
    def from_node(node: ast.FunctionDef | ast.ClassDef, first: int) -> "Shape":
        """The shape of what stands in a text that begins in line ``first``."""
        last, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        return Shape(node.name, node.lineno - first, node.col_offset, last - first, end)


class LateFunction(ast.FunctionDef):
    """A function at module level of which the place and the name are known."""


LateFunction.__name__ = ast.FunctionDef.__name__  # Visitors and dumps go by it.
has_late_parts(LateFunction, (field for field in ast.FunctionDef._fields if field != "name"))


class LateClass(ast.ClassDef):
    """A class at module level of which the place, the name and the methods are known."""


LateClass.__name__ = ast.ClassDef.__name__
has_late_parts(LateClass, (field for field in ast.ClassDef._fields if field != "name"))


@dataclass(frozen=True)
class ClassShape:
    """Where a class and its methods are. Nothing else in it defines, imports or keeps anything.

    Attributes:
        methods: with the number of each among the statements of the class.
        memos: of each method the table of what follows from its text.
    """

    whole: Shape
    methods: tuple[tuple[int, Shape], ...]
    memos: tuple[dict[object, Any], ...]

    @staticmethod
    def from_node(node: ast.ClassDef, first: int) -> "ClassShape":
        """The shape of a class whose text begins in line ``first``."""
        functions = [(n, f) for n, f in enumerate(node.body) if isinstance(f, ast.FunctionDef)]
        memos = tuple(dict[object, Any]() for _ in functions)
        for (_, function), memo in zip(functions, memos, strict=True):
            share_text_memo(function, memo)
        methods = tuple((n, Shape.from_node(f, first)) for n, f in functions)
        return ClassShape(Shape.from_node(node, first), methods, memos)


def late_function(text: str, first: int, shape: Shape) -> LateFunction:
    """The function that stands in a text, which begins in line ``first`` of its file."""
    node = _placed(LateFunction, first, shape)
    make_late(node, partial(_parsed, text, first))
    return node


def late_class(text: str, first: int, shape: ClassShape) -> tuple[LateClass, list[LateFunction]]:
    """The class that stands in a text, which begins in line ``first``, and its methods."""
    parts = _ClassParts(text, first)
    methods: list[LateFunction] = []
    for (number, place), memo in zip(shape.methods, shape.memos, strict=True):
        method = _placed(LateFunction, first, place)
        make_late(method, partial(parts.method_parts, number))
        share_text_memo(method, memo)
        methods.append(method)
    node = _placed(LateClass, first, shape.whole)
    numbers = (number for number, _ in shape.methods)
    make_late(node, partial(parts.class_parts, dict(zip(numbers, methods, strict=True))))
    return node, methods


class _ClassParts:
    """The syntax of a class, parsed when the first part of it is asked for."""

    def __init__(self, text: str, first: int) -> None:
        self._text, self._first = text, first
        self._parts: dict[str, Any] | None = None

    def method_parts(self, number: int) -> Mapping[str, Any]:
        """The fields of the method that is a statement of the class."""
        method: ast.stmt = self._known()["body"][number]
        return method.__dict__

    def class_parts(self, methods: Mapping[int, ast.stmt]) -> Mapping[str, Any]:
        """The fields of the class, with these objects for its methods."""
        parts = self._known()
        body = [methods.get(number, node) for number, node in enumerate(parts["body"])]
        return {**parts, "body": body}

    def _known(self) -> Mapping[str, Any]:
        if self._parts is None:
            self._parts = dict(_parsed(self._text, self._first))
        return self._parts


def _placed(kind: type[N], first: int, shape: Shape) -> N:
    """A function or class with its name and place alone."""
    node = kind.__new__(kind)
    node.__dict__.update(
        name=shape.name,
        lineno=first + shape.line,
        col_offset=shape.column,
        end_lineno=first + shape.end_line,
        end_col_offset=shape.end_column,
    )
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
