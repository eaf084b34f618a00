"""Which of a file's helpers leave memory alone, so that a call of them is a value like others."""

import ast
from collections.abc import Hashable, Iterator

from tilewright.analysis.expressions import PURE_BUILTINS, method_writes_nothing, writes_nothing
from tilewright.analysis.nodes import nodes_of
from tilewright.analysis.per_kernel import kept_by, per_module
from tilewright.source.model import Kernel, Module
from tilewright.source.names import Names


@per_module
def pure_helpers(module: Module) -> frozenset[str]:
    """The file's jit functions that write no memory and call nothing unknown."""
    called = {k.name: _unsafe_calls(k, module.names) for k in module.kernels}
    pure: set[str] = set()
    while True:
        more = {name for name, calls in called.items() if calls <= pure} - pure
        if not more:
            return frozenset(pure)
        pure |= more


def _by_text(kernel: Kernel, names: Names) -> Hashable:
    return kernel.text, id(names)


@kept_by(_by_text, 1024)
def _unsafe_calls(kernel: Kernel, names: Names) -> frozenset[str]:
    """Names of calls in a function that may write memory, as far as names tell."""
    node = kernel.node
    local = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    local.update(assigned_names(node.body))
    calls = (n for n in nodes_of(node) if isinstance(n, ast.Call))
    return frozenset(name for c in calls if (name := _unsafe(c.func, local, names)))


def _unsafe(func: ast.expr, local: set[str], names: Names) -> str | None:
    """The name of what a call may write through; None if it leaves memory alone."""
    root = func
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(func, ast.Attribute) and (not isinstance(root, ast.Name) or root.id in local):
        return None if method_writes_nothing(func.attr) else f".{func.attr}"
    name = names.resolve(func) or "?"
    return None if writes_nothing(name) or name in PURE_BUILTINS else name


def assigned_names(body: list[ast.stmt]) -> list[str]:
    """Names that statements may assign, in order, each once."""
    names: dict[str, None] = {}
    for statement in body:
        for target in _targets(statement):
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names[node.id] = None
    return list(names)


def _targets(statement: ast.stmt) -> Iterator[ast.expr]:
    """What a statement and those inside it assign to, in order."""
    pending: list[ast.stmt] = [statement]
    while pending:
        current = pending.pop()
        yield from _own_targets(current)
        parts = [getattr(current, part, ()) for part in ("body", "orelse", "finalbody")]
        parts += [handler.body for handler in getattr(current, "handlers", ())]
        pending += reversed([inner for part in parts for inner in part])


def _own_targets(statement: ast.stmt) -> Iterator[ast.expr]:
    match statement:
        case ast.Assign():
            yield from statement.targets
        case ast.AugAssign() | ast.AnnAssign():
            yield statement.target
        case ast.With():
            yield from (i.optional_vars for i in statement.items if i.optional_vars is not None)
        case ast.For():
            yield statement.target
