"""Numbers of the host code around a launch, as arithmetic over what stays open.

Nothing of the host code runs: what follows neither from its text nor from what the caller knows
of the launch is unknown.
"""

import ast
import math
from collections.abc import Callable, Mapping, Sequence

from tilewright.source.grids import grid_of
from tilewright.source.host import last_assigned
from tilewright.source.model import Launch, Module

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_DEPTH = 12
_FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "cdiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    "next_power_of_2": lambda n: 1 << max(n - 1, 0).bit_length(),
}
"""What the arithmetic may call; the worker knows the same names."""


class UnknownHostError(Exception):
    """A part of an expression that does not follow from the text and what is known."""


class HostNumbers:
    """Turns expressions of one launch's host code into arithmetic, as text.

    What is known of the launch is said by a subclass.
    """

    def __init__(self, module: Module, launch: Launch) -> None:
        self.module = module
        self.launch = launch

    def known(self, node: ast.expr, chosen: frozenset[str]) -> str | None:
        """An expression's number or open name, where the launch says it.

        Args:
            chosen: names that stand for constexprs already.
        """
        raise NotImplementedError

    def extents(self, parameter: str, attribute: str) -> Sequence[int] | None:
        """The shape ("shape") or strides ("stride") of a tensor argument."""
        raise NotImplementedError

    def axes(self) -> tuple[str, ...] | None:
        """An expression for each axis of the grid; None where one is unknown."""
        grid = grid_of(self.module, self.launch)
        if grid is None:
            return None
        try:
            return tuple(self.text(axis.expression, axis.chosen) for axis in grid.axes)
        except UnknownHostError:
            return None

    def number(self, node: ast.expr) -> int | None:
        """The number of an expression in which nothing stays open; None if it has none."""
        try:
            return int(evaluated(self.text(node), {}))
        except (UnknownHostError, NameError, ArithmeticError):
            return None

    def text(
        self, node: ast.expr, chosen: frozenset[str] = frozenset(), depth: int = _DEPTH
    ) -> str:
        """Of one expression; raises UnknownHostError."""
        known = self.known(node, chosen)
        if known is not None:
            return known
        match node:
            case ast.Constant(value=int() as value):
                return str(int(value))
            case ast.Subscript(value=ast.Attribute(value=owner, attr="shape"), slice=index):
                return self._extent(owner, "shape", index)
        if not depth:
            raise UnknownHostError
        return self._composed(node, chosen, depth - 1)

    def _composed(self, node: ast.expr, chosen: frozenset[str], depth: int) -> str:
        match node:
            case ast.Name(id=name):
                return self._name(name, chosen, depth)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                first = self.text(left, chosen, depth)
                return f"({first} {_OPERATORS[type(op)]} {self.text(right, chosen, depth)})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.text(operand, chosen, depth)})"
            case ast.Call(keywords=[]):
                return self._call(node, chosen, depth)
        raise UnknownHostError

    def _name(self, name: str, chosen: frozenset[str], depth: int) -> str:
        found = last_assigned(self.module, self.launch, name)
        if found is None:
            return self._constant(name)
        if found.position is None:
            return self.text(found.value, chosen, depth)
        match found.value:
            case ast.Attribute(value=owner, attr="shape"):
                return self._extent(owner, "shape", ast.Constant(found.position))
            case ast.Call(func=ast.Attribute(value=owner, attr="size"), args=[]):
                return self._extent(owner, "shape", ast.Constant(found.position))
            case ast.Tuple(elts=parts) if found.position < len(parts):
                return self.text(parts[found.position], chosen, depth)
        raise UnknownHostError

    def _constant(self, name: str) -> str:
        for statement in self.module.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=known)], value=ast.Constant(value=int() as n)):
                    if known == name:
                        return str(int(n))
        raise UnknownHostError

    def _call(self, node: ast.Call, chosen: frozenset[str], depth: int) -> str:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="numel"), args=[]):
                return str(math.prod(self._extents(owner, "shape")))
            case ast.Call(func=ast.Attribute(value=owner, attr="size"), args=[index]):
                return self._extent(owner, "shape", index)
            case ast.Call(func=ast.Attribute(value=owner, attr="stride"), args=[index]):
                return self._extent(owner, "stride", index)
        dotted = self.module.names.resolve(node.func) or _last(node.func)
        name, arguments = dotted.rpartition(".")[2], node.args
        match arguments:
            case [number] if dotted == "int":
                return self.text(number, chosen, depth)
            case [ast.BinOp(left=left, op=ast.Div(), right=right)] if dotted == "math.ceil":
                name, arguments = "cdiv", [left, right]
        if name not in _FUNCTIONS:
            raise UnknownHostError
        return f"{name}({', '.join(self.text(part, chosen, depth) for part in arguments)})"

    def _extents(self, owner: ast.expr, attribute: str) -> Sequence[int]:
        """Of the tensor argument that an expression is passed as."""
        wanted = ast.dump(owner)
        for parameter, given in self.launch.arguments.items():
            if ast.dump(given) == wanted:
                found = self.extents(parameter, attribute)
                if found is not None:
                    return found
        raise UnknownHostError

    def _extent(self, owner: ast.expr, attribute: str, index: ast.expr) -> str:
        extents = self._extents(owner, attribute)
        match index:
            case ast.Constant(value=int() as at):
                pass
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as after)):
                at = -after
            case _:
                raise UnknownHostError
        if not -len(extents) <= at < len(extents):
            raise UnknownHostError
        return str(extents[at])


def evaluated(expression: str, names: Mapping[str, object]) -> int:
    """The number of an expression that was made here, of whitelisted nodes alone.

    Raises:
        NameError: it needs a name that is not given.
        ArithmeticError: it divides by zero.
        TypeError: a name is no number.
    """
    made: int = eval(expression, {"__builtins__": {}, **_FUNCTIONS}, dict(names))
    return made


def _last(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
