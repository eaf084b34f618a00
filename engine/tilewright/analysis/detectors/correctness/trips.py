"""Running sums of a loop, of which the last trip's partial tile may be left undefined."""

import ast
from collections.abc import Iterable

from tilewright.source.model import Kernel


def only_later_trips_use(kernel: Kernel, reduction: ast.expr, load: ast.Call) -> bool:
    """Whether a reduction is only added to a sum that later trips of a loop start from.

    The mask of the load moves with the loop: once it leaves lanes out, later trips have none.
    """
    for loop in kernel.node.body:
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        for place, statement in enumerate(loop.body):
            if not isinstance(statement, ast.AugAssign) or statement.value is not reduction:
                continue
            after = [s for s in kernel.node.body if s.lineno > loop.lineno]
            rest = [*loop.body[place + 1 :], *loop.orelse, *after]
            mask = [k.value for k in load.keywords if k.arg == "mask"] or load.args[1:2]
            return (
                isinstance(statement.target, ast.Name)
                and isinstance(statement.op, ast.Add)
                and statement.target.id not in _read(rest)
                and loop.target.id in _behind(mask, loop)
            )
    return False


def _behind(expressions: Iterable[ast.expr], loop: ast.For) -> set[str]:
    """Names that expressions in a loop are made from, in that trip."""
    found = _read(expressions)
    for statement in reversed(loop.body):
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in found for t in statement.targets
        ):
            found |= _read([statement.value])
    return found


def _read(nodes: Iterable[ast.AST]) -> set[str]:
    return {
        name.id
        for node in nodes
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)
    }
