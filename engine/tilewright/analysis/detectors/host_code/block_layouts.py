"""Blocks that decide the extents of a tensor, so that they are no matter of one kernel."""

import ast

from tilewright.analysis.nodes import nodes_like
from tilewright.python_syntax import descendants
from tilewright.source.host import host_of
from tilewright.source.model import Launch, Module

_ALLOCATES = ("empty", "zeros", "ones", "full")


def lays_out_data(module: Module, launch: Launch, block: str) -> bool:
    """Whether the host allocates a tensor with extents that follow from a block it passes."""
    host, given = host_of(module, launch), launch.arguments.get(block)
    if host is None or not isinstance(given, ast.Name):
        return False
    following = _following(host, given.id)
    return any(
        isinstance(name, ast.Name) and name.id in following
        for call in nodes_like(host, ast.Call)
        if _allocates(call)
        for part in (*call.args, *(k.value for k in call.keywords if k.arg == "size"))
        for name in descendants(part)
    )


def _allocates(call: ast.Call) -> bool:
    """``torch.empty(...)``, ``x.new_zeros(...)``."""
    if not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr.removeprefix("new_") in _ALLOCATES


def _following(host: ast.FunctionDef, name: str) -> frozenset[str]:
    """A name, and those whose values are computed from it: ``NT`` in ``NT = cdiv(T, BT)``."""
    names = {name}
    for statement in nodes_like(host, ast.Assign):
        if not _makes_tensor(statement.value):
            parts = {n.id for n in descendants(statement.value) if isinstance(n, ast.Name)}
            if parts & names:
                targets = (n for t in statement.targets for n in descendants(t))
                names |= {n.id for n in targets if isinstance(n, ast.Name)}
    return frozenset(names)


def _makes_tensor(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _allocates(value)
