"""Control flow around launches, and classes and decorators that change what code means."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.allowlists import listed
from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View, line_of

_PLAIN = listed(
    "staticmethod classmethod property functools.lru_cache functools.cache "
    "functools.cached_property functools.wraps dataclasses.dataclass torch.no_grad "
    "torch.inference_mode contextlib.contextmanager typing.overload typing.override "
    "abc.abstractmethod"
)
_NOT_INSTALLED = ("ImportError", "ModuleNotFoundError")
_BASES = listed(
    "object torch.nn.Module torch.autograd.Function typing.NamedTuple typing.Protocol enum.Enum "
    "enum.IntEnum"
)


def flow(view: View) -> Iterator[Finding]:
    """Handlers that hide a failed launch, foreign decorators, bases that are no plain classes."""
    for node in view.host:
        if isinstance(node, ast.ExceptHandler) and _is_optional_import(view, node):
            continue
        if isinstance(node, ast.ExceptHandler):
            yield Finding("an except clause", line_of(node), "let a launch that fails fail")
        elif isinstance(node, ast.Try) and node.finalbody:
            yield Finding("a finally clause", line_of(node), "let a launch that fails fail")
        elif isinstance(node, ast.ClassDef):
            yield from _class(view, node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _decorators(view, node)


def _is_optional_import(view: View, node: ast.ExceptHandler) -> bool:
    """Whether a handler is there for nothing but a module of the file that may not be installed."""
    attempt = view.parent(node)
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return (
        isinstance(attempt, ast.Try)
        and view.function_of(attempt) is None
        and all(isinstance(one, ast.Import | ast.ImportFrom) for one in attempt.body)
        and all(isinstance(one, ast.Name) and one.id in _NOT_INSTALLED for one in caught)
        and all(map(_is_plain_stand_in, node.body))
    )


def _is_plain_stand_in(statement: ast.stmt) -> bool:
    """``X = None``, another import, or nothing."""
    if isinstance(statement, ast.Assign):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass)


def _class(view: View, node: ast.ClassDef) -> Iterator[Finding]:
    for base in node.bases:
        name = view.dotted(base) or ast.unparse(base)
        if name not in _BASES and name not in view.globals:
            yield Finding(f"a class derived from {name}", line_of(node), "use a plain class")
    for keyword in node.keywords:
        yield Finding(f"a class with {keyword.arg}=", line_of(node), "use a plain class")


def _decorators(
    view: View, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
) -> Iterator[Finding]:
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = view.dotted(target) or ast.unparse(target)
        if name not in _PLAIN and not name.startswith(("triton.", "nki.")):
            yield Finding(f"the decorator {name}", line_of(decorator), "call the function itself")
