"""Which extent or stride of which tensor a launch passes, by the text of its host function."""

import ast
from dataclasses import dataclass

from tilewright.source.host import before_launch, bound_names, last_assigned
from tilewright.source.model import Launch, Module

_SAME_EXTENTS = ("contiguous", "to", "float", "half", "bfloat16", "clone", "detach")
_SHAPES = {"shape": "shape", "size": "shape", "stride": "stride"}


@dataclass(frozen=True)
class Size:
    """``tensor.shape[axis]`` or ``tensor.stride(axis)``.

    ``rank`` is the tensor's where unpacking tells it; ``axis`` counts from the end, below 0,
    where that is how it is written and the rank is not known.
    """

    tensor: str
    kind: str
    axis: int
    rank: int | None = None

    def is_along(self, other: "Size") -> bool | None:
        """Whether both are of one axis; None where that is not known."""
        rank = self.rank or other.rank
        one, two = (s.axis + (rank or 0) if s.axis < 0 else s.axis for s in (self, other))
        if rank is None and (self.axis < 0) is not (other.axis < 0):
            return None
        return one == two


def size_passed(module: Module, launch: Launch, node: ast.expr) -> Size | None:
    """The size of a tensor that an argument is; None where the text does not say.

    The tensor has to be what its name stands for at the launch as well.
    """
    read: ast.stmt | None = None
    position: int | None = None
    rank: int | None = None
    if isinstance(node, ast.Name):
        found = last_assigned(module, launch, node.id)
        if found is None:
            return None
        node, read = found.value, found.statement
        if found.position is not None:
            position, rank = found.position, found.count
    size = _whole(node, position, rank) if position is not None else _part(node)
    if size is None or (read is not None and _is_bound_after(module, launch, size, read)):
        return None
    return size


def _whole(node: ast.expr, position: int, rank: int | None) -> Size | None:
    """One of the names that ``tensor.shape`` is unpacked to."""
    if isinstance(node, ast.Call) and not node.args:
        node = node.func
    match node:
        case ast.Attribute(value=ast.Name(id=tensor), attr=name) if name in _SHAPES:
            return Size(tensor, _SHAPES[name], position, rank)
    return None


def _part(node: ast.expr) -> Size | None:
    """``tensor.shape[0]``, ``tensor.size(0)`` or ``tensor.stride(0)``."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=tensor), attr="shape")):
            axis = _integer(node.slice)
            return None if axis is None else Size(tensor, "shape", axis)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=tensor), attr="size" | "stride" as name),
            args=[argument],
        ):
            axis = _integer(argument)
            return None if axis is None else Size(tensor, _SHAPES[name], axis)
    return None


def _is_bound_after(module: Module, launch: Launch, size: Size, read: ast.stmt) -> bool:
    """Whether a tensor's name may stand for one of another size since a statement."""
    for statement in before_launch(module, launch):
        if size.tensor in bound_names(statement) and not _keeps(statement, size):
            return True
        if statement is read:
            return False
    return True


def _keeps(statement: ast.stmt, size: Size) -> bool:
    """``x = x.contiguous()``: other strides, perhaps, but the same extents."""
    match statement:
        case ast.Assign(
            targets=[ast.Name()],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)),
        ):
            return size.kind == "shape" and owner == size.tensor and name in _SAME_EXTENTS
    return False


def _integer(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _integer(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
