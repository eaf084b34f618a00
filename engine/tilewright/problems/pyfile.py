"""What a Python file defines at its top level, read from its text and never by import."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.errors import InputError
from tilewright.problems.model import Entry, EntryKind
from tilewright.problems.nodes import unreadable
from tilewright.python_syntax import parse
from tilewright.textfile import python_text

_NKI_PACKAGES = ("neuronxcc", "nki")
_NKI_KERNELS = ("jit", "baremetal", "benchmark", "profile")
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
    """Top-level names of a file. ``jitted`` functions carry Triton's decorator: no entries.

    Attributes:
        nki_kernels: functions with a decorator of NKI, which are called like any function, so that
            ``functions`` has them as well.
        arities: of functions and of models' ``forward``, where no decorator may have changed them.
        constructors: of models' ``__init__``, likewise.
        launching: functions that launch a kernel of the file, themselves or by a function that they
            call, and are called by no other that does.
    """

    path: str
    text: str
    functions: tuple[str, ...]
    classes: tuple[str, ...]
    jitted: tuple[str, ...]
    parses: bool
    arities: Mapping[str, Arity] = field(default_factory=dict)
    constructors: Mapping[str, Arity] = field(default_factory=dict)
    launching: tuple[str, ...] = ()
    tree: ast.Module | None = None
    nki_kernels: tuple[str, ...] = ()

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
    text = _text(path)
    may_be = all(name in text for name in KERNELBENCH_FUNCTIONS)
    return may_be and read_python(path).is_kernelbench


def read_python(path: Path) -> PythonFile:
    """What the file defines; a file that does not parse defines nothing. Raises ProblemError."""
    return python_file(path, _text(path))


def python_file(path: Path, text: str) -> PythonFile:
    """What a file of this text defines."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return PythonFile(str(path), text, (), (), (), parses=False)
    functions: list[str] = []
    classes: list[str] = []
    jitted: list[str] = []
    called: dict[str, list[ast.FunctionDef]] = {}
    built: dict[str, list[ast.FunctionDef]] = {}
    of_nki = nki_names(tree)
    nki_kernels: list[str] = []
    for node in _top_level(tree.body):
        if isinstance(node, ast.ClassDef):
            classes.append(node.name)
            called.setdefault(node.name, []).extend(_methods(node, "forward"))
            built.setdefault(node.name, []).extend(_methods(node, "__init__"))
        elif isinstance(node, ast.FunctionDef):
            is_nki = _is_nki_kernel(node, of_nki)
            nki_kernels += [node.name] if is_nki else []
            (jitted if _is_jitted(node) and not is_nki else functions).append(node.name)
            called.setdefault(node.name, []).append(node)
    arities = {
        name: _arity(nodes[0], bound=name in classes)
        for name, nodes in called.items()
        if len(nodes) == 1 and (not nodes[0].decorator_list or name in nki_kernels)
    }
    hosts = [nodes[0] for name, nodes in called.items() if name in functions]
    return PythonFile(
        str(path),
        text,
        _unique(functions),
        _unique(classes),
        _unique(jitted),
        True,
        arities,
        {name: _arity(nodes[0], bound=True) for name, nodes in built.items() if len(nodes) == 1},
        _launching(hosts, frozenset(jitted)),
        tree,
        _unique(nki_kernels),
    )


def _launching(hosts: list[ast.FunctionDef], kernels: frozenset[str]) -> tuple[str, ...]:
    """The outermost of the functions that come to a launch of a kernel."""
    uses = {host.name: _names(host) - {host.name} for host in hosts}
    found = {host.name for host in hosts if _launched(host) & kernels}
    while more := {name for name, used in uses.items() if used & found} - found:
        found |= more
    inner = {used for name in found for used in uses[name]}
    return tuple(host.name for host in hosts if host.name in found - inner)


def _launched(host: ast.FunctionDef) -> set[str]:
    """The names before the brackets of ``kernel[grid](...)``, and of ``kernel.run(...)``."""
    calls = (node.func for node in ast.walk(host) if isinstance(node, ast.Call))
    held = (
        call.value
        for call in calls
        if isinstance(call, ast.Subscript)
        or (isinstance(call, ast.Attribute) and call.attr == "run")
    )
    return {one.id for one in held if isinstance(one, ast.Name)}


def _names(host: ast.FunctionDef) -> set[str]:
    return {node.id for node in ast.walk(host) if isinstance(node, ast.Name)}


def _methods(node: ast.ClassDef, name: str) -> list[ast.FunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == name]


def _text(path: Path) -> str:
    try:
        return python_text(path)
    except InputError as problem:
        raise unreadable(problem) from None


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


def nki_names(tree: ast.Module) -> frozenset[str]:
    """The local names that a file's imports bind to NKI or to a part of it."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = ((alias.name, alias.asname) for alias in node.names)
            found |= {
                bound or name.partition(".")[0]
                for name, bound in names
                if name.partition(".")[0] in _NKI_PACKAGES
            }
        elif isinstance(node, ast.ImportFrom):
            is_nki = not node.level and (node.module or "").partition(".")[0] in _NKI_PACKAGES
            found |= {alias.asname or alias.name for alias in node.names if is_nki}
    return frozenset(found)


def _is_nki_kernel(node: ast.FunctionDef, of_nki: frozenset[str]) -> bool:
    """Whether a decorator of NKI makes a function a kernel; ``trace`` marks a part of one."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        root = target
        while isinstance(root, ast.Attribute):
            root = root.value
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        if name in _NKI_KERNELS and isinstance(root, ast.Name) and root.id in of_nki:
            return True
    return False


def _is_jitted(node: ast.FunctionDef) -> bool:
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "")
        if name == "jit":
            return True
    return False
