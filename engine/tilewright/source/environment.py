"""A file's module level: what its names are given, and by which statements."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tilewright.source.node_memo import per_text

_MUTATORS = frozenset(
    ("append", "extend", "insert", "update", "remove", "pop", "clear", "add", "sort", "reverse")
)


@dataclass(frozen=True)
class Environment:
    """Module-level names.

    Attributes:
        constants: names given a value once and never changed at module level.
        histories: names given or changed several times: the statements that do so, in order.
        functions: functions defined once.
        wrapped: what functions defined once are given later: ``f = triton.jit(f)``.
    """

    constants: Mapping[str, ast.expr] = field(default_factory=dict)
    histories: Mapping[str, tuple[ast.stmt, ...]] = field(default_factory=dict)
    functions: Mapping[str, ast.FunctionDef] = field(default_factory=dict)
    wrapped: Mapping[str, ast.expr] = field(default_factory=dict)


@dataclass(frozen=True)
class Touch:
    """A module-level statement gives a name a value, or changes it (no plain ``value``)."""

    name: str
    statement: ast.stmt
    value: ast.expr | None


def environment_of(touches: Iterable[Touch], functions: Iterable[ast.FunctionDef]) -> Environment:
    """The module level that these make up; a function bound twice is none of them."""
    by_name: dict[str, list[Touch]] = {}
    for touch in touches:
        by_name.setdefault(touch.name, []).append(touch)
    defined: dict[str, list[ast.FunctionDef]] = {}
    for function in functions:
        defined.setdefault(function.name, []).append(function)
    constants: dict[str, ast.expr] = {}
    wrapped: dict[str, ast.expr] = {}
    histories: dict[str, tuple[ast.stmt, ...]] = {}
    for name, found in by_name.items():
        value = found[0].value if len(found) == 1 else None
        if name in defined:
            if value is not None and len(defined[name]) == 1:
                wrapped[name] = value
        elif value is not None:
            constants[name] = value
        else:
            histories[name] = tuple(dict.fromkeys(touch.statement for touch in found))
    once = {n: f[0] for n, f in defined.items() if len(f) == 1 and n not in by_name}
    return Environment(constants, histories, once, wrapped)


def touches(statement: ast.stmt) -> Iterator[Touch]:
    """The names that a module-level statement gives a value or changes."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return
    plain = dict(_plainly_assigned(statement))
    for name in _changed_names(statement):
        yield Touch(name, statement, plain.get(name))


def _plainly_assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.Try(body=body) | ast.If(body=body):
            yield from _wrapped_again(statement, body)


def _wrapped_again(statement: ast.stmt, body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """``f = tuned(...)(f)`` under a condition or in a ``try`` that binds ``f`` just once."""
    for inner in body:
        match inner:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value):
                bound = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id == name]
                stores = [n for n in bound if isinstance(n.ctx, ast.Store)]
                if len(stores) == 1 and any(n in bound for n in ast.walk(value)):
                    yield name, value


@per_text
def _changed_names(statement: ast.stmt) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_changed(statement)))


def _changed(statement: ast.stmt) -> Iterator[str]:
    """Names a statement may bind or change, at any depth outside functions."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
                continue
            case ast.Lambda():
                continue
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                if attr in _MUTATORS:
                    yield name
        pending.extend(ast.iter_child_nodes(node))
