"""Parsing Python, from any thread, into trees that everyone can walk.

CPython 3.11 keeps the depth of a syntax tree under construction per interpreter, not per thread, so
that two threads parsing at once may fail with SystemError (python/cpython issue 106905).
"""

import ast
from threading import Lock

DEEPEST = 200
"""How deep a statement may be nested, each ``elif`` and each operator in a row being a level."""
_DIGITS = 4300
_BITS = 14_280
_LOCK = Lock()


def parse(text: str) -> ast.Module:
    """``ast.parse`` of a module, one thread at a time.

    Raises what it raises, and ValueError for what would exhaust the stack of those who walk the
    tree, and for a number that Python would not print.
    """
    with _LOCK:
        tree = ast.parse(text)
    _check(tree)
    return tree


def parse_expression(text: str) -> ast.Expression:
    """``ast.parse`` of one expression, likewise."""
    with _LOCK:
        tree = ast.parse(text, mode="eval")
    _check(tree)
    return tree


def _check(tree: ast.AST) -> None:
    level = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if any(isinstance(node, ast.Constant) and _is_vast(node.value) for node in level):
            raise ValueError(f"a number of more than {_DIGITS} digits")
        if not level:
            return
    raise ValueError(f"nested more than {DEEPEST} deep; split it into several statements")


def _is_vast(value: object) -> bool:
    return isinstance(value, int) and value.bit_length() > _BITS
