"""Stores into what is not the candidate's: attributes of libraries, functions, tensors, classes."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.aliases import Aliases
from tilewright.evaluation.rules.allowlists import CHANGING, KEEPING_TENSORS, listed
from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View, base_of, line_of

_MAKERS = ("__init__", "__post_init__")
_NAMING = (ast.Name, ast.NamedExpr, ast.IfExp, ast.BoolOp)
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
_LAUNCHING = ("run", "warmup")
_LEAVE = "leave what others use as it is"
_STATE = "a call may leave nothing behind; pass values as arguments"
# Triton's own way to size a tensor descriptor for a configuration, in a pre-hook.
_DESCRIBING = ("block_shape",)
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


def stores(view: View) -> Iterator[Finding]:
    """Stores and changes that outlive the call they stand in, or reach into libraries."""
    known = Aliases.from_view(view)
    for node in view.host:
        if isinstance(node, ast.Attribute):
            yield from _of_function(view, known, node)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield from _attribute(view, node)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield from _item(view, node)
            yield from _inside(view, node, node.value)
        elif isinstance(node, ast.Call):
            yield from _call_findings(view, node)


def _call_findings(view: View, node: ast.Call) -> Iterator[Finding]:
    match node.func:
        case ast.Attribute(value=owner, attr=name) if name in CHANGING:
            yield from _inside(view, node, owner)


def _attribute(view: View, node: ast.Attribute) -> Iterator[Finding]:
    if node.attr in _DESCRIBING:
        return
    owner = ast.unparse(node.value)
    base = base_of(node.value)
    function = view.function_of(node)
    if isinstance(base, ast.Name) and isinstance(function, ast.FunctionDef):
        first = function.args.args[0].arg if function.args.args else None
        if base.id == first and view.class_of(node) is not None:
            if function.name in _MAKERS and node.value is base:
                return
            if _is_autograd(view, node):
                return
        if node.attr == "data" and view.is_constructing(node) and view.is_local(base):
            return  # of a weight, which gets the original's values before the first call
    is_self = isinstance(base, ast.Name) and base.id == "self"
    yield Finding(
        f"a store to {owner}.{node.attr}", line_of(node),
        _STATE if _is_own(view, base) else _LEAVE,
        allowed_by=KEEPING_TENSORS if is_self else (),
    )  # fmt: skip


def _item(view: View, node: ast.Subscript) -> Iterator[Finding]:
    """A store into an item of a library's object: ``os.environ[...]``, ``sys.modules[...]``."""
    base = base_of(node.value)
    if not isinstance(base, ast.Name) or view.is_local(base):
        return
    if base.id in view.modules or "." in (view.module.names.resolve(base) or ""):
        yield Finding(f"a store to an item of {ast.unparse(node.value)}", line_of(node), _LEAVE)


def _inside(view: View, node: ast.AST, owner: ast.expr) -> Iterator[Finding]:
    """A change inside what an instance, a class, a function or a kernel holds."""
    base = base_of(owner)
    if not isinstance(base, ast.Name):
        return
    if view.is_local(base):
        function = view.function_of(node)
        is_kept = base.id in ("self", "cls") and getattr(function, "name", "") not in _MAKERS
    else:
        is_kept = any(isinstance(one, _DEFINITIONS) for one in view.globals.get(base.id, ()))
    if is_kept:
        allowed_by = KEEPING_TENSORS if base.id == "self" else ()
        what = f"a change of {ast.unparse(owner)}"
        yield Finding(what, line_of(node), _STATE, allowed_by=allowed_by)


def _of_function(view: View, known: Aliases, node: ast.Attribute) -> Iterator[Finding]:
    """An attribute of a function or a kernel: a place to keep things, or a hook."""
    owner = node.value
    if not isinstance(owner, _NAMING) or not isinstance(node.ctx, ast.Load):
        return
    above = view.parent(node)
    is_called = isinstance(above, ast.Call) and above.func is node
    if node.attr == "__name__" or (node.attr in _LAUNCHING and is_called):
        return
    name = known.origin(owner) if isinstance(owner, ast.Name) else None
    name = name or known.source(owner)
    if any(isinstance(one, ast.FunctionDef) for one in view.globals.get(name or "", ())):
        yield Finding(f"attribute .{node.attr} of {name}", line_of(node), _STATE)


def _is_own(view: View, base: ast.AST) -> bool:
    return isinstance(base, ast.Name) and base.id not in view.modules


def _is_autograd(view: View, node: ast.AST) -> bool:
    owner = view.class_of(node)
    names = () if owner is None else owner.bases
    return any(view.dotted(base) == "torch.autograd.Function" for base in names)


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
