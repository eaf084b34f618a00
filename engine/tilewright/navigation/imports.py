"""Where a name that a file imports is defined: through packages that hand it on; nothing is run.

Modules are looked for as Python would find them from the file: relative to its package, else below
one of the folders above it or of the roots. What lies elsewhere, such as in the interpreter's
packages, is not found.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.navigation.scopes import statements_of
from tilewright.python_syntax import parse
from tilewright.source.tree import PARSE_ERRORS

_MOST_STEPS = 8
_Imported = tuple[ast.Import | ast.ImportFrom, ast.alias]


@dataclass(frozen=True)
class Definition:
    """The file that gives a name its value by ``def``, ``class`` or an assignment."""

    path: Path
    name: str


class Sources:
    """Files as they are read: what they import and define, each parsed once.

    Args:
        read: the text of a file; None where there is none.
        roots: folders that absolute imports may begin at, in addition to those above a file.
    """

    def __init__(self, read: Callable[[Path], str | None], roots: Sequence[Path] = ()) -> None:
        self._read = read
        self._roots = tuple(roots)
        self._texts: dict[Path, str | None] = {}
        self._trees: dict[Path, ast.Module | None] = {}
        self._imports: dict[Path, tuple[_Imported, ...]] = {}
        self._given: dict[Path, frozenset[str]] = {}

    def text(self, path: Path) -> str | None:
        """The text of a file."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def tree(self, path: Path) -> ast.Module | None:
        """The syntax tree of a file; None where there is no file, or it does not parse."""
        if path not in self._trees:
            text = self.text(path)
            try:
                self._trees[path] = None if text is None else parse(text)
            except PARSE_ERRORS:
                self._trees[path] = None
        return self._trees[path]

    def imports(self, path: Path) -> tuple[_Imported, ...]:
        """Every name that a file imports."""
        if path not in self._imports:
            tree = self.tree(path)
            self._imports[path] = () if tree is None else tuple(imports_of(tree))
        return self._imports[path]

    def _names_given(self, path: Path) -> frozenset[str]:
        if path not in self._given:
            tree = self.tree(path)
            self._given[path] = frozenset() if tree is None else names_given(tree)
        return self._given[path]

    def definition(self, path: Path, name: str) -> Definition | None:
        """Where a name of a file gets its value; None where that is not certain."""
        return self._definition(path, name, _MOST_STEPS)

    def _definition(self, path: Path, name: str, steps: int) -> Definition | None:
        if self.tree(path) is None or not steps:
            return None
        given = name in self._names_given(path)
        imported = [each for each in self.imports(path) if _local(each[1]) == name]
        if given:
            return None if imported else Definition(path, name)
        if imported:
            found = {self._imported(path, *each, steps) for each in imported}
            return found.pop() if len(found) == 1 else None
        return self._of_star(path, name, steps)

    def _imported(
        self, path: Path, node: ast.Import | ast.ImportFrom, alias: ast.alias, steps: int
    ) -> Definition | None:
        module = self.module_of(path, node) if isinstance(node, ast.ImportFrom) else None
        return None if module is None else self._definition(module, alias.name, steps - 1)

    def _of_star(self, path: Path, name: str, steps: int) -> Definition | None:
        """The one definition that the file's ``import *`` bring."""
        modules = [
            self.module_of(path, node)
            for node, alias in self.imports(path)
            if alias.name == "*" and isinstance(node, ast.ImportFrom)
        ]
        found = {
            definition
            for module in modules
            if module is not None
            and (definition := self._definition(module, name, steps - 1)) is not None
        }
        return found.pop() if len(found) == 1 and None not in modules else None

    def module_of(self, path: Path, node: ast.ImportFrom) -> Path | None:
        """The file that ``from ... import`` reads."""
        parts = (node.module or "").split(".") if node.module else []
        if node.level:
            above = path.parents[node.level - 1 : node.level]
            return next(
                (found for folder in above if (found := self._module_file(folder, parts))), None
            )
        return self.module_named(path, parts)

    def module_as(self, path: Path, name: str) -> Path | None:
        """The file of the module that a file calls by a name, by one import alone."""
        found = [one for one in self.imports(path) if _local(one[1]) == name]
        if len(found) != 1:
            return None
        node, alias = found[0]
        if isinstance(node, ast.Import):
            return self.module_named(path, alias.name.split("."))
        dotted = f"{node.module}.{alias.name}" if node.module else alias.name
        return self.module_of(path, ast.ImportFrom(dotted, [], node.level))

    def module_named(self, path: Path, parts: Sequence[str]) -> Path | None:
        """The file of an absolute dotted name, as seen from a file."""
        folders = dict.fromkeys((*path.parents, *self._roots))
        return next(
            (found for folder in folders if (found := self._module_file(folder, parts))), None
        )

    def _module_file(self, folder: Path, parts: Sequence[str]) -> Path | None:
        place = folder.joinpath(*parts)
        names = [place / "__init__.py"]
        if parts:
            names.insert(0, place.with_name(f"{place.name}.py"))
        return next((found for found in names if self.text(found) is not None), None)


def imports_of(root: ast.AST) -> Iterator[_Imported]:
    """Every name that a file or a statement imports, at its top or inside functions."""
    for node in ast.walk(root):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield node, alias


def names_given(tree: ast.Module) -> frozenset[str]:
    """The names that a file's own statements give a value at module level."""
    found: set[str] = set()
    for statement in statements_of(tree.body):
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=targets):
                found |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
                found.add(name)
    return frozenset(found)


def _local(alias: ast.alias) -> str:
    return alias.asname or alias.name


def package_root(path: Path) -> Path:
    """The folder that absolute imports of a file's package begin at."""
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder
