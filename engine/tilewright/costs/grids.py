"""The grid of a launch with other tile sizes, by the host's own expression of it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from tilewright.analysis.per_kernel import kept_by
from tilewright.source.grids import grid_of
from tilewright.source.model import Kernel, Launch, Module
from tilewright.targets.model import LaunchFacts

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_CALLS: Mapping[str, Callable[..., int]] = {
    "triton.cdiv": lambda a, b: -(-a // b),
    "triton.language.cdiv": lambda a, b: -(-a // b),
    "triton.next_power_of_2": lambda n: 1 << max(0, n - 1).bit_length(),
    "min": min,
    "max": max,
    "int": int,
}


class _UnknownError(Exception):
    """The expression holds what the launch does not tell."""


def grid_with(
    module: Module, kernel: Kernel, launch: LaunchFacts, changed: LaunchFacts
) -> tuple[int, ...] | None:
    """The grid of ``changed``, which is ``launch`` with other constexprs.

    None where the host's expression cannot be followed, or does not give the grid that
    ``launch`` is known to have.
    """
    for one in module.launches:
        if one.kernel != kernel.name:
            continue
        known = _evaluated(module, one, launch)
        if known is not None and (not launch.grid or known == _whole(launch.grid)):
            return _evaluated(module, one, changed)
    return None


def _whole(grid: tuple[int, ...]) -> tuple[int, ...]:
    return (*grid, 1, 1, 1)[:3]


class _Host:
    """What the host's text says of a launch: the same for each of its configurations."""

    def __init__(self, module: Module, launch: Launch) -> None:
        self.module = module
        self.launch = launch
        grid = grid_of(module, launch)
        self.axes = None if grid is None else [axis.expression for axis in grid.axes]
        self.passed = {
            given.id: name
            for name, given in launch.arguments.items()
            if isinstance(given, ast.Name)
        }
        same = {ast.dump(given): name for name, given in launch.arguments.items()}
        parts = (node for axis in self.axes or () for node in ast.walk(axis))
        self.same = {id(n): same.get(ast.dump(n)) for n in parts if isinstance(n, ast.expr)}


def _key(module: Module, launch: Launch) -> Hashable:
    return id(module), id(launch)


_host = kept_by(_key, 64)(_Host)


def _evaluated(module: Module, launch: Launch, facts: LaunchFacts) -> tuple[int, ...] | None:
    host = _host(module, launch)
    if host.axes is None:
        return None
    reader = _Reader(host, facts)
    try:
        axes = tuple(int(reader.value(axis)) for axis in host.axes)
    except (_UnknownError, ZeroDivisionError, TypeError, ValueError, IndexError):
        return None
    return _whole(axes)


class _Reader:
    """Evaluates a host's expressions by what the launch gave for the names in them."""

    def __init__(self, host: _Host, facts: LaunchFacts) -> None:
        self._module = host.module
        self._facts = facts
        self._passed = host.passed
        self._same = host.same

    def value(self, node: ast.expr) -> Any:
        passed = self._same.get(id(node))
        argument = None if passed is None else self._facts.argument(passed)
        if argument is not None and argument.value is not None:
            return argument.value
        match node:
            case ast.Constant(value=int() as number):
                return number
            case ast.Name(id=name):
                return self._named(name)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self.value(inner)
            case ast.Subscript(value=ast.Attribute(value=owner, attr="shape"), slice=at):
                return self._shape(owner)[self.value(at)]
            case ast.Call():
                return self._call(node)
        raise _UnknownError

    def _named(self, name: str) -> Any:
        argument = self._facts.argument(self._passed.get(name, name))
        if argument is None or argument.value is None:
            raise _UnknownError
        return argument.value

    def _shape(self, owner: ast.expr) -> tuple[int, ...]:
        name = owner.id if isinstance(owner, ast.Name) else ""
        argument = self._facts.argument(self._passed.get(name, name))
        if argument is None or argument.shape is None:
            raise _UnknownError
        return argument.shape

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("numel", "size"):
            shape = self._shape(node.func.value)
            if node.func.attr == "size" and node.args:
                return shape[self.value(node.args[0])]
            total = 1
            for extent in shape:
                total *= extent
            return total
        rule = _CALLS.get(self._module.names.resolve(node.func) or "")
        if rule is None or node.keywords:
            raise _UnknownError
        return rule(*map(self.value, node.args))
