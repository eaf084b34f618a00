"""A launch's grid as arithmetic over constexprs, everything else being what was recorded.

Nothing of the host code runs: what does not follow from its text and the recorded arguments is
unknown, and the grid then stays what it was.
"""

import ast
from collections.abc import Callable, Mapping

from tilewright.problems.model import LaunchCase, View
from tilewright.source.grids import grid_of
from tilewright.source.host import last_assigned
from tilewright.source.model import Launch, Module

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_DEPTH = 12
FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "cdiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    "next_power_of_2": lambda n: 1 << max(n - 1, 0).bit_length(),
}
"""What the arithmetic may call; the worker knows the same names."""


class UnknownGridError(Exception):
    """A part of a grid that does not follow from the text and the record."""


def axes_of(module: Module, launch: Launch, call: LaunchCase) -> tuple[str, ...] | None:
    """An expression for each axis, over names of constexprs; None where one is unknown."""
    grid = grid_of(module, launch)
    if grid is None:
        return None
    try:
        return tuple(
            _Folded(module, launch, call, axis.chosen).text(axis.expression, 0)
            for axis in grid.axes
        )
    except UnknownGridError:
        return None


def value_of(module: Module, launch: Launch, call: LaunchCase, node: ast.expr) -> int | None:
    """A host expression's number, computed from the recorded arguments; None if it has none."""
    try:
        text = _Folded(module, launch, call, frozenset()).text(node, 0)
        return int(evaluated(text, {}))
    except (UnknownGridError, NameError, ArithmeticError):
        return None


def evaluated(expression: str, names: Mapping[str, object]) -> int:
    """The number of an expression that was made here, of whitelisted nodes alone.

    Raises:
        NameError: it needs a name that is not given.
        ArithmeticError: it divides by zero.
        TypeError: a name is no number.
    """
    made: int = eval(expression, {"__builtins__": {}, **FUNCTIONS}, dict(names))
    return made


class _Folded:
    """Turns expressions of one launch's host code into text."""

    def __init__(
        self, module: Module, launch: Launch, call: LaunchCase, chosen: frozenset[str]
    ) -> None:
        self._module = module
        self._launch = launch
        self._chosen = chosen
        self._values = call.values
        self._views = {view.name: view for view in call.views}
        kernel = module.kernel(launch.kernel)
        self._constexprs = frozenset(kernel.constexprs if kernel else ())

    def text(self, node: ast.expr, depth: int) -> str:
        """Of one expression; raises UnknownGridError."""
        if depth > _DEPTH:
            raise UnknownGridError
        match node:
            case ast.Constant(value=int() as value):
                return str(int(value))
            case ast.Name(id=name):
                return self._name(name, depth)
            case ast.BinOp(op=op) if type(op) in _OPERATORS:
                left, right = self.text(node.left, depth + 1), self.text(node.right, depth + 1)
                return f"({left} {_OPERATORS[type(op)]} {right})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.text(operand, depth + 1)})"
            case ast.Call(keywords=[]):
                return self._call(node, depth)
            case ast.Subscript(value=ast.Attribute(value=owner, attr="shape"), slice=index):
                return self._extent(self._view(owner).shape, index)
        raise UnknownGridError

    def _name(self, name: str, depth: int) -> str:
        passed = name if name in self._chosen else self._passed(name)
        if passed is not None:
            return passed
        found = last_assigned(self._module, self._launch, name)
        if found is None:
            return self._constant(name)
        if found.position is None:
            return self.text(found.value, depth + 1)
        match found.value:
            case ast.Attribute(value=owner, attr="shape"):
                return str(self._at(self._view(owner).shape, found.position))
            case ast.Call(func=ast.Attribute(value=owner, attr="size"), args=[]):
                return str(self._at(self._view(owner).shape, found.position))
            case ast.Tuple(elts=parts) if found.position < len(parts):
                return self.text(parts[found.position], depth + 1)
        raise UnknownGridError

    def _passed(self, name: str) -> str | None:
        """What the kernel gets under a host name: a constexpr's own name, or a recorded number."""
        for parameter, given in self._launch.arguments.items():
            if isinstance(given, ast.Name) and given.id == name:
                if parameter in self._constexprs and self._is_open(given):
                    return parameter
                value = self._values.get(parameter)
                if type(value) is int and parameter not in self._constexprs:
                    return str(value)
        return None

    def _is_open(self, given: ast.Name) -> bool:
        """Whether a constexpr's host name has no value of its own in the text."""
        found = last_assigned(self._module, self._launch, given.id)
        return found is None or not isinstance(found.value, ast.Constant)

    def _constant(self, name: str) -> str:
        for statement in self._module.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=known)], value=ast.Constant(value=int() as n)):
                    if known == name:
                        return str(int(n))
        raise UnknownGridError

    def _call(self, node: ast.Call, depth: int) -> str:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="numel"), args=[]):
                return str(_product(self._view(owner).shape))
            case ast.Call(func=ast.Attribute(value=owner, attr="size"), args=[index]):
                return self._extent(self._view(owner).shape, index)
            case ast.Call(func=ast.Attribute(value=owner, attr="stride"), args=[index]):
                return self._extent(self._view(owner).strides, index)
            case ast.Call(args=[ast.BinOp(left=left, op=ast.Div(), right=right)]):
                if (self._module.names.resolve(node.func) or "") == "math.ceil":
                    return f"cdiv({self.text(left, depth + 1)}, {self.text(right, depth + 1)})"
        name = (self._module.names.resolve(node.func) or _last(node.func)).rpartition(".")[2]
        if name not in FUNCTIONS:
            raise UnknownGridError
        return f"{name}({', '.join(self.text(part, depth + 1) for part in node.args)})"

    def _view(self, owner: ast.expr) -> View:
        """The tensor argument that an expression is passed as."""
        wanted = ast.dump(owner)
        for parameter, given in self._launch.arguments.items():
            if parameter in self._views and ast.dump(given) == wanted:
                return self._views[parameter]
        raise UnknownGridError

    def _extent(self, extents: tuple[int, ...], index: ast.expr) -> str:
        match index:
            case ast.Constant(value=int() as at):
                return str(self._at(extents, at))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as at)):
                return str(self._at(extents, -at))
        raise UnknownGridError

    def _at(self, extents: tuple[int, ...], index: int) -> int:
        if not -len(extents) <= index < len(extents):
            raise UnknownGridError
        return extents[index]


def _last(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _product(extents: tuple[int, ...]) -> int:
    made = 1
    for extent in extents:
        made *= extent
    return made
