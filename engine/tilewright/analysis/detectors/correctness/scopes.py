"""Which names a file, its module level and a kernel bind."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from tilewright.analysis.detectors.common import nodes_of
from tilewright.source.model import Module

_AT_RUN_TIME = ("globals()", "exec(", "sys.modules[", "import *")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_NAMING = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom),
    *(ast.Global, ast.Nonlocal, ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
)


def looks_names_up_at_run_time(module: Module) -> bool:
    """Whether names may come from a star import, ``globals()`` or ``exec``."""
    return any(map(module.lookup.says, _AT_RUN_TIME))


def bound_in_module(module: Module) -> frozenset[str]:
    """Names bound at module level, in whichever branch, and those declared global."""
    return _bound_in_module(module.tree, _declares_globals(module))


@lru_cache(maxsize=64)
def _bound_in_module(tree: ast.Module, global_lines: tuple[int, ...]) -> frozenset[str]:
    bound = bindings(tree, global_lines=global_lines)
    return frozenset(bound) | {"__name__", "__file__", "__doc__"}


def times_bound_in_module(module: Module) -> Mapping[str, int]:
    """How often each module-level name is bound."""
    return _times_bound(module.tree, _declares_globals(module))


@lru_cache(maxsize=64)
def _times_bound(tree: ast.Module, global_lines: tuple[int, ...]) -> Counter[str]:
    return Counter(bindings(tree, global_lines=global_lines))


def _declares_globals(module: Module) -> tuple[int, ...]:
    """The lines that may declare names global."""
    if not module.lookup.says("global "):
        return ()
    return tuple(n for n, line in enumerate(module.index.lines, 1) if "global " in line)


def bindings(tree: ast.Module, *, global_lines: tuple[int, ...]) -> Iterator[str]:
    """The same, and names that functions declare global on some of the lines."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        yield from _names(node)
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            if any(node.lineno <= n <= (node.end_lineno or n) for n in global_lines):
                yield from _declared_global(node)
        elif isinstance(node, ast.Assign | ast.Import | ast.ImportFrom):
            targets = node.targets if isinstance(node, ast.Assign) else ()
            pending.extend(targets)
        else:
            pending.extend(ast.iter_child_nodes(node))


@lru_cache(maxsize=4096)
def _declared_global(node: ast.AST) -> tuple[str, ...]:
    return tuple(
        n for inner in ast.walk(node) if isinstance(inner, ast.Global) for n in inner.names
    )


def bound_in_file(module: Module) -> frozenset[str]:
    """Names bound anywhere: what a nested kernel may see."""
    return _bound_below(module.tree)


@lru_cache(maxsize=64)
def _bound_below(node: ast.Module) -> frozenset[str]:
    return frozenset(name for inner in ast.walk(node) for name in _names(inner))


@lru_cache(maxsize=512)
def names_bound_in(function: ast.FunctionDef) -> frozenset[str]:
    """Parameters and local names of a function, in whichever branch."""
    return frozenset(name for inner in nodes_of(function) for name in _names(inner))


def _names(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if isinstance(node, ast.arg):
        return (node.arg,)
    return _named(node) if isinstance(node, _NAMING) else ()


def _named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import() | ast.ImportFrom():
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        case ast.Global() | ast.Nonlocal():
            yield from node.names
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)):
            yield name
