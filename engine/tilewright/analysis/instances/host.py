"""Host functions at chosen sizes: the tensors they make, and what they launch kernels with."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tilewright.analysis.instances.evaluator import Evaluator
from tilewright.analysis.instances.hooks import End
from tilewright.analysis.instances.model import (
    UNKNOWN,
    Dim,
    Dotted,
    Function,
    Infeasible,
    Known,
    Method,
    Open,
    Storage,
    Tensor,
    Unfollowed,
    Unknown,
    keys_of,
    product,
    strides_of,
)
from tilewright.analysis.instances.operators import READ, RESHAPES, SAME_SHAPE, is_negated
from tilewright.analysis.instances.sizes import UNITS, Sizes
from tilewright.python_syntax import parameter_defaults
from tilewright.source.model import Launch, Module

_STEPS = 2000
_TURNS = 8
_MADE = ("empty", "zeros", "ones", "full", "rand", "randn")
_ASKED = frozenset(
    ("dtype", "device", "is_cuda", "requires_grad", "type", "element_size", "itemsize", "dim",
     "ndim", "is_contiguous", "get_device", "is_floating_point", "data_ptr", "stride", "shape",
     "size", "numel", "layout", "index")
)  # fmt: skip
_PER_DEVICE = "multi_processor_count"


@dataclass(frozen=True, eq=False)
class Call:
    """A launch with the values of its arguments."""

    launch: Launch
    arguments: dict[str, Known]


class Host(Evaluator):
    """A host function up to its end; ``launches`` are the calls of one kernel that it makes."""

    def __init__(
        self, module: Module, function: ast.FunctionDef, kernel: str, sizes: Sizes
    ) -> None:
        super().__init__(module, _STEPS, sizes.scale)
        self.sizes = sizes
        self.launches: list[Call] = []
        self.storages: list[Storage] = []
        self._kernel = kernel
        self._node = function
        self._launch_of = module.lookup.launch_of
        self._launching = frozenset(id(launch.node) for launch in module.launches_of(kernel))
        self._on_launch: Callable[[Host, Call], None] | None = None

    def evaluate(self, on_launch: Callable[["Host", Call], None]) -> None:
        """Run the function; ``on_launch`` is called with this object at each launch it makes."""
        self._on_launch = on_launch
        for argument, default in parameter_defaults(self._node.args):
            value = UNKNOWN if default is None else self.value(default)
            self.env[argument.arg] = self._parameter(argument.arg, value)
        self.run(self._node.body)

    def _parameter(self, name: str, default: Known) -> Known:
        return default if isinstance(default, bool | str | int | float) else Open(name, default)

    # What parameters stand for.

    def tensor(self, value: Known) -> Tensor | None:
        """A value as a tensor; a parameter becomes one when it is used so."""
        if isinstance(value, Open):
            if value.tensor is None:
                storage = Storage(value.key, None)
                self.storages.append(storage)
                value.tensor = Tensor(storage, value.key)
                rank = self.sizes.ranks.get(value.key)
                if rank is not None:
                    value.tensor = self._ranked(value.tensor, rank)
                elif value.key in self.sizes.flat:
                    storage.size = self.sizes.size(f"{value.key}#")
            return value.tensor
        return value if isinstance(value, Tensor) else None

    def number(self, value: Known) -> Known:
        """A value as a number."""
        if not isinstance(value, Open):
            return value
        if value.tensor is not None or value.default is not UNKNOWN:
            return UNKNOWN
        if value.number is None:
            value.number = self.sizes.size(value.key)
        return value.number

    def _ranked(self, tensor: Tensor, rank: int) -> Tensor:
        shape = tuple(self.sizes.size(f"{tensor.key}.{axis}") for axis in range(rank))
        strides = strides_of(shape)
        if self.sizes.is_padded and rank > 1:
            rows = strides_of((*shape[:-1], shape[-1] + 3))
            strides = (*rows[:-1], 1)
        last = sum((int(n) - 1) * int(s) for n, s in zip(shape, strides, strict=True))
        tensor.storage.size = Dim(1 + last, frozenset[str]().union(*map(keys_of, shape)))
        return replace(tensor, shape=shape, strides=strides)

    def _learned(self, owner: Open, rank: int) -> Tensor | None:
        """The tensor of a parameter whose shape is taken apart into so many sizes."""
        tensor = self.tensor(owner)
        if tensor is not None and tensor.shape is None:
            self.sizes.ranks[owner.key] = rank
            owner.tensor = tensor = self._ranked(tensor, rank)
        return tensor

    # Hooks of the evaluator.

    def asked_to_round(self, value: Known) -> None:
        self.sizes.mark_ragged(keys_of(value))

    def divided(self, one: Known, two: Known) -> None:
        self.sizes.mark_ragged(keys_of(one))

    def computed(self, op: type[ast.operator], one: Known, two: Known) -> Known:
        plain = self.number(one), self.number(two)
        if plain != (one, two) and not any(isinstance(v, Unknown | Open) for v in plain):
            return self.operation(op, *plain)
        return UNKNOWN

    def compared(self, op: type[ast.cmpop], one: Known, two: Known) -> Known:
        plain = self.number(one), self.number(two)
        if any(isinstance(v, Open | Tensor | Unknown | Dotted) for v in plain):
            return UNKNOWN
        for side, other in ((one, two), (two, one)):
            if isinstance(side, Method) and isinstance(side.owner, Open):
                return self._shape_compared(op, side, other)
        if plain == (one, two):
            raise Unfollowed("a comparison of what is not known")
        return self.comparison(op, *plain)

    def _shape_compared(self, op: type[ast.cmpop], one: Method, two: Known) -> Known:
        """``x.shape == (M, N)``, which says how many axes the tensor has."""
        if one.name != "shape" or not isinstance(two, tuple) or isinstance(two, Unknown):
            raise Unfollowed("a comparison of what is not known")
        tensor = self._learned(one.owner, len(two))
        assert tensor is not None
        return self.comparison(op, tensor.shape, tuple(self.number(part) for part in two))

    def same(self, one: Known, two: Known) -> bool | None:
        if isinstance(one, Open | Tensor) and two is None:
            return False
        return super().same(one, two)

    def truth(self, value: Known) -> bool | None:
        is_option = isinstance(value, Open) and value.default is None
        return True if is_option else super().truth(value)

    def undecided(self, node: ast.If) -> End | None:
        """Run the first branch, of ``not`` the second: a condition stays what it is taken for."""
        if node.body and isinstance(node.body[-1], ast.Raise):
            return self.run(node.orelse)
        if self._depends_on_sizes(node.test):
            raise Unfollowed("an unknown condition about sizes")
        return self.run(node.orelse if is_negated(node.test) else node.body)

    def _depends_on_sizes(self, test: ast.expr) -> bool:
        asked = {
            id(n.value) for n in ast.walk(test) if isinstance(n, ast.Attribute) and n.attr in _ASKED
        }
        for node in ast.walk(test):
            if isinstance(node, ast.Name) and id(node) not in asked:
                value = self.env.get(node.id)
                if type(value) is not bool and isinstance(value, int | Tensor):
                    return True
        return False

    def endless(self, node: ast.For | ast.While) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and id(inner) in self._launching:
                raise Unfollowed("a launch in an unknown loop")
        self._share_named(node)
        self.forget([node])

    def turns(self, node: ast.For, over: Any) -> Iterator[Known]:
        if len(over) > _TURNS:
            raise Unfollowed("a long loop")
        return iter(over)

    def changed(self, target: ast.expr) -> None:
        self._share_named(target)

    def _share_named(self, node: ast.AST) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                value = self.env.get(inner.id)
                self._share(value)
                if isinstance(value, list | dict):
                    self.env[inner.id] = UNKNOWN

    def _share(self, value: Known) -> None:
        """Something that is not evaluated gets a value, and may write through it."""
        if isinstance(value, tuple | list):
            for part in value:
                self._share(part)
        elif isinstance(value, dict):
            self._share(list(value.values()))
        elif isinstance(value, Tensor):
            value.storage.is_shared = True
        elif isinstance(value, Open) and value.tensor is not None:
            value.tensor.storage.is_shared = True

    def forget(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if any(id(inner) in self._launching for inner in ast.walk(statement)):
                raise Unfollowed("a launch in a statement that is not followed")
            self._share_named(statement)
        super().forget(body)

    def unpacked(self, value: Known, parts: list[ast.expr]) -> list[Known]:
        if isinstance(value, Method) and value.name in ("shape", "size"):
            tensor = self._learned(value.owner, len(parts))
            if tensor is not None and tensor.shape is not None and len(tensor.shape) == len(parts):
                self._unify(value.owner.key, parts)
                return list(tensor.shape)
        return super().unpacked(value, parts)

    def _unify(self, key: str, parts: list[ast.expr]) -> None:
        """A name that is a size already, and set to another tensor's: the two are one size."""
        for axis, part in enumerate(parts):
            if not isinstance(part, ast.Name) or part.id.startswith("_"):
                continue
            own, before = f"{key}.{axis}", keys_of(self.env.get(part.id))
            if len(before) == 1 and own not in before and own not in self.sizes.aliases:
                (other,) = before
                if self.sizes.aliases.get(other) != own:
                    raise Infeasible("one name for two sizes", same=(own, other))

    def member(self, owner: Known, name: str) -> Known:
        if isinstance(owner, Open) and name == "shape":
            tensor = self.tensor(owner)
            known = tensor.shape if tensor is not None else None
            return Method(owner, "shape") if known is None else known
        tensor = self.tensor(owner) if name in ("shape", "T", "data") else None
        if tensor is None:
            return UNKNOWN
        if name == "shape":
            return UNKNOWN if tensor.shape is None else tensor.shape
        return self._transposed(tensor) if name == "T" else tensor

    def _attribute(self, node: ast.Attribute) -> Known:
        if node.attr == _PER_DEVICE:
            return self.sizes.size(UNITS)
        return super()._attribute(node)

    def _transposed(self, tensor: Tensor) -> Known:
        if tensor.shape is None or tensor.strides is None or len(tensor.shape) != 2:
            return UNKNOWN
        return replace(tensor, shape=tensor.shape[::-1], strides=tensor.strides[::-1])

    def item(self, node: ast.Subscript, owner: Known) -> Known:
        if isinstance(owner, Method) and owner.name == "shape":
            index = self.value(node.slice)
            return self._open_size(owner.owner, index)
        if isinstance(owner, Method) and owner.owner is None and isinstance(owner.name, str):
            return UNKNOWN
        tensor = self.tensor(owner)
        if tensor is not None:
            return self._part(tensor)
        return UNKNOWN

    def _open_size(self, owner: Open, index: Known) -> Known:
        if type(index) is not int:
            return UNKNOWN
        rank = self.sizes.ranks.get(owner.key)
        if rank is not None and index < 0:
            index += rank
        return self.sizes.size(f"{owner.key}.{index}")

    # Calls.

    def call(
        self, node: ast.Call, function: Known, given: list[Known], named: dict[str, Known]
    ) -> Known:
        launch = self._launch_of(node)
        if launch is not None:
            self._launched(launch, given, named)
            return None
        if isinstance(function, Dotted):
            return self._function_result(node, function.name, given, named)
        if isinstance(function, Method) and not isinstance(function.owner, Unknown):
            return self._method(node, function, given, named)
        self._share([*given, *named.values()])
        return UNKNOWN

    def _function_result(
        self, node: ast.Call, name: str, given: list[Known], named: dict[str, Known]
    ) -> Known:
        last = name.rpartition(".")[2]
        if name in ("triton.cdiv", "triton.language.cdiv") or last == "ceil_div":
            return self._cdiv(given)
        if last == "next_power_of_2":
            one = self.number(given[0])
            self.asked_to_round(one)
            return Dim(1 << max(int(one) - 1, 0).bit_length(), keys_of(one))
        if name.startswith("torch.") and last in _MADE:
            return self._new_tensor(node, given, named, last)
        if name.startswith("torch.") and last.endswith("_like") and given:
            return self._like(node, self.tensor(given[0]), last)
        if name in ("min", "max", "int", "float", "bool", "abs", "len"):
            return self._numeric(node, name, given)
        if not name.startswith(("torch.cuda", "torch.empty", "isinstance")) and last != "device":
            self._share([*given, *named.values()])
        return UNKNOWN

    def _cdiv(self, given: list[Known]) -> Known:
        one, two = self.number(given[0]), self.number(given[1])
        self.asked_to_round(one)
        return Dim(-(-int(one) // int(two)), keys_of(one))

    def _numeric(self, node: ast.Call, name: str, given: list[Known]) -> Known:
        if name == "len" and len(given) == 1 and isinstance(given[0], Open):
            return self._open_size(given[0], 0) if self.tensor(given[0]) else UNKNOWN
        tensor = self.tensor(given[0]) if name == "len" else None
        if tensor is not None:
            return tensor.shape[0] if tensor.shape else UNKNOWN
        plain = [self.number(value) for value in given]
        if any(isinstance(value, Unknown | Tensor | Dotted) for value in plain):
            return UNKNOWN
        return self._builtin(node, name, plain)

    def _new_tensor(
        self, node: ast.expr, given: list[Known], named: dict[str, Known], what: str
    ) -> Known:
        shape = named.get("size", given[0] if given else UNKNOWN)
        if len(given) > 1 and what != "full" and not isinstance(shape, tuple | list):
            shape = given
        if isinstance(shape, Method) or not isinstance(shape, tuple | list):
            shape = UNKNOWN if isinstance(shape, Unknown | Method) else (shape,)
        sizes: tuple[Known, ...] = ()
        if isinstance(shape, tuple | list):
            sizes = tuple(self.number(part) for part in shape)
        is_known = isinstance(shape, tuple | list) and all(isinstance(n, int) for n in sizes)
        storage = Storage(what, product(sizes) if is_known else None, node, what == "empty")
        self.storages.append(storage)
        if not is_known or named.keys() & {"memory_format", "layout"}:
            storage.size = None
            return Tensor(storage)
        return Tensor(storage, "", sizes, strides_of(sizes))

    def _like(self, node: ast.expr, other: Tensor | None, what: str) -> Known:
        if other is not None and other.shape is None:
            is_whole = bool(other.key) and other.storage.name == other.key
            size = other.storage.size if is_whole else None
        else:
            size = None if other is None or other.shape is None else product(other.shape)
        if other is not None and other.strides is not None and other.shape is not None:
            # It has the strides of the other one, gaps aside.
            size = size if other.strides == strides_of(other.shape) else None
        storage = Storage(what, size, node, what == "empty_like")
        self.storages.append(storage)
        if size is None or other is None:
            return Tensor(storage, other.key if other is not None else "")
        return Tensor(storage, other.key, other.shape, other.strides)

    def _method(
        self, node: ast.Call, method: Method, given: list[Known], named: dict[str, Known]
    ) -> Known:
        name, owner = method.name, method.owner
        if isinstance(owner, Open) and owner.tensor is None:
            self._share([*given, *named.values()])  # it may be no tensor
        tensor = self.tensor(owner)
        if tensor is not None and name in RESHAPES:
            raise Unfollowed("a tensor gets another shape")
        if tensor is None or (name.endswith("_") and not name.startswith("_")):
            self._share([owner, *given, *named.values()])
            return tensor if tensor is not None else UNKNOWN
        if name in ("size", "stride", "numel", "nelement"):
            return self._tensor_query(owner, tensor, name, given)
        if name.startswith("new_") and name.removeprefix("new_") in _MADE:
            return self._new_tensor(node, given, named, name.removeprefix("new_"))
        if name == "is_contiguous":
            return tensor.strides is None or tensor.strides == strides_of(tensor.shape or ())
        if name == "detach":
            return tensor
        return self._derived(node, owner, tensor, name, given)

    def _tensor_query(self, owner: Known, tensor: Tensor, name: str, given: list[Known]) -> Known:
        if name in ("numel", "nelement"):
            if tensor.shape is not None:
                return product(tensor.shape)
            if not tensor.key or not isinstance(owner, Open):
                return tensor.storage.size if tensor.storage.size is not None else UNKNOWN
            self.sizes.flat.add(tensor.key)
            number = self.sizes.size(f"{tensor.key}#")
            tensor.storage.size = number
            return number
        known = tensor.shape if name == "size" else tensor.strides
        if not given:
            is_open = known is None and isinstance(owner, Open)
            return Method(owner, name) if is_open else (UNKNOWN if known is None else known)
        if known is not None:
            return known[given[0]]
        if name == "size" and isinstance(owner, Open):
            return self._open_size(owner, given[0])
        return UNKNOWN

    def _derived(
        self, node: ast.Call, owner: Known, tensor: Tensor, name: str, given: list[Known]
    ) -> Known:
        """A tensor made from another one."""
        is_whole = tensor.shape is not None and tensor.strides == strides_of(tensor.shape)
        if name == "contiguous":
            if tensor.shape is None and isinstance(owner, Open):
                return owner
            return tensor if is_whole else self._copied(tensor, node)
        if name in SAME_SHAPE:
            return self._copied(tensor, node)
        if name in READ:
            return Tensor(Storage(name, None, is_shared=True))
        if name in ("view", "reshape") and tensor.shape is not None and is_whole:
            return self._viewed(tensor, given)
        if name in ("t", "transpose") and len(tensor.shape or ()) == 2:
            return self._transposed(tensor)
        return self._part(tensor)

    def _part(self, tensor: Tensor) -> Tensor:
        """A part of a tensor, or another form of it: where that ends is not followed."""
        tensor.storage.is_shared = True
        return Tensor(Storage(tensor.storage.name, None, None, is_shared=True))

    def _copied(self, tensor: Tensor, node: ast.expr) -> Tensor:
        """Other memory, or the same; nothing is known of writes to it."""
        if tensor.shape is None:
            storage = Storage(tensor.storage.name, tensor.storage.size, None, is_shared=True)
            return Tensor(storage, tensor.key)
        storage = Storage(tensor.storage.name, product(tensor.shape), None, is_shared=True)
        self.storages.append(storage)
        return Tensor(storage, tensor.key, tensor.shape, strides_of(tensor.shape))

    def _viewed(self, tensor: Tensor, given: list[Known]) -> Known:
        assert tensor.shape is not None
        if len(given) == 1 and isinstance(given[0], tuple | list):
            given = list(given[0])
        sizes = [self.number(part) for part in given]
        if not all(isinstance(n, int) for n in sizes) or sizes.count(-1) > 1:
            return self._part(tensor)
        total, rest = product(tensor.shape), product(tuple(n for n in sizes if n != -1))
        shape = tuple((self._lead(tensor, total // rest) if n == -1 else n) for n in sizes)
        if product(shape) != total:
            raise Infeasible("a view of another size")
        return replace(tensor, shape=shape, strides=strides_of(shape))

    def _lead(self, tensor: Tensor, number: int) -> Known:
        assert tensor.shape is not None
        return (
            product(tuple(tensor.shape[:-1]))
            if len(tensor.shape) > 1 and product(tuple(tensor.shape[:-1])) == number
            else number
        )

    # Launches.

    def _launched(self, launch: Launch, given: list[Known], named: dict[str, Known]) -> None:
        if id(launch.node) not in self._launching or not launch.is_certain:
            self._share([*given, *named.values()])
            return
        if not launch.is_complete or launch.is_warmup:
            raise Unfollowed("arguments that are not written out")
        arguments = {name: self.value(node) for name, node in launch.arguments.items()}
        arguments = {name: self._passed(value) for name, value in arguments.items()}
        if self._on_launch is not None:
            self._on_launch(self, Call(launch, arguments))

    def _passed(self, value: Known) -> Known:
        if isinstance(value, Open):
            if value.tensor is not None:
                return value.tensor
            return value if value.number is None else value.number
        return value

    def grid(self, launch: Launch, meta: dict[str, Known]) -> tuple[int, ...]:
        """The numbers of programs; ``meta`` are the kernel's arguments by name."""
        value = self.value(launch.grid)
        if isinstance(value, Function):
            value = self.apply(value, [meta])
        if not isinstance(value, tuple | list):
            value = (value,)
        numbers = [self.number(part) for part in value]
        if not numbers or not all(isinstance(n, int) for n in numbers):
            raise Unfollowed("an unknown grid")
        return tuple(numbers)
