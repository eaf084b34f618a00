"""Reads the imports of every module of the two packages from their text, importing nothing."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"tilewright": ROOT / "engine", "tilewright_server": ROOT / "server"}


@dataclass(frozen=True)
class Import:
    """One imported name, absolute; ``lazy`` if loading the module does not run it."""

    name: str
    line: int
    lazy: bool


@dataclass(frozen=True)
class SourceModule:
    """A module of ours: its dotted name, its file, its tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def area(self) -> str:
        """The package inside ``tilewright`` ("source", "cli"), a top file's name, or "server"."""
        parts = self.name.split(".")
        if parts[0] == "tilewright_server":
            return "server"
        return parts[1] if len(parts) > 1 else "tilewright"

    @property
    def place(self) -> str:
        return str(self.path.relative_to(ROOT))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree; every rule looks through them."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(_imports(self))


@cache
def all_modules() -> tuple[SourceModule, ...]:
    return tuple(
        _read(path, root)
        for root in PACKAGES.values()
        for path in sorted(root.rglob("*.py"))
        if "__pycache__" not in path.parts
    )


def _read(path: Path, root: Path) -> SourceModule:
    parts = list(path.relative_to(root).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    text = path.read_text(encoding="utf-8")
    return SourceModule(".".join(parts), path, text, ast.parse(text, str(path)))


def _imports(module: SourceModule) -> Iterator[Import]:
    later: set[int] = set()
    for node in module.nodes:
        if id(node) not in later and _is_run_later(node):
            later |= {id(inner) for inner in ast.walk(node)}
    for node in module.nodes:
        for name in _names(module, node):
            yield Import(name, node.lineno, id(node) in later)


def _is_run_later(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _names(module: SourceModule, node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        here = module.name.split(".")
        package = here if module.path.name == "__init__.py" else here[:-1]
        above = package[: len(package) - node.level + 1]
        base = ".".join([*above, *([node.module] if node.module else [])])
    # "from tilewright import targets" names a package of ours, not the top one.
    return [f"{base}.{a.name}" if _is_module(f"{base}.{a.name}") else base for a in node.names]


@cache
def _is_module(name: str) -> bool:
    root = PACKAGES.get(name.partition(".")[0])
    if root is None:
        return False
    path = root.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()
