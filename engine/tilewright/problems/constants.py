"""Module constants that a KernelBench problem sizes its inputs with, and smaller values of them."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tilewright.problems.model import Dim

LIMITS = (32, 16, 8, 128, 512)
"""What extents are brought below, in the order that they are tried: several extents of 32 multiply
to more than the interpreter can do, and an original need not stand the small ones."""
_FEW = 4
_MOST_LAYERS = 64
_LEAST_SIZED, _LEAST_BUILT = 8, 32
_COUNTS = re.compile(r"batch|groups?$|heads?$", re.IGNORECASE)
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b if b else 0,
}


@dataclass(frozen=True)
class Constants:
    """Whole numbers, and lists of them, that a module names at its top level.

    Attributes:
        values: those that its inputs or its constructor arguments are made of, and that are
            computed from no others.
        sizing: those of them that ``get_inputs`` uses.
        arguments: the constructor's, in order, by the constants that they are; None for others.
        shapes: the inputs' extents likewise, where ``get_inputs`` says them plainly.
    """

    values: Mapping[str, Dim]
    sizing: frozenset[str] = frozenset()
    arguments: tuple[str | None, ...] = ()
    shapes: tuple[tuple[str | None, ...], ...] = ()


def constants_of(tree: ast.Module) -> Constants:
    """The constants of a KernelBench module."""
    values: dict[str, Dim] = {}
    for name, given in _assigned(tree):
        value = _constant(given, values)
        if value is not None:
            values[name] = value
    inputs, arguments = (_function(tree, name) for name in ("get_inputs", "get_init_inputs"))
    uses = {name: _used(tree, name) for name in values}
    sizing = _reached(inputs, uses)
    wanted = sizing | _reached(arguments, uses)
    kept = {name: value for name, value in values.items() if name in wanted and not uses[name]}
    return Constants(kept, sizing, _listed(arguments), _shapes(inputs))


def smaller(values: Mapping[str, Dim], limit: int) -> dict[str, Dim]:
    """The constants with extents at most ``limit``: even ones halved, so that what divides them
    still does, odd ones odd; few rows of a batch, groups and heads."""
    return {
        name: _smaller(value, _FEW if _COUNTS.search(name) else limit)
        for name, value in values.items()
    }


def varied(constants: Constants, values: Mapping[str, Dim]) -> frozenset[str]:
    """The constants that may take other extents."""
    return frozenset(
        name
        for name, own in constants.values.items()
        if isinstance(own, int)
        and isinstance(values.get(name), int)
        and own >= (_LEAST_SIZED if name in constants.sizing else _LEAST_BUILT)
        and (name in constants.sizing or not _COUNTS.search(name))
    )


def _smaller(value: Dim, limit: int) -> Dim:
    if isinstance(value, tuple):
        return tuple(_one_smaller(v, limit) if isinstance(v, int) else v for v in value)
    return _one_smaller(value, limit) if type(value) is int else value


def _one_smaller(value: int, limit: int) -> int:
    odd = value % 2
    while value > limit and value % 2 == 0:
        value //= 2
    while value > limit:
        value //= 2
        odd = 1
    return value | odd


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Names that a module binds at its top level, ``a = b = 1`` and ``a, b = 1, 2`` among them."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _bound(target, node.value)


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            for one, given in zip(names, values, strict=True):
                yield from _bound(one, given)


def _constant(node: ast.expr, known: Mapping[str, Dim]) -> Dim | None:
    match node:
        case ast.Constant(value=int() as value) if type(value) is int:
            return value
        case ast.Name(id=name):
            return known.get(name)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            found = [_constant(element, known) for element in elements]
            numbers = tuple(value for value in found if isinstance(value, int))
            return numbers if numbers and len(numbers) == len(found) else None
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            first, second = _constant(left, known), _constant(right, known)
            if isinstance(op, ast.Mult) and isinstance(first, tuple) and isinstance(second, int):
                return first * min(second, _MOST_LAYERS)
            if isinstance(first, int) and isinstance(second, int):
                return _OPERATORS[type(op)](first, second)
    return None


def _function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name]
    return found[-1] if found else None


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def _used(tree: ast.Module, name: str) -> set[str]:
    """The names that a constant is computed from."""
    return _names(value for bound, value in _assigned(tree) if bound == name)


def _reached(function: ast.FunctionDef | None, uses: Mapping[str, set[str]]) -> frozenset[str]:
    found = _names([function]) & set(uses) if function is not None else set()
    while more := {used for name in found for used in uses[name]} & set(uses) - found:
        found |= more
    return frozenset(found)


def _listed(function: ast.FunctionDef | None) -> tuple[str | None, ...]:
    """The names of a returned list."""
    returns = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)] if function else []
    if len(returns) != 1 or not isinstance(returns[0], ast.List | ast.Tuple):
        return ()
    return tuple(one.id if isinstance(one, ast.Name) else None for one in returns[0].elts)


def _shapes(function: ast.FunctionDef | None) -> tuple[tuple[str | None, ...], ...]:
    """The names in ``torch.rand(a, b)``, of each tensor in the order that they are made."""
    calls = [
        n
        for n in (ast.walk(function) if function else ())
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
        and n.func.attr in ("rand", "randn") and n.args
    ]  # fmt: skip
    calls.sort(key=lambda n: (n.lineno, n.col_offset))
    return tuple(
        tuple(arg.id if isinstance(arg, ast.Name) else None for arg in call.args) for call in calls
    )
