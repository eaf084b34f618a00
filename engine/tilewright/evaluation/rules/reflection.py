"""Ways to reach a thing without naming it: built-ins, computed attributes, double underscores."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View, line_of
from tilewright.evaluation.rules.words import BUILTINS, DUNDERS, METHODS_OF_CLASSES

_BY_NAME = "spell the attribute out"


def reflection(view: View) -> Iterator[Finding]:
    """Everything of the kind, in host code and in kernels."""
    for node in (*view.host, *view.kernels):
        if isinstance(node, ast.Name):
            yield from _name(view, node)
        elif isinstance(node, ast.Attribute):
            yield from _dunder(node.attr, node)
            yield from _private(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from _call(node, node.func.id)
        elif isinstance(node, ast.FunctionDef):
            yield from _method(node)


def _name(view: View, node: ast.Name) -> Iterator[Finding]:
    if not isinstance(node.ctx, ast.Load) or view.is_local(node):
        return
    above = view.parent(node)
    if node.id in BUILTINS:
        called = isinstance(above, ast.Call) and above.func is node
        yield Finding(f"{'a call of ' if called else ''}{node.id}", line_of(node))
    if node.id in view.modules and not isinstance(above, ast.Attribute):
        yield Finding(f"module {node.id} as a value", line_of(node), "use it as in module.name")


def _dunder(name: str, node: ast.AST) -> Iterator[Finding]:
    if name.startswith("__") and name.endswith("__") and name not in DUNDERS:
        yield Finding(f"attribute {name}", line_of(node))


def _private(node: ast.Attribute) -> Iterator[Finding]:
    """``x._version``, ``torch._C``: what a library keeps to itself."""
    owner = node.value
    is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls", "ctx")
    if node.attr.startswith("_") and not node.attr.startswith("__") and not is_own:
        yield Finding(f"private attribute .{node.attr}", line_of(node))


def _method(node: ast.FunctionDef) -> Iterator[Finding]:
    if node.name.startswith("__") and node.name not in METHODS_OF_CLASSES:
        yield Finding(f"method {node.name}", line_of(node), "write a plain class")


def _call(node: ast.Call, name: str) -> Iterator[Finding]:
    if name in ("getattr", "hasattr") and len(node.args) > 1:
        wanted = node.args[1]
        if not isinstance(wanted, ast.Constant):
            yield Finding(f"{name} with a computed name", line_of(node), _BY_NAME)
        else:
            yield from _dunder(str(wanted.value), node)
    if name == "type" and len(node.args) > 1:
        yield Finding("a class made by type()", line_of(node))
