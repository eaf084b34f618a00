"""What host code says of the arguments of a function that launches kernels: shapes, types, values.

Read from the text alone. What it does not say is not made up: it is None.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tilewright.python_syntax import is_name
from tilewright.signatures.roles import POINTERS, Role, roles_of
from tilewright.signatures.shape_queries import (
    axis_asked,
    dtypes_demanded,
    is_rank,
    is_shape,
    literal_int,
)
from tilewright.source.model import Module

_NUMBERS = {"int": 0, "float": 0.0, "bool": False, "str": ""}
_MAKERS = frozenset(("rand", "randn", "randint", "empty", "zeros", "ones", "full"))
_ROWS = frozenset(("view", "reshape"))
_SAME = frozenset(("contiguous", "clone", "detach"))
_TENSOR = frozenset(("shape", "size", "stride", "dtype", "ndim", "dim", "data_ptr", "is_cuda"))
Extents = tuple[str | int | None, ...]


@dataclass(frozen=True)
class HostInput:
    """One parameter of a host function that has to be given.

    Attributes:
        shape: names or sizes of the axes, None for one without a name; None: the number of axes is
            not stated.
        dtypes: that the function accepts, as it says itself.
        is_index: a kernel computes addresses with what it reads there.
        line: of what states the shape; why it is known.
        flattened: the function takes any number of axes and makes rows of them.
    """

    name: str
    is_tensor: bool
    shape: Extents | None = None
    dtypes: tuple[str, ...] = ()
    is_index: bool = False
    line: int | None = None
    flattened: bool = False


@dataclass(frozen=True)
class ExampleCall:
    """A call of the function in the file itself, with what it is given, by parameter."""

    line: int
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, int | float | bool | str] = field(default_factory=dict)


def required(function: ast.FunctionDef, *, is_method: bool) -> tuple[ast.arg, ...]:
    """The parameters that a call must give, in order."""
    given = [*function.args.posonlyargs, *function.args.args]
    needed = given[: len(given) - len(function.args.defaults)]
    return tuple(needed[1:] if is_method else needed)


def host_inputs(module: Module, function: ast.FunctionDef, *, is_method: bool) -> list[HostInput]:
    """What a function says of the parameters that have to be given."""
    reader = _Reader(module, function)
    return [reader.read(argument) for argument in required(function, is_method=is_method)]


class _Reader:
    def __init__(self, module: Module, function: ast.FunctionDef) -> None:
        self._module = module
        placed = (n for n in ast.walk(function) if isinstance(n, ast.stmt | ast.expr))
        self._nodes = sorted(placed, key=lambda node: (node.lineno, node.col_offset))
        inside = {id(node) for node in self._nodes}
        self._launches = [one for one in module.launches if id(one.node) in inside]

    def read(self, argument: ast.arg) -> HostInput:
        name, annotated = argument.arg, _annotated(argument)
        is_tensor = annotated == "Tensor" or (
            annotated not in _NUMBERS
            and (self._is_queried_as_tensor(name) or self._is_pointer(name))
        )
        if not is_tensor:
            return HostInput(name, is_tensor=False)
        return replace(
            self._shaped(name),
            dtypes=dtypes_demanded(self._nodes, name, self._module.names),
            is_index=self._is_index(name),
        )

    def _is_queried_as_tensor(self, name: str) -> bool:
        """Whether the function asks what only tensors have."""
        return any(
            isinstance(node, ast.Attribute) and node.attr in _TENSOR and is_name(node.value, name)
            for node in self._nodes
        )

    def _roles(self, name: str) -> Iterator[Role]:
        for launch in self._launches:
            kernel = self._module.kernel(launch.kernel)
            if kernel is None:
                continue
            roles = roles_of(self._module, kernel).parameters
            for parameter, given in launch.arguments.items():
                if is_name(given, name) and parameter in roles:
                    yield roles[parameter]

    def _is_pointer(self, name: str) -> bool:
        return any(role in POINTERS for role in self._roles(name))

    def _is_index(self, name: str) -> bool:
        return any(role is Role.INDEX_POINTER for role in self._roles(name))

    def _shaped(self, name: str) -> HostInput:
        found = self._stated(name)
        if found.shape is not None or found.line is not None:
            return found
        for node in self._nodes:  # x_rows = x.reshape(-1, x.shape[-1]); n_rows, n = x_rows.shape
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=other)],
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr=made)),
                ) if own == name and made in (_ROWS | _SAME):
                    rows = self._stated(other, after=node.lineno)
                    return replace(rows, name=name, flattened=made in _ROWS)
        return found

    def _stated(self, name: str, after: int = 0) -> HostInput:
        """Of a name up to where it is given another tensor."""
        axes: dict[int, str] = {}
        rank: int | None = None
        line: int | None = None
        for node in self._nodes:
            if node.lineno <= after:
                continue
            if _is_replaced(node, name):
                break
            whole = _unpacked(node, name)
            if whole is not None:
                return HostInput(name, True, whole, line=node.lineno)
            axis = _axis_named(node, name)
            if axis is not None:
                axes.setdefault(*axis)
            known = _rank(node, name)
            if axis is not None or known is not None:
                line = line or node.lineno
                rank = max(rank or 0, known or 0, (axis[0] if axis else -1) + 1)
        if not rank:
            return HostInput(name, True)
        shape = tuple(axes.get(n, axes.get(n - rank)) for n in range(rank))
        return HostInput(name, True, shape, line=line)


def example_call(module: Module, entry: str, names: tuple[str, ...]) -> ExampleCall | None:
    """The first call of a function in the file whose tensors are made right there, of numbers."""
    for call in ast.walk(module.tree):
        if isinstance(call, ast.Call) and is_name(call.func, entry):
            given = dict(zip(names, call.args, strict=False))
            given |= {k.arg: k.value for k in call.keywords if k.arg in names}
            found = _example(module, call, given)
            if found.shapes:
                return found
    return None


def _example(module: Module, call: ast.Call, given: Mapping[str, ast.expr]) -> ExampleCall:
    assigned = _assigned_around(module.tree, call)
    shapes: dict[str, tuple[int, ...]] = {}
    dtypes: dict[str, str] = {}
    values: dict[str, int | float | bool | str] = {}
    for name, node in given.items():
        made = assigned.get(node.id) if isinstance(node, ast.Name) else node
        shape = _made_shape(module, made, assigned)
        if shape is not None:
            shapes[name] = shape
            if (dtype := _made_dtype(module, made)) is not None:
                dtypes[name] = dtype
        elif isinstance(made, ast.Constant) and isinstance(made.value, int | float | str):
            values[name] = made.value
    return ExampleCall(call.lineno, shapes, dtypes, values)


def _assigned_around(tree: ast.Module, call: ast.Call) -> dict[str, ast.expr]:
    """Names of the module and of the function around a call, as they are given before it."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    around = [f for f in functions if any(n is call for n in ast.walk(f))]
    inner = {id(n) for f in functions if f not in around for n in ast.walk(f)}
    assigns = [n for n in ast.walk(tree) if isinstance(n, ast.Assign) and id(n) not in inner]
    found: dict[str, ast.expr] = {}
    for node in sorted(assigns, key=lambda n: n.lineno):
        if node.lineno < call.lineno:
            for target in node.targets:
                found |= dict(_pairs(target, node.value))
    return found


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=False):
            yield from _pairs(one, other)


def _made_shape(
    module: Module, node: ast.expr | None, assigned: Mapping[str, ast.expr]
) -> tuple[int, ...] | None:
    if not isinstance(node, ast.Call):
        return None
    dotted = module.names.resolve(node.func) or ""
    if not dotted.startswith("torch.") or dotted.removeprefix("torch.") not in _MAKERS:
        return None
    sizes = next((k.value for k in node.keywords if k.arg == "size"), None)
    parts = [sizes] if sizes is not None else node.args
    if dotted == "torch.randint":
        parts = [p for p in parts if isinstance(p, ast.Tuple | ast.List)]
    if parts and isinstance(parts[0], ast.Tuple | ast.List):
        parts = parts[0].elts
    numbers = [assigned.get(p.id) if isinstance(p, ast.Name) else p for p in parts]
    extents = [n.value for n in numbers if isinstance(n, ast.Constant)]
    whole = [n for n in extents if isinstance(n, int) and not isinstance(n, bool)]
    return tuple(whole) if whole and len(whole) == len(parts) else None


def _made_dtype(module: Module, node: ast.expr | None) -> str | None:
    for keyword in node.keywords if isinstance(node, ast.Call) else ():
        dotted = module.names.resolve(keyword.value) or ""
        if keyword.arg == "dtype" and dotted.startswith("torch."):
            return dotted.removeprefix("torch.")
    return None


def _annotated(argument: ast.arg) -> str:
    text = ast.unparse(argument.annotation) if argument.annotation is not None else ""
    return text.strip("'\"").rpartition(".")[2]


def _unpacked(node: ast.AST, name: str) -> Extents | None:
    """The axes of ``rows, cols = x.shape``, also as one of several assignments in a line."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        together = zip(target.elts, value.elts, strict=False)
    else:
        together = zip([target], [value], strict=True)
    for one, given in together:
        names = _names(one) if is_shape(given, name) else None
        if names is not None:
            return tuple(part if part.strip("_") else None for part in names)
    return None


def _names(target: ast.expr) -> list[str] | None:
    """The names of a tuple that has nothing else."""
    parts = target.elts if isinstance(target, ast.Tuple) else []
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if names and len(names) == len(parts) else None


def _axis_named(node: ast.AST, name: str) -> tuple[int, str] | None:
    """(the axis, its name) of ``M = x.shape[0]`` and ``M = x.size(0)``."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return None
    axis = axis_asked(node.value, name)
    return None if axis is None else (axis, node.targets[0].id)


def _rank(node: ast.AST, name: str) -> int | None:
    """How many axes a tensor has at least, by ``x.stride(1)``, or just, by ``x.ndim == 2``."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="stride"), args=[index]):
            number = literal_int(index) if is_name(owner, name) else None
            return None if number is None or number < 0 else number + 1
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=int() as n)]):
            return n if is_rank(left, name) else None
    return None


def _is_replaced(node: ast.AST, name: str) -> bool:
    """Whether a statement gives the name a tensor that may have another shape."""
    match node:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
            match value:
                case ast.Call(func=ast.Attribute(value=owner, attr=made)):
                    return not (is_name(owner, name) and made in (_SAME | {"to"}))
            return True
    return False
