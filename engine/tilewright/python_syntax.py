"""Parsing Python, from any thread, into trees that everyone can walk.

CPython 3.11 keeps the depth of a syntax tree under construction per interpreter, not per thread, so
that two threads parsing at once may fail with SystemError (python/cpython issue 106905).
"""

import ast
import warnings
from threading import Lock

DEEPEST = 450
"""Levels of the deepest expression; those who walk a tree need more for a statement in another."""
_OF_STATEMENT = 3  # so that 150 fit, an ``elif`` being one in the one before
_DIGITS = 4300
_BITS = 14_280
_LOCK = Lock()
_TOO_VAST = f"a number of more than {_DIGITS} digits"
_NO_NODES = frozenset(
    {
        *("id", "ctx", "attr", "arg", "op", "ops", "kind", "level", "module", "simple"),
        *("is_async", "conversion", "type_comment", "type_ignores"),
    }
)


def parse(text: str) -> ast.Module:
    """``parse_unchecked``, and ``check``."""
    tree = parse_unchecked(text)
    check(tree)
    return tree


def parse_unchecked(text: str) -> ast.Module:
    """``ast.parse`` of a module, one thread at a time; raises what it raises."""
    with _LOCK:
        return ast.parse(text)


def parse_silently(text: str) -> ast.Module:
    """``parse_unchecked`` without warnings about the text."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def parse_expression(text: str) -> ast.Expression:
    """``ast.parse`` of one expression, one thread at a time; raises what it raises."""
    with _LOCK:
        return ast.parse(text, mode="eval")


def check(tree: ast.AST) -> None:
    """Raise ValueError for what would exhaust the stack of those who walk a tree.

    Also for a number that Python would not print.
    """
    levels, level = 0, [tree]
    while level:
        levels += 1
        # A level counts as a statement at most: few of them are never too deep.
        if levels * _OF_STATEMENT > DEEPEST:
            _check_depth(tree)
            return
        level = [child for node in level for child in children(node)]
        if any(_is_vast(n.value) for n in level if n.__class__ is ast.Constant):
            raise ValueError(_TOO_VAST)


def _check_depth(tree: ast.AST) -> None:
    """``check`` of a tree of many levels."""
    pending: list[tuple[ast.AST, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        if isinstance(node, ast.Constant):
            if _is_vast(node.value):
                raise ValueError(_TOO_VAST)
            continue
        below = depth + (_OF_STATEMENT if isinstance(node, ast.stmt) else 1)
        within = children(node)
        if below > DEEPEST and not all(isinstance(child, ast.Constant) for child in within):
            raise ValueError("nested too deeply; split it into several statements or functions")
        pending += [(child, below) for child in within]


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each type of node that may hold further nodes, operators left out."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        fields = () if kind is ast.Constant else kind._fields
        found = self[kind] = tuple(name for name in fields if name not in _NO_NODES)
        return found


_FIELDS = _Fields()


def children(node: ast.AST) -> list[ast.AST]:
    """``ast.iter_child_nodes`` without operators and contexts, in a third of its time."""
    found: list[ast.AST] = []
    for name in _FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def descendants(node: ast.AST) -> list[ast.AST]:
    """``ast.walk`` without operators and contexts, half of all nodes."""
    found, fields = [node], _FIELDS
    for current in found:
        for name in fields[current.__class__]:
            value = getattr(current, name, None)
            if isinstance(value, list):
                found += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def is_name(node: ast.AST | None, name: str) -> bool:
    """Whether an expression is just a name."""
    return isinstance(node, ast.Name) and node.id == name


def is_none(node: ast.AST | None) -> bool:
    """Whether an expression is ``None`` itself."""
    return isinstance(node, ast.Constant) and node.value is None


def passes_unseen(call: ast.Call) -> bool:
    """Whether ``*args`` or ``**options`` pass more than the text of a call says."""
    hidden = any(isinstance(given, ast.Starred) for given in call.args)
    return hidden or any(keyword.arg is None for keyword in call.keywords)


def parameter_defaults(args: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]]:
    """The parameters that a function names, in order, each with its default."""
    positional = [*args.posonlyargs, *args.args]
    needed: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    pairs = zip(positional, [*needed, *args.defaults], strict=True)
    return [*pairs, *zip(args.kwonlyargs, args.kw_defaults, strict=True)]


def dotted_text(node: ast.AST) -> str | None:
    """``a.b.c`` as it is written; None of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted_text(node.value)
        return None if base is None else f"{base}.{node.attr}"
    return None


def _is_vast(value: object) -> bool:
    return isinstance(value, int) and value.bit_length() > _BITS
