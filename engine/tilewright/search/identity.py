"""The identity of a program: equal for texts that differ in comments, layout or local names."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from tilewright.evaluation.model import text_hash
from tilewright.python_syntax import parse

_READS_NAMES = {"locals", "globals", "vars", "eval", "exec", "dir"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Documented = _Function | ast.ClassDef | ast.Module
_Scope = _Function | ast.Lambda | ast.ClassDef


@lru_cache(maxsize=1024)
def program_hash(text: str) -> str:
    """A hash without comments, layout, docstrings and the names of local variables.

    A text that does not parse has the hash of its bytes.
    """
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text_hash(text)
    _drop_docstrings(tree)
    if not _reads_names(tree):
        for function in _functions(tree):
            _number_locals(function)
    return text_hash(ast.dump(tree))


def _functions(tree: ast.AST) -> Iterator[_Function]:
    """Functions in which no other function is nested; a nested one may read what is around it."""
    for node in ast.walk(tree):
        if isinstance(node, _Function) and not any(
            isinstance(inner, _Scope) for inner in ast.walk(node) if inner is not node
        ):
            yield node


def _reads_names(tree: ast.AST) -> bool:
    return any(isinstance(n, ast.Name) and n.id in _READS_NAMES for n in ast.walk(tree))


def _drop_docstrings(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, _Documented):
            continue
        first = node.body[0] if node.body else None
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            node.body[:1] = [] if node.body[1:] else [ast.Pass()]


def _number_locals(function: _Function) -> None:
    """Name local variables by the order in which they are first assigned."""
    shared = {
        name
        for node in ast.walk(function)
        if isinstance(node, (ast.Global, ast.Nonlocal))
        for name in node.names
    }
    arguments = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    numbers: dict[str, str] = {}
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and node.id not in shared | arguments
        ):
            numbers.setdefault(node.id, f"local {len(numbers)}")
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in numbers:
            node.id = numbers[node.id]
