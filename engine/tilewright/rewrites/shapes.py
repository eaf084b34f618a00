"""Tile shapes of a kernel's values, in terms of the constexprs that size them.

A shape is a tuple of dimensions: a constexpr's name, an integer, or None where it is not known.
Every value has the shape of its first assignment that tells one: Triton forbids changing it.
"""

import ast
from collections.abc import Mapping

from tilewright.rewrites.scope import argument, is_tl_call, statements, tl_name, value_in
from tilewright.source.model import Kernel, Module

Dimension = str | int | None
Shape = tuple[Dimension, ...]

_REDUCTIONS = {"sum", "max", "min", "argmax", "argmin", "reduce", "xor_sum"}
_SHAPE_FIRST = {"zeros", "full"}


class Shapes:
    """The shapes of one kernel's names and expressions."""

    def __init__(self, module: Module, kernel: Kernel) -> None:
        self._module = module
        self._names: dict[str, Shape] = {}
        self._blocks: dict[str, Shape] = {}
        for parameter in kernel.parameters:
            self._names[parameter.name] = ()
        for statement in statements(kernel.node):
            self._learn(statement)

    @property
    def names(self) -> Mapping[str, Shape]:
        """Shapes of the names that have one; scalars have the empty shape."""
        return self._names

    def of(self, node: ast.expr | None) -> Shape | None:
        """The shape of an expression, None where it is not known."""
        match node:
            case ast.Name():
                return self._names.get(node.id)
            case ast.Constant():
                return ()
            case ast.BinOp():
                return _broadcast(self.of(node.left), self.of(node.right))
            case ast.Compare():
                return _broadcast(self.of(node.left), self.of(node.comparators[0]))
            case ast.UnaryOp():
                return self.of(node.operand)
            case ast.Subscript():
                return self._indexed(node)
            case ast.Attribute(attr="T"):
                return _reversed(self.of(node.value))
            case ast.Call():
                return self._called(node)
        return None

    def _learn(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            self._names.setdefault(statement.target.id, ())
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            return
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for node in (n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
            value = value_in(statement, node.id)
            shape = self.of(value)
            if shape is not None:
                self._names.setdefault(node.id, shape)
            block = self._block_shape(value)
            if block is not None:
                self._blocks.setdefault(node.id, block)

    def _block_shape(self, value: ast.expr | None) -> Shape | None:
        if not isinstance(value, ast.Call):
            return None
        if is_tl_call(self._module, value, "advance") and value.args:
            first = value.args[0]
            return self._blocks.get(first.id) if isinstance(first, ast.Name) else None
        places = {"make_block_ptr": 4, "make_tensor_descriptor": 3}
        for name, place in places.items():
            if is_tl_call(self._module, value, name):
                return _dimensions(argument(value, place, "block_shape"))
        return None

    def _indexed(self, node: ast.Subscript) -> Shape | None:
        base = self.of(node.value)
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if base is None:
            return None
        dimensions = list(base)
        shape: list[Dimension] = []
        for part in index:
            if isinstance(part, ast.Constant) and part.value is None:
                shape.append(1)
            elif isinstance(part, ast.Slice) and dimensions:
                shape.append(dimensions.pop(0))
            else:
                return None
        return (*shape, *dimensions)

    def _called(self, node: ast.Call) -> Shape | None:
        name = tl_name(self._module, node.func)
        if name is None:
            return self._method(node)
        if name == "arange":
            end = argument(node, 1, "end")
            return (_dimension(end),)
        if name in ("program_id", "num_programs", "cdiv"):
            return ()
        if name in _SHAPE_FIRST:
            return _dimensions(argument(node, 0, "shape"))
        if name == "dot":
            return _dot(self.of(argument(node, 0, "input")), self.of(argument(node, 1, "other")))
        if name == "trans" and len(node.args) == 1:
            return _reversed(self.of(node.args[0]))
        if name == "load":
            return self._loaded(argument(node, 0, "pointer"))
        if name in _REDUCTIONS:
            return self._reduced(node)
        return self._elementwise(node)

    def _loaded(self, pointer: ast.expr | None) -> Shape | None:
        if isinstance(pointer, ast.Name) and pointer.id in self._blocks:
            return self._blocks[pointer.id]
        return self.of(pointer)

    def _method(self, node: ast.Call) -> Shape | None:
        if not isinstance(node.func, ast.Attribute):
            return None
        owner = node.func.value
        if node.func.attr == "load" and isinstance(owner, ast.Name):
            return self._blocks.get(owner.id)
        if node.func.attr == "to":
            return self.of(owner)
        if node.func.attr == "trans":
            return _reversed(self.of(owner))
        return None

    def _reduced(self, node: ast.Call) -> Shape | None:
        axis = argument(node, 1, "axis")
        shape = self.of(node.args[0]) if node.args else None
        if axis is None:
            return ()
        if shape is None or not isinstance(axis, ast.Constant) or not isinstance(axis.value, int):
            return None
        if not -len(shape) <= axis.value < len(shape):
            return None
        place = axis.value % len(shape)
        return (*shape[:place], *shape[place + 1 :])

    def _elementwise(self, node: ast.Call) -> Shape | None:
        shape: Shape | None = ()
        for part in node.args:
            shape = _broadcast(shape, self.of(part))
        return shape


def _dimension(node: ast.expr | None) -> Dimension:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    return None


def _dimensions(node: ast.expr | None) -> Shape | None:
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_dimension(part) for part in node.elts)
    return None


def _reversed(shape: Shape | None) -> Shape | None:
    return None if shape is None else shape[::-1]


def _dot(a: Shape | None, b: Shape | None) -> Shape | None:
    if a is None or b is None or len(a) < 2 or len(b) < 2:
        return None
    return (*a[:-1], b[-1])


def _broadcast(a: Shape | None, b: Shape | None) -> Shape | None:
    if a is None or b is None:
        return None
    width = max(len(a), len(b))
    left = (1,) * (width - len(a)) + a
    right = (1,) * (width - len(b)) + b
    return tuple(q if p == 1 else p for p, q in zip(left, right, strict=True))
