"""Whether the host hands a kernel a buffer that it rounded up, so that whole blocks fit."""

import ast

from tilewright.source.host import host_of
from tilewright.source.model import Kernel, Module

_MADE = tuple(f"torch.{name}" for name in ("empty", "zeros", "ones", "full"))
_PADS = ("torch.nn.functional.pad", "torch.constant_pad_nd")
_ROUNDS = frozenset(("next_power_of_2", "cdiv", "ceil_div", "ceil", "max", "round_up"))


def may_be_padded(module: Module, kernel: Kernel, parameter: str) -> bool:
    """Whether some launch of the file passes a buffer of a rounded extent for a parameter.

    What a helper gets is in its callers' texts, on which nothing said of it may depend: there
    any argument of their launches counts.
    """
    given = [
        (launch, launch.arguments.get(parameter)) for launch in module.launches_of(kernel.name)
    ]
    for caller in _callers(module, kernel):
        for launch in module.launches_of(caller.name):
            given += [(launch, node) for node in launch.arguments.values()]
    return any(
        node is not None and _is_padded(module, host, node)
        for launch, node in given
        if (host := host_of(module, launch)) is not None
    )


def _callers(module: Module, kernel: Kernel) -> list[Kernel]:
    """The kernels that call a kernel, or call one that does."""
    found: list[Kernel] = []
    pending = [kernel]
    while pending:
        new = [k for k in module.callers_of(pending.pop()) if k not in found]
        found += new
        pending += new
    return found


def _is_padded(module: Module, host: ast.FunctionDef, argument: ast.expr) -> bool:
    """Whether anything that the argument is made from was given a rounded extent."""
    pending, seen = [argument], set[str]()
    while pending:
        for node in ast.walk(pending.pop()):
            if isinstance(node, ast.Call) and _rounds_up(module, host, node):
                return True
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                pending += _values_of(host, node.id)
    return False


def _rounds_up(module: Module, host: ast.FunctionDef, call: ast.Call) -> bool:
    if module.names.is_call(call, *_PADS):
        return True
    if not module.names.is_call(call, *_MADE) or not call.args:
        return False
    sizes = [call.args[0]]
    names = {n.id for n in ast.walk(sizes[0]) if isinstance(n, ast.Name)}
    sizes += [value for name in names for value in _values_of(host, name)]
    return any(_is_rounded(node) for size in sizes for node in ast.walk(size))


def _is_rounded(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.FloorDiv)
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return (node.func.id if isinstance(node.func, ast.Name) else name) in _ROUNDS


def _values_of(host: ast.FunctionDef, name: str) -> list[ast.expr]:
    """What a function assigns to a name, wherever it does."""
    return [
        statement.value
        for statement in ast.walk(host)
        if isinstance(statement, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name for t in statement.targets)
    ]
