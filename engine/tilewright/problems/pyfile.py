"""What a Python file defines at its top level, read from its text and never by import."""

import ast
from dataclasses import dataclass
from pathlib import Path

from tilewright.problems.model import Entry, EntryKind
from tilewright.problems.nodes import read_text
from tilewright.python_syntax import parse

KERNELBENCH_FUNCTIONS = frozenset({"get_inputs", "get_init_inputs"})


@dataclass(frozen=True)
class PythonFile:
    """Top-level names of a file. ``jitted`` functions carry a ``jit`` decorator: no entries."""

    path: str
    text: str
    functions: tuple[str, ...]
    classes: tuple[str, ...]
    jitted: tuple[str, ...]
    parses: bool

    @property
    def is_kernelbench(self) -> bool:
        """``Model``, ``get_inputs`` and ``get_init_inputs`` are all here."""
        return "Model" in self.classes and set(self.functions) >= KERNELBENCH_FUNCTIONS

    def entry(self, name: str, path: str | None) -> Entry | None:
        """The callable of that name as an Entry at ``path``; None where the file has none."""
        if name in self.classes:
            return Entry(EntryKind.MODEL, name, path)
        if name in self.functions:
            return Entry(EntryKind.FUNCTION, name, path)
        return None

    @property
    def callables(self) -> tuple[str, ...]:
        """Names a spec could choose as its entry."""
        return (*self.classes, *self.functions)


def is_kernelbench(path: Path) -> bool:
    """Whether a file is a KernelBench module. Raises ProblemError."""
    text = read_text(path)
    may_be = all(name in text for name in KERNELBENCH_FUNCTIONS)
    return may_be and read_python(path).is_kernelbench


def read_python(path: Path) -> PythonFile:
    """What the file defines; a file that does not parse defines nothing. Raises ProblemError."""
    text = read_text(path)
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return PythonFile(str(path), text, (), (), (), parses=False)
    functions: list[str] = []
    classes: list[str] = []
    jitted: list[str] = []
    for node in _top_level(tree.body):
        if isinstance(node, ast.ClassDef):
            classes.append(node.name)
        elif isinstance(node, ast.FunctionDef):
            (jitted if _is_jitted(node) else functions).append(node.name)
    return PythonFile(
        str(path), text, _unique(functions), _unique(classes), _unique(jitted), parses=True
    )


def _unique(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _top_level(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements of a module, those under its own ``if`` and ``try`` included."""
    found: list[ast.stmt] = []
    for node in body:
        found.append(node)
        if isinstance(node, ast.If | ast.Try):
            found += _top_level(node.body) + _top_level(node.orelse)
    return found


def _is_jitted(node: ast.FunctionDef) -> bool:
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "")
        if name == "jit":
            return True
    return False
