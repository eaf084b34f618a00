"""Ways to reach a thing without naming it: built-ins, computed attributes, double underscores."""

import ast
import re
from collections.abc import Iterator

from tilewright.evaluation.rules.allowlists import (
    BUILTINS,
    DUNDER_NAMES,
    DUNDERS,
    METHODS_OF_CLASSES,
)
from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View, line_of

_ASKING = re.compile(r"\{\w*(\.\w|\[)[^{}]*\}")
_FAN = "_calculate_fan_in_and_fan_out"
"""Private, and what everybody copies from torch's own layers to give weights first values."""
_BY_NAME = "spell the attribute out"


def reflection(view: View) -> Iterator[Finding]:
    """Everything of the kind, in host code and in kernels."""
    for node in (*view.host, *view.kernels):
        if isinstance(node, ast.Name):
            yield from _name(view, node)
        elif isinstance(node, ast.Attribute):
            yield from _dunder(node.attr, node)
            yield from _private(view, node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from _call(node, node.func.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _format(node, node.value)
        elif isinstance(node, ast.FunctionDef):
            yield from _method(node)


def _name(view: View, node: ast.Name) -> Iterator[Finding]:
    above = view.parent(node)
    if _is_dunder(node.id) and not _is_usual(view, node):
        yield Finding(f"the name {node.id}", line_of(node))
    if not isinstance(node.ctx, ast.Load) or view.is_local(node):
        return
    is_type = node.id == "object" and view.is_annotation(node)
    if node.id in BUILTINS and not (is_type and not isinstance(above, ast.Call | ast.Attribute)):
        called = isinstance(above, ast.Call) and above.func is node
        yield Finding(f"{'a call of ' if called else ''}{node.id}", line_of(node))
    if node.id in view.modules and not isinstance(above, ast.Attribute):
        yield Finding(f"module {node.id} as a value", line_of(node), "use it as in module.name")


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_usual(view: View, node: ast.Name) -> bool:
    """Whether a name with double underscores does what everybody has it for: where a file lies
    and what it is imported as tells who imports it."""
    if not isinstance(node.ctx, ast.Load):
        return node.id in DUNDER_NAMES
    match view.parent(node):
        case ast.Compare(left=left, comparators=[right]):
            sides = (left, right)
            return node.id == "__name__" and any(
                isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
            )
    calls = (above.func for above in view.around(node) if isinstance(above, ast.Call))
    return node.id == "__name__" and "logging.getLogger" in map(view.dotted, calls)


def _dunder(name: str, node: ast.AST) -> Iterator[Finding]:
    if _is_dunder(name) and name not in DUNDERS:
        yield Finding(f"attribute {name}", line_of(node))


def _private(view: View, node: ast.Attribute) -> Iterator[Finding]:
    """``x._version``, ``torch._C``: what a library keeps to itself."""
    if node.attr == _FAN and view.dotted(node) == f"torch.nn.init.{_FAN}":
        return
    owner = node.value
    is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls", "ctx")
    if node.attr.startswith("_") and not node.attr.startswith("__") and not is_own:
        yield Finding(f"private attribute .{node.attr}", line_of(node))


def _format(node: ast.Constant, text: str) -> Iterator[Finding]:
    """``"{0._version}".format(x)`` asks for an attribute."""
    if _ASKING.search(text):
        yield Finding("an attribute or item in a format string", line_of(node), _BY_NAME)


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
