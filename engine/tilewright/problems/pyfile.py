"""What a Python file defines at its top level, read from its text and never by import."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.problems.model import Entry, EntryKind
from tilewright.problems.nodes import read_text
from tilewright.python_syntax import parse

KERNELBENCH_FUNCTIONS = frozenset({"get_inputs", "get_init_inputs"})


@dataclass(frozen=True)
class Arity:
    """How many arguments by position a callable takes: ``most`` is None for any number."""

    names: tuple[str, ...]
    least: int
    most: int | None

    def takes(self, count: int) -> bool:
        """Whether so many arguments can be passed."""
        return self.least <= count and (self.most is None or count <= self.most)


@dataclass(frozen=True)
class PythonFile:
    """Top-level names of a file. ``jitted`` functions carry a ``jit`` decorator: no entries.

    ``arities``: of functions and of models' ``forward``, where no decorator may have changed them.
    """

    path: str
    text: str
    functions: tuple[str, ...]
    classes: tuple[str, ...]
    jitted: tuple[str, ...]
    parses: bool
    arities: Mapping[str, Arity] = field(default_factory=dict)

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
    called: dict[str, list[ast.FunctionDef]] = {}
    for node in _top_level(tree.body):
        if isinstance(node, ast.ClassDef):
            classes.append(node.name)
            called.setdefault(node.name, []).extend(_forwards(node))
        elif isinstance(node, ast.FunctionDef):
            (jitted if _is_jitted(node) else functions).append(node.name)
            called.setdefault(node.name, []).append(node)
    arities = {
        name: _arity(nodes[0], bound=name in classes)
        for name, nodes in called.items()
        if len(nodes) == 1 and not nodes[0].decorator_list
    }
    return PythonFile(
        str(path), text, _unique(functions), _unique(classes), _unique(jitted), True, arities
    )


def _forwards(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "forward"]


def _arity(node: ast.FunctionDef, *, bound: bool) -> Arity:
    """``bound``: without the first parameter, which is the object itself."""
    args = node.args
    names = tuple(arg.arg for arg in (*args.posonlyargs, *args.args))[bound:]
    least = max(len(names) - len(args.defaults), 0)
    return Arity(names, least, None if args.vararg else len(names))


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
