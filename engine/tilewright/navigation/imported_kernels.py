"""A file together with the kernels that it imports: their definitions stand at its end.

With a kernel comes what its decorators and body name in its own file: configurations, helpers,
constants. The analysis of one file then answers for launches of kernels that another one defines.
Kernels that are named through their module (``kernels.scale[grid]``) are not followed.
"""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.navigation.imports import Sources, imports_of, names_given
from tilewright.navigation.scopes import names_in
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.source.text import LineIndex

_LAUNCH = re.compile(r"\b(\w+)[ \t]*\[(?:[^\[\]]|\[[^\[\]]*\])*\]\s*\(")
_FROM = re.compile(r"^[ \t]*from[ \t]+\S+[ \t]+import\s+(?:\(([^)]*)\)|(.*))", re.MULTILINE)
_WORD = re.compile(r"\w+")
_Giving = Mapping[str, list[ast.stmt]]


@dataclass(frozen=True)
class ImportedKernel:
    """A kernel that a file has from another one: its name there, and where it is defined."""

    name: str
    path: Path
    line: int


@dataclass(frozen=True)
class WithImported:
    """A file with the kernels that it imports and launches.

    Attributes:
        module: the text, and the definitions at its end.
        lines: how many lines are the file's own.
    """

    module: Module
    lines: int
    kernels: tuple[ImportedKernel, ...]


def with_imported_kernels(sources: Sources, path: Path) -> WithImported | None:
    """A file with the kernels it imports and seems to launch; None where there are none."""
    text = sources.text(path) or ""
    names = _launched_imports(text)
    tree = sources.tree(path) if names else None
    if tree is None:
        return None
    homes: dict[Path, dict[str, str]] = {}
    for name in sorted(names & {_bound(alias) for _, alias in sources.imports(path)}):
        found = sources.definition(path, name)
        if found is not None and found.path != path:
            homes.setdefault(found.path, {}).setdefault(found.name, name)
    taken = {*names_given(tree), *(_bound(alias) for _, alias in sources.imports(path))}
    same = {_meaning(*each) for each in sources.imports(path)}
    kernels: list[ImportedKernel] = []
    ends: list[str] = []
    for home, wanted in homes.items():
        giving = _giving(sources.tree(home))
        nodes = {name: node for name in wanted if (node := _kernel(giving, name))}
        if nodes:
            local = {name: wanted[name] for name in nodes}
            lines = LineIndex(sources.text(home) or "").lines
            ends += _renamed(_needed(giving, nodes), lines, local, taken, same)
            kernels += (ImportedKernel(local[n], home, node.lineno) for n, node in nodes.items())
    if not kernels:
        return None
    combined = parse_module("\n".join((text, *ends, "")), str(path))
    return WithImported(combined, len(LineIndex(text).lines), tuple(kernels))


def _launched_imports(text: str) -> set[str]:
    """The names that look as if they were imported and launched."""
    launched = set(_LAUNCH.findall(text)) if "import" in text else set()
    if not launched:
        return set()
    return launched & {
        word for each in _FROM.findall(text) for word in _WORD.findall("".join(each))
    }


def _giving(tree: ast.Module | None) -> _Giving:
    """The statements of a module by the names that they give a value, in blocks or not."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in tree.body if tree is not None else ():
        for name in _given_by(statement):
            found.setdefault(name, []).append(statement)
    return found


def _given_by(statement: ast.stmt) -> set[str]:
    given = set(names_given(ast.Module([statement], [])))
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return given
    return given | {_bound(alias) for _, alias in imports_of(statement)}


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _meaning(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> tuple[str, str, str | None]:
    """What an import gives a name: equal for equal absolute imports."""
    if isinstance(node, ast.Import):
        return _bound(alias), alias.name if alias.asname else "", None
    return _bound(alias), "." * node.level + (node.module or ""), alias.name


def _kernel(giving: _Giving, name: str) -> ast.FunctionDef | None:
    """The function of Triton's that a name of a module is, and nothing else."""
    nodes = [
        node
        for statement in giving.get(name, ())
        for node in ast.walk(statement)
        if (isinstance(node, ast.FunctionDef) and node.name == name)
        or (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store))
    ]
    only = nodes[0] if len(nodes) == 1 else None
    is_kernel = isinstance(only, ast.FunctionDef) and any(map(_is_jit, only.decorator_list))
    return only if isinstance(only, ast.FunctionDef) and is_kernel else None


def _is_jit(decorator: ast.expr) -> bool:
    func = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(func, ast.Attribute | ast.Name) and ast.unparse(func).endswith("jit")


def _needed(giving: _Giving, names: Collection[str]) -> list[ast.stmt]:
    """The statements that some names of a module depend on, in their order."""
    seen, left = set(names), list(names)
    found: dict[tuple[int, int], ast.stmt] = {}
    while left:
        for statement in giving.get(left.pop(), ()):
            found[statement.lineno, statement.col_offset] = statement
            new = (names_in(statement) & giving.keys()) - seen
            seen |= new
            left += new
    return [found[place] for place in sorted(found)]


def _renamed(
    statements: Collection[ast.stmt],
    lines: Sequence[str],
    local: Mapping[str, str],
    taken: set[str],
    same: Collection[tuple[str, str, str | None]],
) -> Iterator[str]:
    """Statements as text: kernels by their names here, others by names that are not taken yet.

    The names are added to ``taken``. What both files import alike (``same``) keeps its name.
    """
    given = {name for each in statements for name in _given_by(each)}
    alike = {
        _bound(alias)
        for each in statements
        for node, alias in imports_of(each)
        if _meaning(node, alias) in same and not getattr(node, "level", 0)
    }
    names = {name: _free(name, taken) for name in sorted(given - local.keys() - alike)}
    names.update(local)
    taken |= set(names.values())
    changed = {old: new for old, new in names.items() if old != new}
    for each in statements:
        yield _text_of(each, lines, changed)


def _text_of(statement: ast.stmt, lines: Sequence[str], names: Mapping[str, str]) -> str:
    """The lines of a statement with other names in them."""
    decorators = getattr(statement, "decorator_list", ())
    first = min([statement.lineno, *(each.lineno for each in decorators)])
    found = [line.encode() for line in lines[first - 1 : statement.end_lineno]]
    # From the end, so that the places of the others stay.
    for line, column, old, new in sorted(_places(statement, names), reverse=True):
        text = found[line - first]
        if text[column:].startswith(old.encode()):
            found[line - first] = text[:column] + new.encode() + text[column + len(old.encode()) :]
    return b"\n".join(found).decode()


def _places(statement: ast.stmt, names: Mapping[str, str]) -> Iterator[tuple[int, int, str, str]]:
    """Lines and columns (in bytes) of names to replace, with the names before and after.

    The parameters of functions keep theirs.
    """
    own: set[int] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef) and names:
            parameters = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
            inner = (n for part in node.body for n in ast.walk(part) if isinstance(n, ast.Name))
            own |= {id(n) for n in inner if n.id in parameters}
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name) if name in names and id(node) not in own:
                yield node.lineno, node.col_offset, name, names[name]
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if name in names:
                before = "def " if isinstance(node, ast.FunctionDef) else "class "
                yield node.lineno, node.col_offset, before + name, before + names[name]
            case ast.alias(name=name, asname=None) if name in names:
                yield node.lineno, node.col_offset, name, f"{name} as {names[name]}"
            case ast.alias(name=name, asname=str(given)) if given in names:
                written = f"{name} as "
                yield node.lineno, node.col_offset, written + given, written + names[given]


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name = f"{name}_"
    return name
