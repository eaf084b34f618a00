"""What a host function's text says of its parameters: tensors with axes, numbers, flags, types."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.python_syntax import is_name, parameter_defaults
from tilewright.signatures.roles import POINTERS, Role, roles_of
from tilewright.signatures.shape_queries import (
    axis_asked,
    dtypes_demanded,
    is_rank,
    is_shape,
    literal_int,
)
from tilewright.source.model import Launch, Module


class Kind(StrEnum):
    """What a parameter is given."""

    TENSOR = "tensor"
    NUMBER = "number"
    REAL = "real"
    FLAG = "flag"
    DTYPE = "dtype"
    WORD = "word"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a host function.

    Attributes:
        rank: the number of axes where it is stated.
        least_rank: as far as axes are asked for.
        axes: names or sizes of axes by number, from the end where negative.
        is_index: a kernel computes addresses or bounds with what it reads there.
        strides: the axes whose strides the host reads; None where it reads all of them.
        has_default: a call may leave it out.
        default: the constant that it is then, where that is a literal.
    """

    name: str
    kind: Kind
    rank: int | None = None
    least_rank: int = 0
    axes: tuple[tuple[int, str], ...] = ()
    dtypes: tuple[str, ...] = ()
    is_index: bool = False
    strides: frozenset[int] | None = frozenset()
    has_default: bool = False
    default: int | float | bool | str | None = None

    @property
    def is_shaped(self) -> bool:
        """Whether the text says anything of the tensor's axes."""
        return self.rank is not None or self.least_rank > 0


_TENSORS_OWN = frozenset((
    "shape", "size", "stride", "dtype", "ndim", "dim", "data_ptr", "is_cuda", "contiguous",
    "is_contiguous", "numel", "device", "new_empty", "new_zeros", "view", "reshape", "T", "mT",
    "transpose", "permute", "clone", "flatten", "unsqueeze", "squeeze", "element_size", "to",
    "nelement", "zero_", "detach", "float", "long", "int", "half", "bfloat16", "type", "expand",
    "sum", "amax", "max", "min", "abs", "cumsum", "repeat_interleave", "untyped_storage", "t",
    "new_full", "new_ones", "fill_", "copy_", "is_floating_point", "item", "tolist", "unbind",
    "chunk", "split", "cuda", "cpu", "requires_grad", "movedim", "swapaxes", "type_as",
))  # fmt: skip
_INDEX_NAMES = re.compile(
    r"(^|_)(idx|ids?|index|indices|indptr|table|tables|slots?|mapping|lens?|lengths?|seqlens?|"
    r"offsets?|starts?|ends?|positions?|pos|labels?|targets?|tokens|cu|locs?|rows|cols|"
    r"experts|lut|order|perm|block_tables?)(_|$|\d)"
)
_REAL_NAMES = re.compile(
    r"(^|_)(eps|epsilon|scale|scaling|alpha|beta|gamma|p|prob|rate|theta|factor|value|momentum|"
    r"lr|temperature|softcap|cap|slope|threshold|lambd?|mu|std|mean|limit|clamp|decay|delta|c)(_|$)"
)
_FLAG_NAMES = re.compile(r"^(is|has|use|do|with|return|causal|training|inplace|needs|reverse)(_|$)")
_DTYPE_NAMES = re.compile(r"(^|_)dtype$")
_SAME = frozenset(
    ("contiguous", "clone", "detach", "to", "float", "half", "bfloat16", "int", "long")
)
_ROWS = frozenset(("view", "reshape", "flatten"))
_ANNOTATED = {
    "Tensor": Kind.TENSOR, "int": Kind.NUMBER, "float": Kind.REAL, "bool": Kind.FLAG,
    "str": Kind.WORD, "dtype": Kind.DTYPE,
}  # fmt: skip


@dataclass
class _Seen:
    """What was read of one name so far."""

    rank: int | None = None
    least: int = 0
    axes: dict[int, str] = field(default_factory=dict)
    strides: set[int] = field(default_factory=set)
    every_stride: bool = False
    is_tensor: bool = False


def parameters_of(
    module: Module, function: ast.FunctionDef, *, skip: int = 0
) -> tuple[Parameter, ...]:
    """The parameters of a function, in order, without the first ``skip``."""
    reader = _Reader(module, function)
    given = parameter_defaults(function.args)[skip:]
    return tuple(reader.read(argument, default) for argument, default in given)


class _Reader:
    def __init__(self, module: Module, function: ast.FunctionDef) -> None:
        self._module = module
        self._function = function
        placed = (n for n in ast.walk(function) if isinstance(n, ast.stmt | ast.expr))
        self._nodes = sorted(placed, key=lambda node: (node.lineno, node.col_offset))
        inside = {id(node) for node in self._nodes}
        self._launches = [one for one in module.launches if id(one.node) in inside]

    def read(self, argument: ast.arg, default: ast.expr | None) -> Parameter:
        name = argument.arg
        seen = self._observation_of(name)
        roles = tuple(self._roles(name))
        kind = self._kind(argument, default, seen, roles)
        literal = default.value if isinstance(default, ast.Constant) else None
        if kind is not Kind.TENSOR:
            value = literal if isinstance(literal, int | float | str) else None
            return Parameter(name, kind, has_default=default is not None, default=value)
        is_index = Role.INDEX_POINTER in roles or (
            _INDEX_NAMES.search(name.lower()) is not None and self._is_not_real(name)
        )
        return Parameter(
            name, kind, seen.rank, seen.least, tuple(sorted(seen.axes.items())),
            dtypes_demanded(self._nodes, name, self._module.names), is_index,
            None if seen.every_stride else frozenset(seen.strides), default is not None,
        )  # fmt: skip

    def _is_not_real(self, name: str) -> bool:
        """Whether no kernel multiplies with what it reads there, by their names."""
        return "grad" not in name and "scale" not in name and name not in ("c", "pos_emb")

    def _kind(
        self, argument: ast.arg, default: ast.expr | None, seen: _Seen, roles: tuple[Role, ...]
    ) -> Kind:
        name = argument.arg
        text = ast.unparse(argument.annotation) if argument.annotation is not None else ""
        for word, kind in _ANNOTATED.items():
            if re.search(rf"\b{word}\b", text):
                return kind
        if seen.is_tensor or any(role in POINTERS for role in roles):
            return Kind.TENSOR
        if isinstance(default, ast.Constant) and default.value is not None:
            return _of_literal(default.value)
        return self._by_use(name, roles)

    def _by_use(self, name: str, roles: tuple[Role, ...]) -> Kind:
        lower = name.lower()
        if _DTYPE_NAMES.search(lower):
            return Kind.DTYPE
        if Role.FLOAT in roles or _REAL_NAMES.search(lower):
            return Kind.REAL
        if _FLAG_NAMES.search(lower) or any(
            isinstance(n, ast.If | ast.IfExp) and is_name(n.test, name) for n in self._nodes
        ):
            return Kind.FLAG
        return Kind.NUMBER

    def _roles(self, name: str) -> Iterator[Role]:
        for launch, parameter in self._kernel_parameters_of(name):
            kernel = self._module.kernel(launch.kernel)
            if kernel is not None:
                role = roles_of(self._module, kernel).parameters.get(parameter)
                if role is not None:
                    yield role

    def _kernel_parameters_of(self, name: str) -> Iterator[tuple[Launch, str]]:
        """The kernels' parameters that get the name, or what a method makes of it."""
        for launch in self._launches:
            for parameter, given in launch.arguments.items():
                if is_name(_root(given), name):
                    yield launch, parameter

    def _observation_of(self, name: str) -> _Seen:
        seen = self._of_name(name)
        if seen.rank is None and not seen.least:
            for other in self._aliases(name):
                more = self._of_name(other)
                if more.rank is not None or more.least:
                    more.is_tensor = True
                    return more
        return seen

    def _aliases(self, name: str) -> Iterator[str]:
        for node in self._nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=other)], value=ast.Call() as value):
                    made = isinstance(value.func, ast.Attribute) and value.func.attr
                    if made in _SAME | _ROWS and is_name(_root(value), name) and other != name:
                        yield other

    def _of_name(self, name: str) -> _Seen:
        seen = _Seen()
        for node in self._nodes:
            self._note(node, name, seen)
        return seen

    def _note(self, node: ast.AST, name: str, seen: _Seen) -> None:
        match node:
            case ast.Attribute(value=owner, attr=attribute) if is_name(owner, name):
                seen.is_tensor |= attribute in _TENSORS_OWN
            case ast.Call(func=called, args=args):
                self._note_call(called, args, name, seen)
            case ast.Assign(targets=[target], value=value):
                self._note_assignment(target, value, name, seen)
            case ast.Subscript(value=owner, slice=index):
                self._note_subscript(owner, index, name, seen)
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(int() as rank)]):
                if is_rank(left, name):
                    seen.rank = rank

    def _note_call(self, called: ast.expr, args: list[ast.expr], name: str, seen: _Seen) -> None:
        if isinstance(called, ast.Attribute) and is_name(called.value, name):
            axis = literal_int(args[0]) if args else None
            if called.attr in ("stride", "size"):
                if axis is not None:
                    seen.least = max(seen.least, axis + 1 if axis >= 0 else -axis)
                if called.attr == "stride":
                    if axis is None:
                        seen.every_stride = True
                    else:
                        seen.strides.add(axis)
            return
        dotted = self._module.names.resolve(called) or ""
        if args and is_name(args[0], name) and (dotted.startswith("torch.") or dotted == "len"):
            seen.is_tensor = True
            if dotted == "len":
                seen.least = max(seen.least, 1)

    def _note_assignment(self, target: ast.expr, value: ast.expr, name: str, seen: _Seen) -> None:
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for one, given in pairs:
            if isinstance(one, ast.Tuple) and is_shape(given, name):
                self._note_unpacked(one, seen)
            elif isinstance(one, ast.Name) and (axis := _axis(given, name)) is not None:
                seen.axes.setdefault(axis, one.id)

    def _note_unpacked(self, target: ast.Tuple, seen: _Seen) -> None:
        if any(isinstance(part, ast.Starred) for part in target.elts):
            seen.least = max(seen.least, len(target.elts))
            last = target.elts[-1]
            if isinstance(last, ast.Name):
                seen.axes.setdefault(-1, last.id)
            return
        if seen.rank is None:
            seen.rank = len(target.elts)
        for axis, part in enumerate(target.elts):
            if isinstance(part, ast.Name) and part.id.strip("_"):
                seen.axes.setdefault(axis, part.id)

    def _note_subscript(self, owner: ast.expr, index: ast.expr, name: str, seen: _Seen) -> None:
        if is_shape(owner, name):
            axis = literal_int(index)
            if axis is not None:
                seen.least = max(seen.least, axis + 1 if axis >= 0 else -axis)
        elif is_name(owner, name):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            if any(isinstance(part, ast.Slice) for part in parts) or len(parts) > 1:
                seen.is_tensor = True
                plain = [p for p in parts if not isinstance(p, ast.Constant) or p.value is not ...]
                seen.least = max(seen.least, len(plain))


def _of_literal(value: object) -> Kind:
    if isinstance(value, bool):
        return Kind.FLAG
    if isinstance(value, int):
        return Kind.NUMBER
    return Kind.REAL if isinstance(value, float) else Kind.WORD


def _root(node: ast.expr) -> ast.expr:
    """``x`` of ``x.contiguous().view(-1)`` and of ``x[0]``."""
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr=made)) if made in _SAME | _ROWS:
                node = inner
            case ast.Attribute(value=inner, attr="T"):
                node = inner
            case _:
                return node


def _axis(node: ast.expr, name: str) -> int | None:
    """``axis_asked``, also by ``len(x)``."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[owner]) if is_name(owner, name):
            return 0
    return axis_asked(node, name)
