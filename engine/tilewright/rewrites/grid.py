"""A launch's grid: its axes as expressions, through local names, lambdas and small functions."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.rewrites.model import Refusal
from tilewright.rewrites.scope import Scope, host_scope, only_value
from tilewright.source.model import Launch, Module


@dataclass(frozen=True)
class WrittenGrid:
    """The tuple a grid evaluates to.

    Attributes:
        axes: one expression an axis, as written.
        tuple_node: the tuple or list literal that holds them.
        meta: the parameter of the lambda or function around it; None for a plain tuple.
        scope: the host function.
    """

    axes: tuple[ast.expr, ...]
    tuple_node: ast.expr
    meta: str | None
    scope: Scope

    def expressions(self, along: frozenset[int] | None = None) -> Iterator[ast.expr]:
        """The axes and whatever single assignments of the host function they are made from.

        ``along``: these axes alone.
        """
        pending = [a for at, a in enumerate(self.axes) if along is None or at in along]
        seen: set[str] = set()
        while pending:
            expression = pending.pop(0)
            yield expression
            for node in ast.walk(expression):
                if isinstance(node, ast.Name) and node.id not in seen:
                    seen.add(node.id)
                    value = only_value(self.scope, node.id)
                    if value is not None:
                        pending.append(value)


@dataclass(frozen=True)
class Division:
    """``cdiv(extent, block)`` in a grid, however it is spelled."""

    node: ast.expr
    extent: ast.expr
    block: ast.expr


def written_grid(module: Module, launch: Launch) -> WrittenGrid | Refusal:
    """The grid of a launch, or why it cannot be read."""
    scope = host_scope(module, launch)
    expression: ast.expr = launch.grid
    meta: str | None = None
    for _ in range(4):
        if isinstance(expression, ast.Lambda):
            arguments = expression.args.args
            meta = arguments[0].arg if arguments else None
            expression = expression.body
        elif isinstance(expression, ast.Name):
            found = _value(scope, expression.id)
            if found is None:
                return Refusal(
                    f"the grid {expression.id!r} is not set exactly once in the host code"
                )
            expression, function_meta = found
            meta = meta or function_meta
        else:
            break
    if not isinstance(expression, ast.Tuple | ast.List):
        return Refusal("the grid is not a tuple, a list or a lambda that gives one")
    return WrittenGrid(tuple(expression.elts), expression, meta, scope)


def _value(scope: Scope, name: str) -> tuple[ast.expr, str | None] | None:
    value = only_value(scope, name)
    if value is not None:
        return value, None
    functions = [s for s in scope.body if isinstance(s, ast.FunctionDef) and s.name == name]
    if len(functions) != 1 or not isinstance(functions[0].body[-1], ast.Return):
        return None
    function, last = functions[0], functions[0].body[-1]
    if len(function.body) != 1 or not isinstance(last, ast.Return) or last.value is None:
        return None
    return last.value, function.args.args[0].arg if function.args.args else None


def divisions(module: Module, expression: ast.expr) -> list[Division]:
    """Every ceiling division in an expression: ``cdiv(x, b)`` and ``(x + b - 1) // b``."""
    found = (division(module, node) for node in ast.walk(expression) if isinstance(node, ast.expr))
    return [d for d in found if d is not None]


def floors(module: Module, expression: ast.expr) -> list[ast.BinOp]:
    """Divisions in an expression that round down: ``x // b`` and nothing that makes it round up."""
    found: list[ast.BinOp] = []
    for node in ast.walk(expression):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)):
            continue
        rounds_up = isinstance(node.left, ast.BinOp | ast.UnaryOp)  # (x + b - 1) // b, -x // b
        if division(module, node) is None and not rounds_up:
            found.append(node)
    return found


def division(module: Module, node: ast.expr) -> Division | None:
    """The ceiling division that an expression is, if it is one."""
    if isinstance(node, ast.Call) and len(node.args) == 2:
        dotted = module.names.resolve(node.func) or ""
        if dotted.rsplit(".", 1)[-1] in ("cdiv", "ceil_div") and not node.keywords:
            return Division(node, node.args[0], node.args[1])
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
        return None
    match node.left:
        case ast.BinOp(
            left=ast.BinOp(left=extent, op=ast.Add(), right=block),
            op=ast.Sub(),
            right=ast.Constant(value=1),
        ) if ast.dump(block) == ast.dump(node.right):
            return Division(node, extent, node.right)
    return None


def factors(expression: ast.expr) -> list[ast.expr]:
    """The factors of a product, left to right."""
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mult):
        return [*factors(expression.left), *factors(expression.right)]
    return [expression]


def meta_key(node: ast.expr, meta: str | None) -> str | None:
    """``"BLOCK"`` of ``META["BLOCK"]``."""
    if (
        meta is not None
        and isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == meta
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    ):
        return node.slice.value
    return None


def meta_keys(expression: ast.expr, meta: str | None) -> set[str]:
    """Every constexpr an expression reads from the lambda's argument."""
    keys = (meta_key(n, meta) for n in ast.walk(expression) if isinstance(n, ast.expr))
    return {key for key in keys if key is not None}
