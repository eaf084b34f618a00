"""Statements of a function that never run, by the text alone."""

import ast
from collections.abc import Iterator

from tilewright.analysis.nodes import nodes_like
from tilewright.source.node_memo import per_node

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)


@per_node
def dead_lines(function: ast.FunctionDef) -> frozenset[int]:
    """The lines behind a statement that leaves its block, and of branches under a constant."""
    dead = (
        range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        for statement in _dead(function.body)
    )
    return frozenset(line for lines in dead for line in lines) | _dead_arms(function)


def _dead_arms(function: ast.FunctionDef) -> frozenset[int]:
    """The lines of ``x if False else y`` that only the arm which is never chosen stands on."""
    found: set[int] = set()
    for choice in nodes_like(function, ast.IfExp):
        truth = _truth(choice.test)
        if truth is not None:
            arm, other = (choice.orelse, choice.body) if truth else (choice.body, choice.orelse)
            found |= _lines(arm) - _lines(other) - _lines(choice.test)
    return frozenset(found)


def _lines(node: ast.expr) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _dead(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    is_left = False
    for statement in body:
        if is_left:
            yield statement
            continue
        is_left = isinstance(statement, _LEAVES)
        blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
        if isinstance(statement, ast.If):
            truth = _truth(statement.test)
            if truth is not None:
                yield from blocks[truth]
                blocks[truth] = []
        for block in blocks:
            yield from _dead(block)


def _truth(test: ast.expr) -> bool | None:
    """Whether a condition holds, where constants in it decide that."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            truth = _truth(operand)
            return None if truth is None else not truth
        case ast.BoolOp(op=ast.And(), values=parts) if any(_truth(p) is False for p in parts):
            return False
        case ast.BoolOp(op=ast.Or(), values=parts) if any(_truth(p) is True for p in parts):
            return True
    return None
