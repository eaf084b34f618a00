"""Tensors that have room past the end that a mask states: they are as long as whole blocks."""

import ast
from collections.abc import Iterator, Sequence

from tilewright.analysis.detectors.correctness.masks import additive_parts
from tilewright.analysis.detectors.correctness.unmasked import says_whole
from tilewright.analysis.detectors.launch_sizes import size_passed
from tilewright.analysis.values import Value
from tilewright.source.host import host_of, resolve
from tilewright.source.model import Kernel, Module

_MADE = tuple(f"torch.{name}" for name in ("empty", "zeros", "ones", "full"))
_PADS = ("torch.nn.functional.pad", "torch.constant_pad_nd")
_NEW = frozenset(f"new_{name}" for name in ("empty", "zeros", "ones", "full"))
_ROUNDING = ("pad", "align", "round_up", "roundup", "ceil_div")
_ROUNDS = frozenset(("next_power_of_2", "cdiv", "ceil_div", "ceil", "max", "round_up"))


def has_room(module: Module, kernel: Kernel, base: str, pointer: Value, index: Value) -> bool:
    """Whether a tensor may be longer than what a mask ends: it is as long as whole blocks."""
    return (
        _is_as_long(module, kernel, base, index)
        or may_be_padded(module, kernel, base)
        or _has_padded_rows(module, kernel, pointer)
    )


def _is_as_long(module: Module, kernel: Kernel, tensor: str, index: Value) -> bool:
    """Whether a launch passes an extent of the tensor itself for the length of a single block.

    Or one that was rounded up, by its name.
    """
    if index.op != "arange":
        return False
    block = str(index.operands[1].detail)
    for launch in module.launches_of(kernel.name):
        length, given = launch.arguments.get(block), launch.arguments.get(tensor)
        if length is not None and says_whole(ast.unparse(length)):
            return True
        size = None if length is None else size_passed(module, launch, length)
        if size is not None and isinstance(given, ast.Name) and size.tensor == given.id:
            return True
    return False


def _has_padded_rows(module: Module, kernel: Kernel, pointer: Value) -> bool:
    """Whether an address multiplies by a row length that is rounded up, by its name or value."""
    names = [str(part.detail) for part in additive_parts(pointer) if part.op == "param"]
    return any(says_whole(name) for name in names) or any(
        _is_rounded(node)
        for launch in module.launches_of(kernel.name)
        for name in names
        if name in launch.arguments
        for node in ast.walk(resolve(module, launch, launch.arguments[name]))
    )


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
    return any(
        isinstance(node, ast.Call) and _rounds_up(module, host, node)
        for node in _made_from(host, [argument])
    )


def _rounds_up(module: Module, host: ast.FunctionDef, call: ast.Call) -> bool:
    if module.names.is_call(call, *_PADS):
        return True
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr in _NEW
    if not (is_method or module.names.is_call(call, *_MADE)) or not call.args:
        return False
    return any(map(_is_rounded, _made_from(host, call.args)))


def _made_from(host: ast.FunctionDef, expressions: Sequence[ast.expr]) -> Iterator[ast.AST]:
    """The parts of expressions, and of all that their names are given in a function."""
    pending, seen = list(expressions), set[str]()
    while pending:
        for node in ast.walk(pending.pop()):
            yield node
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                pending += _values_of(host, node.id)


def _is_rounded(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.FloorDiv)
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    name = node.func.id if isinstance(node.func, ast.Name) else name
    return name in _ROUNDS or any(word in name.lower() for word in _ROUNDING)


def _values_of(host: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """What a function assigns to a name, wherever it does."""
    for statement in ast.walk(host):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                yield from _assigned_values(target, statement.value, name)


def _assigned_values(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    if isinstance(target, ast.Name) and target.id == name:
        yield value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for part, given in zip(target.elts, value.elts, strict=False):
            yield from _assigned_values(part, given, name)
