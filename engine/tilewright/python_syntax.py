"""Parsing Python, from any thread, into trees that everyone can walk.

CPython 3.11 keeps the depth of a syntax tree under construction per interpreter, not per thread, so
that two threads parsing at once may fail with SystemError (python/cpython issue 106905).
"""

import ast
from threading import Lock

DEEPEST = 450
"""Levels of the deepest expression; those who walk a tree need more for a statement in another."""
_OF_STATEMENT = 3  # so that 150 fit, an ``elif`` being one in the one before
_DIGITS = 4300
_BITS = 14_280
_LOCK = Lock()


def parse(text: str) -> ast.Module:
    """``parse_unchecked``, and ``check``."""
    tree = parse_unchecked(text)
    check(tree)
    return tree


def parse_unchecked(text: str) -> ast.Module:
    """``ast.parse`` of a module, one thread at a time; raises what it raises."""
    with _LOCK:
        return ast.parse(text)


def parse_expression(text: str) -> ast.Expression:
    """``ast.parse`` of one expression, one thread at a time; raises what it raises."""
    with _LOCK:
        return ast.parse(text, mode="eval")


def check(tree: ast.AST) -> None:
    """Raise ValueError for what would exhaust the stack of those who walk a tree.

    Also for a number that Python would not print.
    """
    pending: list[tuple[ast.AST, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        if isinstance(node, ast.Constant):
            if _is_vast(node.value):
                raise ValueError(f"a number of more than {_DIGITS} digits")
            continue
        below = depth + (_OF_STATEMENT if isinstance(node, ast.stmt) else 1)
        children = _children(node)
        if below > DEEPEST and not all(isinstance(child, ast.Constant) for child in children):
            raise ValueError("nested too deeply; split it into several statements or functions")
        # Operators and contexts, half of all nodes, hold nothing further.
        pending += [(child, below) for child in children if child._fields]


def _children(node: ast.AST) -> list[ast.AST]:
    """``ast.iter_child_nodes``, in half of its time: this walks every file that is read."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def _is_vast(value: object) -> bool:
    return isinstance(value, int) and value.bit_length() > _BITS
