"""What host code asks a tensor of a name: its shape, one of its axes, its types."""

import ast
from collections.abc import Iterable

from tilewright.python_syntax import is_name
from tilewright.source.names import Names


def is_shape(node: ast.expr, name: str) -> bool:
    """``x.shape`` and ``x.size()``."""
    match node:
        case ast.Attribute(value=owner, attr="shape"):
            return is_name(owner, name)
        case ast.Call(func=ast.Attribute(value=owner, attr="size"), args=[]):
            return is_name(owner, name)
    return False


def axis_asked(node: ast.expr, name: str) -> int | None:
    """The axis of ``x.shape[0]`` and ``x.size(0)``."""
    match node:
        case ast.Subscript(value=owner, slice=index) if is_shape(owner, name):
            return literal_int(index)
        case ast.Call(func=ast.Attribute(value=owner, attr="size"), args=[index]):
            return literal_int(index) if is_name(owner, name) else None
    return None


def is_rank(node: ast.expr, name: str) -> bool:
    """``x.ndim``, ``x.dim()`` and ``len(x.shape)``."""
    match node:
        case ast.Attribute(value=owner, attr="ndim"):
            return is_name(owner, name)
        case ast.Call(func=ast.Attribute(value=owner, attr="dim"), args=[]):
            return is_name(owner, name)
        case ast.Call(func=ast.Name(id="len"), args=[given]):
            return is_shape(given, name)
    return False


def dtypes_demanded(nodes: Iterable[ast.AST], name: str, names: Names) -> tuple[str, ...]:
    """Of ``assert x.dtype == torch.float16`` and ``x.dtype in (torch.float16, ...)``."""
    for node in nodes:
        match node:
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Attribute(value=owner, attr="dtype"),
                    ops=[ast.Eq() | ast.In()],
                    comparators=[allowed],
                )
            ) if is_name(owner, name):
                parts = allowed.elts if isinstance(allowed, ast.Tuple | ast.List) else [allowed]
                dotted = [names.resolve(part) or "" for part in parts]
                if all(each.startswith("torch.") for each in dotted):
                    return tuple(each.removeprefix("torch.") for each in dotted)
    return ()


def literal_int(node: ast.expr) -> int | None:
    """A number that is written out, with its sign."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, SyntaxError):
        return None
    return value if type(value) is int else None
