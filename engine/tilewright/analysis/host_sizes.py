"""Sizes that host code states around a launch: polynomials over what stays open.

Straight-line code is followed in its order; nothing runs. A name that a branch or a loop sets
stands for something new behind it, and two sizes are equal only where the text makes them so.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import per_module
from tilewright.analysis.tiles import ONE, ZERO, Polynomial
from tilewright.analysis.tiles.affine import divided
from tilewright.analysis.values import Value, ValueTable
from tilewright.python_syntax import is_name
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.host import before_launch, bound_names, host_of
from tilewright.source.model import Launch, Module
from tilewright.source.node_memo import per_text
from tilewright.source.parse import module_constants

_MADE = frozenset(f"torch.{n}" for n in ("empty", "zeros", "ones", "full", "rand", "randn"))
_LIKE = frozenset(f"torch.{n}_like" for n in ("empty", "zeros", "ones", "full", "rand", "randn"))
_NEW = frozenset(f"new_{n}" for n in ("empty", "zeros", "ones", "full"))
_SAME = frozenset(("to", "float", "half", "bfloat16", "cuda", "clone", "requires_grad_", "detach"))
_MOST_CALLS = 2
_BITS = 64
_MOST_TERMS = 256
_MOST_FACTORS = 16
_UNREAD = re.compile(r"\w+@\d+( |\.|$)")
"""What a name, or a size of it, is called where the statement that sets it is not followed."""

Numeric = Callable[[int, int], int]
_ROUNDED: dict[str, Numeric] = {
    "cdiv": lambda a, b: -(-a // b),
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "next_power_of_2": lambda a, _: 1 << max(a - 1, 0).bit_length(),
}


@dataclass(frozen=True)
class HostTensor:
    """A tensor of the host code.

    Attributes:
        key: what its open sizes are named after.
        shape: the extents, where the text states them all.
        strides: in elements; None where they are not known.
        node: the call that allocates it; None for any other tensor.
    """

    key: str
    shape: tuple[Polynomial, ...] | None = None
    strides: tuple[Polynomial, ...] | None = None
    node: ast.expr | None = None


Size = Polynomial | HostTensor | tuple["Size | None", ...]


class HostSizes:
    """The names of a host function as they are at one call."""

    def __init__(
        self, module: Module, launch: Launch, *, asks_callers: bool, depth: int = 0
    ) -> None:
        self._tree, self._names = module.tree, module.names
        self._table = ValueTable()
        self._rounded: dict[tuple[str, Polynomial, Polynomial], Value] = {}
        self.rounding: dict[Value, tuple[str, Polynomial, Polynomial]] = {}
        self._env: dict[str, Size | None] = {}
        host = host_of(module, launch)
        if host is None:
            return
        for argument in (*host.args.posonlyargs, *host.args.args, *host.args.kwonlyargs):
            self._env[argument.arg] = HostTensor(argument.arg)
        if asks_callers and depth < _MOST_CALLS:
            self._ask_caller(module, launch, host, depth)
        for statement in reversed(list(before_launch(module, launch))):
            self._run(statement)

    def size(self, node: ast.expr) -> Polynomial | None:
        """The number that an expression is; None if nothing is known of it."""
        return self.number(self.value(node))

    def with_open(self, names: frozenset[str]) -> "HostSizes":
        """The same, where some names are numbers that something else chooses."""
        if not names:
            return self
        other = copy(self)
        other._env = {**self._env, **{name: self.open(name) for name in names}}
        return other

    def tensor(self, node: ast.expr) -> HostTensor | None:
        """The tensor that an expression is, if known."""
        found = self.value(node)
        return found if isinstance(found, HostTensor) else None

    def number(self, value: Size | None) -> Polynomial | None:
        """A size as a number: a name that is open may stand for one."""
        if isinstance(value, HostTensor):
            is_open = value.shape is None and value.node is None
            is_open = is_open and not value.key.endswith((".shape", ".stride"))
            return self.open(value.key) if is_open else None
        return None if isinstance(value, tuple) else value

    def open(self, name: str) -> Polynomial:
        """A number that is known by its name only."""
        return Polynomial.from_value(self._table.make("global", detail=name))

    def rounded(self, name: str, one: Polynomial, two: Polynomial) -> Polynomial:
        """A quotient or the like of two sizes; one and the same for the same sizes."""
        if one.number is not None and two.number is not None and two.number != 0:
            return Polynomial.from_value(_ROUNDED[name](one.number, two.number))
        exact = divided(one, two) if name in ("cdiv", "floordiv", "mod") else None
        if exact is not None:
            return ZERO if name == "mod" else exact
        key = (name, one, two)
        if key not in self._rounded:
            value = self._table.make("global", detail=f"{name} {len(self._rounded)}")
            self._rounded[key] = value
            self.rounding[value] = key
        return Polynomial.from_value(self._rounded[key])

    def _ask_caller(
        self, module: Module, launch: Launch, host: ast.FunctionDef, depth: int
    ) -> None:
        is_launching = host.name in module.lookup.launches_in
        if not is_launching or "." in (launch.host_function or "."):
            return
        if not _is_called_once(module, host.name):
            return
        caller, call = _calls_of(module, host.name)[0]
        if any(isinstance(a, ast.Starred) for a in call.args) or caller == launch.host_function:
            return
        inner = HostSizes(
            module,
            replace(launch, node=call, host_function=caller),
            asks_callers=True,
            depth=depth + 1,
        )
        self._table, self._rounded, self.rounding = inner._table, inner._rounded, inner.rounding
        # What it does not pass is not what it has under the same name itself.
        self._env = {name: HostTensor(f"{name}@{host.name}") for name in self._env}
        names = [a.arg for a in (*host.args.posonlyargs, *host.args.args)]
        given = [*zip(names, call.args, strict=False), *((k.arg, k.value) for k in call.keywords)]
        stated = {str(name): inner.value(node) for name, node in given}
        self._env.update({name: value for name, value in stated.items() if value is not None})

    def _run(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            value = self.value(statement.value)
            for target in targets:
                self._bind(target, value, statement)
        else:
            for name in bound_names(statement):
                self._env[name] = HostTensor(f"{name}@{statement.lineno}")

    def _bind(self, target: ast.expr, value: Size | None, statement: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            known = value if value is not None else HostTensor(f"{target.id}@{statement.lineno}")
            self._env[target.id] = known
        elif isinstance(target, ast.Tuple | ast.List):
            parts = value if isinstance(value, tuple) else ()
            if isinstance(value, HostTensor) and value.key.endswith((".shape", ".stride")):
                parts = self._unpacked(value, target)
            for place, part in enumerate(target.elts):
                given = parts[place] if len(parts) == len(target.elts) else None
                self._bind(part, given, statement)

    def _unpacked(self, value: HostTensor, target: ast.Tuple | ast.List) -> tuple[Size | None, ...]:
        """``B, T = x.shape`` of a tensor whose rank this is the first to tell."""
        if any(isinstance(part, ast.Starred) for part in target.elts):
            return ()
        sizes = tuple(self.open(f"{value.key} {place}") for place in range(len(target.elts)))
        owner = value.key.removesuffix(".shape")
        for name, known in self._env.items() if owner != value.key else ():
            if isinstance(known, HostTensor) and known.key == owner and known.shape is None:
                self._env[name] = replace(known, shape=sizes)
        return sizes

    def value(self, node: ast.expr) -> Size | None:
        """What an expression is: a number, a tensor, or a tuple of such."""
        match node:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return Polynomial.from_value(number)
            case ast.Name(id=name):
                return self._env[name] if name in self._env else self._constant(node)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                is_plain = not any(isinstance(part, ast.Starred) for part in parts)
                return tuple(map(self.value, parts)) if is_plain else None
            case ast.BinOp(left=left, op=op, right=right):
                return self._computed(op, self.size(left), self.size(right))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                size = self.size(inner)
                return None if size is None else -size
            case ast.Attribute(value=owner, attr="shape"):
                return self._sizes(self.tensor(owner), "shape")
            case ast.Subscript():
                return self._item(node)
            case ast.Call():
                return self._call(node)
        return None

    def _constant(self, node: ast.expr) -> Polynomial | None:
        try:
            constants = module_constants(self._tree)
            found = Evaluator(constants, {}, self._names).value(node)
        except Undecidable:
            return None
        is_number = isinstance(found, int) and not isinstance(found, bool)
        return Polynomial.from_value(found) if is_number else None

    def _computed(
        self, op: ast.operator, one: Polynomial | None, two: Polynomial | None
    ) -> Polynomial | None:
        if one is None or two is None:
            return None
        match op:
            case ast.Add():
                return one + two
            case ast.Sub():
                return one - two
            case ast.Mult():
                return times(one, two)
            case ast.FloorDiv():
                above = one - two + ONE
                is_up = above.values and dict(above).get((), 0) == 0
                # ``(n + b - 1) // b`` rounds n / b up.
                return self.rounded(*(("cdiv", above) if is_up else ("floordiv", one)), two)
            case ast.Mod():
                return self.rounded("mod", one, two)
            case ast.Pow() | ast.LShift():
                return _power(op, one.number, two.number)
        return None

    def _sizes(self, tensor: HostTensor | None, what: str) -> Size | None:
        if tensor is None:
            return None
        known = tensor.shape if what == "shape" else tensor.strides
        return HostTensor(f"{tensor.key}.{what}") if known is None else known

    def _item(self, node: ast.Subscript) -> Size | None:
        whole, index = self.value(node.value), _integer(node.slice)
        if isinstance(whole, HostTensor):
            if whole.key.endswith((".shape", ".stride")) and index is not None:
                return self.open(f"{whole.key} {index}")
            return self._sliced(whole, node.slice)
        if isinstance(whole, tuple) and index is not None and -len(whole) <= index < len(whole):
            return whole[index]
        return None

    def _sliced(self, tensor: HostTensor, index: ast.expr) -> HostTensor | None:
        """``x[start::step]`` along the first axis, of literal numbers."""
        if not isinstance(index, ast.Slice) or index.upper is not None:
            return None
        start = 0 if index.lower is None else _integer(index.lower)
        step = 1 if index.step is None else _integer(index.step)
        if not tensor.shape or not tensor.strides or start is None or step is None:
            return None
        extent = tensor.shape[0].number
        if extent is None or start < 0 or step < 1:
            return None
        first = Polynomial.from_value(max(0, -(-(extent - start) // step)))
        stride = tensor.strides[0] * Polynomial.from_value(step)
        return HostTensor(
            f"{tensor.key}[]", (first, *tensor.shape[1:]), (stride, *tensor.strides[1:])
        )

    def _call(self, node: ast.Call) -> Size | None:
        dotted = self._names.resolve(node.func) or ""
        if dotted in _MADE:
            return self._new_tensor(node, node.args[0] if len(node.args) == 1 else None, dotted)
        if dotted in _LIKE and node.args:
            return self._like(self.tensor(node.args[0]), node)
        name = dotted.rpartition(".")[2]
        if name in ("cdiv", "min", "max", "next_power_of_2") and not node.keywords:
            sizes = [self.size(argument) for argument in node.args]
            known = [size for size in sizes if size is not None]
            if len(known) == len(sizes) and 1 <= len(known) <= 2:
                return self.rounded(name, known[0], known[-1] if len(known) > 1 else ONE)
            return None
        if name == "int" and len(node.args) == 1:
            return self.size(node.args[0])
        return self._method(node) if isinstance(node.func, ast.Attribute) else None

    def _method(self, node: ast.Call) -> Size | None:
        assert isinstance(node.func, ast.Attribute)
        owner, name = self.tensor(node.func.value), node.func.attr
        if owner is None:
            return None
        if name in ("size", "stride"):
            sizes = self._sizes(owner, "shape" if name == "size" else "stride")
            return self._size_at(sizes, _integer(node.args[0])) if node.args else sizes
        if name == "numel":
            return _product(owner.shape) if owner.shape is not None else self.open(f"{owner.key} #")
        if name in _NEW:
            return self._new_tensor(node, node.args[0] if len(node.args) == 1 else None, name)
        if name in ("view", "reshape"):
            return self._viewed(owner, node)
        if name == "contiguous":
            return self._contiguous(f"{owner.key}.contiguous", owner.shape)
        return replace(owner, node=None) if name in _SAME and owner.shape is None else None

    def _size_at(self, sizes: Size | None, index: int | None) -> Size | None:
        if index is None:
            return None
        if isinstance(sizes, HostTensor):
            return self.open(f"{sizes.key} {index}")
        if isinstance(sizes, tuple) and -len(sizes) <= index < len(sizes):
            return sizes[index]
        return None

    def _new_tensor(self, node: ast.Call, only: ast.expr | None, name: str) -> HostTensor:
        options = {keyword.arg for keyword in node.keywords}
        key = f"{name}@{node.lineno}:{node.col_offset}"
        if None in options or options & {"memory_format", "layout"} or not node.args:
            return HostTensor(key, node=node)
        first = node.args[:1] if name.endswith("full") else node.args
        shape = self.value(only) if only is not None else None
        if not isinstance(shape, tuple):
            is_plain = not any(isinstance(a, ast.Starred) for a in first)
            shape = tuple(map(self.value, first)) if is_plain else None
        if isinstance(shape, tuple) and len(shape) == 1 and isinstance(shape[0], tuple):
            shape = shape[0]
        sizes = [self.number(part) for part in shape or ()]
        known = tuple(size for size in sizes if size is not None)
        if shape is None or len(known) != len(sizes) or not known:
            return HostTensor(key, node=node)
        return replace(self._contiguous(key, known), node=node)

    def _like(self, other: HostTensor | None, node: ast.Call) -> HostTensor | None:
        if other is None:
            return None
        key = f"{other.key}.like@{node.lineno}"
        return replace(self._contiguous(key, other.shape), node=node)

    def _viewed(self, owner: HostTensor, node: ast.Call) -> HostTensor | None:
        shape = [self.size(argument) for argument in node.args]
        known = tuple(size for size in shape if size is not None and size.number != -1)
        key = f"{owner.key}.view@{node.lineno}"
        return self._contiguous(key, known) if len(known) == len(shape) else HostTensor(key)

    def _contiguous(self, key: str, shape: tuple[Polynomial, ...] | None) -> HostTensor:
        strides = None if shape is None else strides_of(shape)
        return HostTensor(key, shape, strides)


def strides_of(shape: Sequence[Polynomial]) -> tuple[Polynomial, ...]:
    """The strides of a contiguous tensor."""
    return tuple(_product(shape[axis + 1 :]) for axis in range(len(shape)))


def times(one: Polynomial, two: Polynomial) -> Polynomial | None:
    """A product of sizes; None of those that are too long to be written out."""
    if len(one.monomials) * len(two.monomials) > _MOST_TERMS:
        return None
    factors = sum(max((len(names) for names, _ in size), default=0) for size in (one, two))
    return None if factors > _MOST_FACTORS else one * two


def _power(op: ast.operator, base: int | None, exponent: int | None) -> Polynomial | None:
    """``base ** exponent`` or ``base << exponent`` of numbers that sizes may have."""
    if base is None or exponent is None or not 0 <= exponent < _BITS or abs(base) >> _BITS:
        return None
    return Polynomial.from_value(base << exponent if isinstance(op, ast.LShift) else base**exponent)


def _product(sizes: Sequence[Polynomial]) -> Polynomial:
    total = ONE
    for size in sizes:
        total = total * size
    return total


@per_module
def _calls_of(module: Module, name: str) -> tuple[tuple[str, ast.Call], ...]:
    """The calls, in the file's host functions, of one that launches kernels."""
    return tuple(
        (caller, node)
        for caller, function in module.host_functions.items()
        if name in _times_called(function)
        for node in nodes_like(function, ast.Call)
        if is_name(node.func, name)
    )


@per_module
def _is_called_once(module: Module, name: str) -> bool:
    """Whether there is one call; a function that has only moved is not read for it."""
    functions = module.host_functions.values()
    return sum(_times_called(function).get(name, 0) for function in functions) == 1


@per_text
def _times_called(function: ast.FunctionDef) -> Mapping[str, int]:
    """How often a function calls each name."""
    called = (node.func for node in nodes_like(function, ast.Call))
    return Counter(name.id for name in called if isinstance(name, ast.Name))


def _integer(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -number
    return None


@per_module
def _known_sizes(module: Module) -> dict[tuple[ast.Call, bool], HostSizes]:
    return {}


def sizes_at(module: Module, launch: Launch, *, asks_callers: bool = False) -> HostSizes:
    """The sizes at a launch; read once for each parsed file.

    With ``asks_callers``, a parameter of the function is what its only call in the file passes.
    """
    known = _known_sizes(module)
    key = launch.node, asks_callers
    if key not in known:
        known[key] = HostSizes(module, launch, asks_callers=asks_callers)
    return known[key]


def is_called_once(module: Module, launch: Launch) -> bool:
    """Whether the function of a launch has one call in the file, which gives its parameters."""
    return launch.host_function is not None and _is_called_once(module, launch.host_function)


def is_unread(value: Value) -> bool:
    """Whether a size is set by a statement that is not followed: it may be any other one."""
    return _UNREAD.match(str(value.detail)) is not None


def is_unrounded(sizes: HostSizes, extent: Polynomial, block: Polynomial) -> bool:
    """Whether the text shows where an extent is from, and nothing there rounds it to blocks.

    A name that is set from what is not followed may be a multiple; so may what is rounded.
    """
    for value in extent.values:
        name, one, two = sizes.rounding.get(value, ("", ONE, ONE))
        if name in ("mod", "min", "max", "next_power_of_2") or (name and two == block):
            return False
        parts = one.values | two.values if name else {value}
        if any(map(is_unread, parts)):
            return False
    return True


def quotients(sizes: HostSizes, size: Polynomial) -> Iterator[tuple[str, Polynomial, Polynomial]]:
    """What a size that is one rounded quotient rounds."""
    if len(size.values) == 1:
        (value,) = size.values
        if value in sizes.rounding and size == Polynomial.from_value(value):
            yield sizes.rounding[value]
