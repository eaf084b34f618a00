"""Names with one value outside of a kernel: of the file, its classes and functions around."""

import ast
from collections.abc import Iterator, Mapping
from itertools import chain

from tilewright.source.environment import environment_of, touches
from tilewright.source.model import Kernel, Module
from tilewright.source.parse import module_constants


def constants_around(module: Module, kernel: Kernel) -> Mapping[str, ast.expr]:
    """Each name, ``Tiles.WIDTH`` of a class, with the expression it is given."""
    found = dict(module_constants(module.tree))
    for statement in module.tree.body:
        if isinstance(statement, ast.ClassDef):
            owned = _once(statement.body)
            found.update({f"{statement.name}.{name}": value for name, value in owned.items()})
    for function in _around(module.tree, kernel.node):
        given = function.args
        parameters = (*given.posonlyargs, *given.args, *given.kwonlyargs)
        found.update(_once(function.body))
        for parameter in parameters:
            found.pop(parameter.arg, None)
    return found


def _once(body: list[ast.stmt]) -> Mapping[str, ast.expr]:
    """Names that a block gives a value once."""
    return environment_of(chain.from_iterable(map(touches, body)), ()).constants


def _around(tree: ast.Module, kernel: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    """The functions that a kernel is defined in, the outermost first."""
    body: list[ast.stmt] = tree.body
    while not any(statement is kernel for statement in body):
        outer = next((s for s in body if _holds(s, kernel)), None)
        if outer is None:
            return
        if isinstance(outer, ast.FunctionDef):
            yield outer
        body = [s for s in ast.iter_child_nodes(outer) if isinstance(s, ast.stmt)]


def _holds(statement: ast.stmt, kernel: ast.FunctionDef) -> bool:
    return statement.lineno <= kernel.lineno <= (statement.end_lineno or statement.lineno)
