"""A constexpr of a kernel outside the kernel's own file: launches there, and decorators made there.

Another file is read together with a stand-in of the kernel at its end, which has the kernel's
parameters and no body: the search of one file then answers for the launches and calls in it, and
what it cannot explain is an obstacle there as well.
"""

import ast
import copy
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewright.navigation.imports import Definition, Sources, imports_of, names_given
from tilewright.navigation.kernels import kernel_uses
from tilewright.navigation.mentions import with_parents
from tilewright.navigation.model import Refusal, Role, Use, Uses
from tilewright.navigation.parameters import parameter_uses
from tilewright.navigation.rename import renamable, rename
from tilewright.navigation.scopes import Scope, reached
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module
from tilewright.source.text import LineIndex

# What code asks a name for that depends on how it is spelled.
_OF_SPELLING = frozenset(
    ("startswith", "endswith", "removeprefix", "removesuffix", "isupper", "islower", "istitle")
) | frozenset(("match", "fullmatch", "search", "findall", "finditer"))


@dataclass(frozen=True)
class OtherFile:
    """A file that imports a kernel: its text with the stand-in, a kernel of it, at its end.

    ``lines`` are the file's own, without those of the stand-in.
    """

    path: Path
    module: Module
    kernel: Kernel
    lines: int

    def own(self, uses: Iterable[Use]) -> tuple[Use, ...]:
        """The uses that stand in the file itself."""
        return tuple(use for use in uses if use.range.line <= self.lines)


@dataclass(frozen=True)
class Everywhere:
    """The places of a constexpr: in its kernel's file, and in others by path."""

    home: Uses
    others: Mapping[Path, tuple[Use, ...]]


def places_everywhere(
    sources: Sources, module: Module, kernel: Kernel, name: str, paths: Iterable[Path]
) -> Everywhere | Refusal:
    """Every place of a constexpr, where all of them are certain.

    Args:
        paths: the other files that mention the kernel.
    """
    fault = decorator_fault(sources, module, kernel, name)
    home = fault or renamable(module, kernel, name, decorated=True)
    if isinstance(home, Refusal):
        return home
    return _with_others(sources, module, kernel, name, paths, home, None)


def rename_everywhere(
    sources: Sources, module: Module, kernel: Kernel, name: str, new: str, paths: Iterable[Path]
) -> Everywhere | Refusal:
    """The places to write a new name at, in every file; see ``places_everywhere``."""
    fault = decorator_fault(sources, module, kernel, name)
    fault = fault or decorator_fault(sources, module, kernel, new)
    home = fault or rename(module, kernel, name, new, decorated=True)
    if isinstance(home, Refusal):
        return home
    return _with_others(sources, module, kernel, name, paths, home, new)


def uses_elsewhere(
    sources: Sources, module: Module, kernel: Kernel, name: str | None, paths: Iterable[Path]
) -> dict[Path, tuple[Use, ...]]:
    """The certain places of a kernel, or of a parameter of it, in other files.

    Nothing says that they are all: of a file in which it is not sure what is meant there are none.
    """
    places: dict[Path, tuple[Use, ...]] = {}
    for path in paths:
        other = OtherSearch(sources, module, kernel, path, name).read()
        if not isinstance(other, OtherFile):
            continue
        if name is None:
            found = kernel_uses(other.module, other.kernel)
        else:
            found = parameter_uses(other.module, other.kernel, name)
        if uses := other.own(found.uses):
            places[path] = uses
    return places


def _with_others(
    sources: Sources,
    module: Module,
    kernel: Kernel,
    name: str,
    paths: Iterable[Path],
    home: Uses,
    new: str | None,
) -> Everywhere | Refusal:
    tuned = any(use.role is Role.CONFIGURATION for use in home.uses)
    places: dict[Path, tuple[Use, ...]] = {}
    for path in paths:
        other = OtherSearch(sources, module, kernel, path, name, tuned).read()
        if other is None or isinstance(other, Refusal):
            if other is not None:
                return other
            continue
        found = (
            renamable(other.module, other.kernel, name)
            if new is None
            else rename(other.module, other.kernel, name, new)
        )
        if isinstance(found, Refusal):
            return Refusal(f"{path}, {found.reason}")
        if uses := other.own(found.uses):
            places[path] = uses
    return Everywhere(home, places)


class OtherSearch:
    """The search of one other file for a kernel.

    Args:
        name: a parameter of the kernel; a string with the kernel's name counts where the file has
            that as well.
        tuned: a configuration gives the parameter its value.
    """

    def __init__(
        self,
        sources: Sources,
        module: Module,
        kernel: Kernel,
        path: Path,
        name: str | None = None,
        tuned: bool = False,
    ) -> None:
        self._sources = sources
        self._kernel = kernel
        self._name = name
        self._tuned = tuned
        self._path = path
        self._home = Path(module.path)
        self._names = {kernel.name, *kernel.aliases}
        self._text = sources.text(path) or ""

    def read(self) -> OtherFile | Refusal | None:
        """The file with the kernel; None where it means another one of that name."""
        tree = self._sources.tree(self._path)
        if tree is None:
            return self._refused(1, f"it mentions {self._kernel.name} and does not parse")
        bound = set(self._bound(tree))
        local = {one for one in bound if isinstance(one, str)}
        unsure = next((one for one in bound if isinstance(one, Refusal)), None)
        if unsure is not None or not local:
            return unsure or self._loose(tree)
        if len(local) > 1 or self._kernel.aliases:
            return self._refused(1, f"{self._kernel.name} has several names there")
        return self._searched(local.pop())

    def _refused(self, line: int, reason: str) -> Refusal:
        return Refusal(f"{self._path}:{line}: {reason}")

    def _bound(self, tree: ast.Module) -> Iterator[str | Refusal]:
        """The names that the kernel has in the file."""
        for node, alias in imports_of(tree):
            if alias.name not in self._names or not isinstance(node, ast.ImportFrom):
                continue
            source = self._sources.module_of(self._path, node)
            if source is None:
                if self._may_be_ours(node):
                    yield self._refused(node.lineno, f"where {alias.name} comes from is not known")
                continue
            found = self._sources.definition(source, alias.name)
            if found is None:
                yield self._refused(node.lineno, f"where {alias.name} comes from is not known")
            elif found == Definition(self._home, alias.name):
                yield alias.asname or alias.name

    def _may_be_ours(self, node: ast.ImportFrom) -> bool:
        """Whether an import that is not found may still be of the kernel's file."""
        parts = (node.module or "").split(".")
        return bool(node.level) or parts[0] in self._home.parts or parts[-1] == self._home.stem

    def _loose(self, tree: ast.Module) -> Refusal | None:
        """What may mean the kernel although the file imports no such name."""
        imported = {alias.asname or alias.name for _, alias in imports_of(tree)}
        from_star = self._names - names_given(tree) - imported if "*" in imported else set()
        for node in ast.walk(tree):
            why = self._may_mean(node, from_star)
            if why is not None:
                return self._refused(getattr(node, "lineno", 1), why)
        return None

    def _may_mean(self, node: ast.AST, from_star: Collection[str]) -> str | None:
        match node:
            case ast.Attribute(value=owner, attr=attr) if attr in self._names:
                return None if self._of_another(owner) else f".{attr} may be it"
            case ast.Name(id=name) if name in from_star:
                found = self._sources.definition(self._path, name)
                if found is None or found.path == self._home:
                    return f"{name} may come from an import of *"
            case ast.Constant(value=str(name)) if name in self._names and self._has_name:
                return f"the string {name!r} may be it"
        return None

    @property
    def _has_name(self) -> bool:
        name = self._name
        return name is not None and bool(re.search(rf"\b{re.escape(name)}\b", self._text))

    def _of_another(self, owner: ast.expr) -> bool:
        """Whether an attribute is one of ``self``, or of a module that has its own."""
        if not isinstance(owner, ast.Name):
            return False
        module = self._sources.module_as(self._path, owner.id)
        if module is None:
            return owner.id in ("self", "cls")
        found = [self._sources.definition(module, name) for name in self._names]
        return all(one is not None and one.path != self._home for one in found)

    def _searched(self, local: str) -> OtherFile | Refusal:
        text = self._text + stand_in(self._kernel, self._name, local, self._tuned)
        combined = parse_module(text, str(self._path))
        kernel = next((k for k in reversed(combined.kernels) if k.name == local), None)
        if kernel is None:
            return self._refused(1, f"{local} could not be read")
        lines = len(LineIndex(self._text).lines)
        return OtherFile(self._path, combined, kernel, lines)


def stand_in(kernel: Kernel, name: str | None, local: str, tuned: bool) -> str:
    """A kernel with the same parameters; a configuration gives ``name`` where one does at home."""
    arguments = copy.deepcopy(kernel.node.args)
    constexprs = set(kernel.constexprs)
    constant = ast.parse("triton.language.constexpr", mode="eval").body
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = constant if argument.arg in constexprs else None
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            extra.annotation = None
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [each and ast.Constant(None) for each in arguments.kw_defaults]
    tuning = f"@triton.autotune([triton.Config({{{name!r}: 1}})], [])\n" if tuned else ""
    return (
        "\n\nimport triton\nimport triton.language\n"
        f"{tuning}@triton.jit\ndef {local}({ast.unparse(arguments)}):\n    pass\n"
    )


def decorator_fault(sources: Sources, module: Module, kernel: Kernel, name: str) -> Refusal | None:
    """Why a decorator that is not Triton's may use a parameter's name; None where none can.

    One is followed to its definition. It hands names on as they come where neither its file nor
    those that it imports have the name, and its file asks no name how it is spelled.
    """
    left = list(kernel.other_decorators)
    for node in kernel.node.decorator_list:
        func = node.func if isinstance(node, ast.Call) else node
        dotted = module.names.resolve(func) or ast.unparse(node)
        if dotted not in left:
            continue
        left.remove(dotted)
        fault = _given_name(module, node, name) or _definition_fault(sources, module, func, name)
        if fault is not None:
            return Refusal(f"the decorator {dotted} may use the names of the parameters: {fault}")
    if left:
        return Refusal(f"the decorator {left[0]} may use the names of the parameters")
    return None


def _given_name(module: Module, node: ast.expr, name: str) -> str | None:
    """Where a decorator is given the name in another way than by a configuration of Triton's."""
    for root in reached([node], [Scope(module.tree.body)]):
        parents = {id(inner): above for inner, above in with_parents(root)}
        for inner in ast.walk(root):
            says = isinstance(inner, ast.Constant) and inner.value == name
            if says and not _in_configuration(module, inner, parents):
                return f"line {inner.lineno} gives it the string {name!r}"  # type: ignore[attr-defined]
    return None


def _in_configuration(module: Module, node: ast.AST, parents: dict[int, ast.AST | None]) -> bool:
    above = parents.get(id(node))
    while above is not None:
        if module.names.is_call(above, "triton.Config"):
            return True
        above = parents.get(id(above))
    return False


def _definition_fault(sources: Sources, module: Module, func: ast.expr, name: str) -> str | None:
    if not isinstance(func, ast.Name):
        return "its definition is not looked for"
    found = sources.definition(Path(module.path), func.id)
    tree = None if found is None else sources.tree(found.path)
    if found is None or tree is None:
        return "its definition is not found"
    if found.path == Path(module.path):
        return "it is defined in the same file"
    word = re.compile(rf"\b{re.escape(name)}\b")
    read = {found.path: sources.text(found.path) or ""}
    for node, alias in imports_of(tree):
        path = _imported_file(sources, found.path, node, alias)
        if path is not None and path != Path(module.path):
            read[path] = sources.text(path) or ""
    for path, text in read.items():
        if place := word.search(text):
            line = text.count("\n", 0, place.start()) + 1
            return f"{path}:{line} has {name}"
    asked = (n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in _OF_SPELLING)
    first = next(asked, None)
    return None if first is None else f"{found.path}:{first.lineno} asks how a name is spelled"


def _imported_file(
    sources: Sources, path: Path, node: ast.Import | ast.ImportFrom, alias: ast.alias
) -> Path | None:
    if isinstance(node, ast.Import):
        return sources.module_named(path, alias.name.split("."))
    module = sources.module_of(path, node)
    if module is None:
        return None
    found = sources.definition(module, alias.name)
    return module if found is None else found.path
