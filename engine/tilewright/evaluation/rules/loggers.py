"""Loggers: an object that everybody may hold on to, and that keeps whatever it is given."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.allowlists import LOGGING
from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View, line_of

_MAKES = "logging.getLogger"


def loggers(view: View) -> Iterator[Finding]:
    """Anything that is done with a logger but to log."""
    names = {
        name
        for name, values in view.globals.items()
        if any(_is_made(view, value) for value in values)
    }
    for node in view.host:
        is_one = _is_made(view, node) or (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and node.id in names
            and not view.is_local(node)
        )
        if is_one and not _only_logs(view, node):
            what = "a logger used for more than to log"
            yield Finding(what, line_of(node), "call its methods alone, as LOG.debug(...)")


def _is_made(view: View, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and view.dotted(node.func) == _MAKES


def _only_logs(view: View, node: ast.AST) -> bool:
    above = view.parent(node)
    if isinstance(above, ast.Attribute) and above.attr in LOGGING:
        called = view.parent(above)
        return isinstance(called, ast.Call) and called.func is above
    is_module_level = view.function_of(node) is None and view.class_of(node) is None
    return isinstance(node, ast.Call) and isinstance(above, ast.Assign) and is_module_level
