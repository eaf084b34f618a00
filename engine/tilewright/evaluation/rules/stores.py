"""Stores into what is not the candidate's: attributes of libraries, functions, tensors, classes."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View, base_of, line_of

_MAKERS = ("__init__", "__post_init__")
_LEAVE = "leave what others use as it is"
_STATE = "a call may leave nothing behind; pass values as arguments"
# Triton's own way to size a tensor descriptor for a configuration, in a pre-hook.
_DESCRIBING = ("block_shape",)


def stores(view: View) -> Iterator[Finding]:
    """Attribute and item stores that outlive the call they stand in, or reach into libraries."""
    for node in view.host:
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield from _attribute(view, node)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield from _item(view, node)


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
    yield Finding(
        f"a store to {owner}.{node.attr}", line_of(node), _STATE if _is_own(view, base) else _LEAVE
    )


def _item(view: View, node: ast.Subscript) -> Iterator[Finding]:
    """A store into an item of a library's object: ``os.environ[...]``, ``sys.modules[...]``."""
    base = base_of(node.value)
    if not isinstance(base, ast.Name) or view.is_local(base):
        return
    if base.id in view.modules or "." in (view.module.names.resolve(base) or ""):
        yield Finding(f"a store to an item of {ast.unparse(node.value)}", line_of(node), _LEAVE)


def _is_own(view: View, base: ast.AST) -> bool:
    return isinstance(base, ast.Name) and base.id not in view.modules


def _is_autograd(view: View, node: ast.AST) -> bool:
    owner = view.class_of(node)
    names = () if owner is None else owner.bases
    return any(view.dotted(base) == "torch.autograd.Function" for base in names)
