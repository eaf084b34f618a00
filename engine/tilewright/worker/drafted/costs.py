"""What a call costs, counted while Triton's interpreter computes it; nothing is timed.

``launches``: of kernels, and operators of torch that run one. ``waits``: of the host for the
device. ``traffic``: bytes of the 32-byte sectors that loads, stores and atomics request, each time
anew, and bytes that operators of torch read and write. ``work``: elements computed, weighed by
``_WEIGHTS`` and ``_PRODUCTS``. ``serial``: clocks of the longest program of each launch, summed,
where a program computes 128 elements and requests 16 bytes a clock. ``contention``: updates by
atomics of the address with the most of them.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from triton.runtime import interpreter
from triton.runtime.interpreter import GridExecutor, InterpreterBuilder, ReduceScanOpInterface

from ..inputs.tensor_files import tensors_in
from ..interpreter import batched_launch
from ..operator_names import PAST_THE_DISPATCHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..messages.drafted import Cost

_SECTOR = 32
"""Bytes that an NVIDIA chip fetches at least (CUDA C++ best practices guide, coalesced access)."""
_LANES, _BYTES = 128, 16
_WEIGHTS = {
    "divide": 8, "true_divide": 8, "fmod": 8, "sqrt": 8, "exp": 8, "exp2": 8, "log": 8, "log2": 8,
    "sin": 8, "cos": 8,
}  # fmt: skip
"""Where one multiplication or addition is 1."""
_HEAVY = ("create_erf", "create_rsqrt", "create_idiv")
_LIGHT = ("create_fma", "create_fabs", "create_fp_to_fp")
_FUNCTIONS = frozenset({
    "erf", "erfc", "erfinv", "exp", "expm1", "log", "log1p", "pow", "rsqrt", "sin", "cos",
    "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan", "atan2", "sigmoid", "lgamma",
})  # fmt: skip
_PRODUCTS = {1: 1 / 32, 2: 1 / 16, 4: 1 / 8}
"""Of one multiplication of a matrix unit, by bytes of an operand; fp32 in full precision is 1."""
_NO_KERNEL = frozenset({
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided",
    "empty_permuted", "resize_", "set_", "detach", "alias", "_unsafe_view", "lift_fresh_copy",
    "_reshape_alias",
})  # fmt: skip
_WAITING = frozenset({
    "_local_scalar_dense", "nonzero", "masked_select", "unique_consecutive", "_unique2",
    "unique_dim", "equal", "is_nonzero", "allclose", "repeat_interleave",
})  # fmt: skip
_OF_HOST = PAST_THE_DISPATCHER | {"cpu"}
"""On a CPU no operator shows these."""
_MULTIPLICATIONS = frozenset({
    "mm", "bmm", "addmm", "baddbmm", "_int_mm", "_scaled_mm",
})  # fmt: skip


class Counts:
    """Costs of what happens while they are counted."""

    def __init__(self) -> None:
        self.launches = self.waits = self.bytes = 0
        self.work = self.serial = 0.0
        self._updates: Counter[int] = Counter()
        self._began = (0.0, 0)
        self._longest = 0.0
        self.is_launching = self.is_paused = False

    def costs(self) -> dict[Cost, int]:
        """What was counted."""
        return {
            "launches": self.launches, "waits": self.waits, "traffic": self.bytes,
            "work": round(self.work), "serial": round(self.serial),
            "contention": max(self._updates.values(), default=0),
        }  # fmt: skip

    def add_work(self, elements: float) -> None:
        """Elements that a kernel computes, weighed."""
        if self.is_launching and not self.is_paused:
            self.work += elements

    def touch(self, pointers: Any, mask: Any) -> Any:
        """An access of a kernel; the addresses that the mask leaves."""
        active = pointers[np.broadcast_to(mask, pointers.shape).astype(np.bool_)]
        self.bytes += _SECTOR * len(np.unique(active // _SECTOR))
        return active

    def update(self, pointers: Any, mask: Any) -> None:
        """An atomic operation of a kernel."""
        self._updates.update(self.touch(pointers, mask).tolist())

    def begin_launch(self) -> None:
        """A launch of a kernel begins."""
        self.launches += 1
        self.is_launching = True
        self._longest = 0.0
        self._began = (self.work, self.bytes)

    def end_launch(self) -> None:
        """The launch ends."""
        self.end_program()
        self.serial += self._longest
        self.is_launching = False

    def end_program(self) -> None:
        """A program of the launch ends, or none has begun."""
        work, requested = self.work - self._began[0], self.bytes - self._began[1]
        self._longest = max(self._longest, work / _LANES + requested / _BYTES)
        self._began = (self.work, self.bytes)


@contextlib.contextmanager
def counted() -> Iterator[Counts]:
    """Count inside the block; the programs of a launch run one by one."""
    counts = Counts()
    with (
        batched_launch.separately(),
        mock.patch.object(interpreter, "_interpreter", _Memory(interpreter._interpreter, counts)),
        _counted_work(counts), _counted_launches(counts), _HostFunctions(counts),
        _Operators(counts),
    ):  # fmt: skip
        yield counts


class _Memory:
    """Stands where the interpreter expects the functions that touch memory."""

    def __init__(self, memory: Any, counts: Counts) -> None:
        self._memory = memory
        self._counts = counts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def load(self, pointers: Any, mask: Any, *rest: Any) -> Any:
        self._counts.touch(pointers, mask)
        return self._memory.load(pointers, mask, *rest)

    def store(self, pointers: Any, values: Any, mask: Any) -> Any:
        self._counts.touch(pointers, mask)
        return self._memory.store(pointers, values, mask)

    def atomic_rmw(self, operation: Any, pointers: Any, values: Any, mask: Any, sem: Any) -> Any:
        self._counts.update(pointers, mask)
        return self._memory.atomic_rmw(operation, pointers, values, mask, sem)

    def atomic_cas(self, pointers: Any, compare: Any, values: Any, sem: Any) -> Any:
        self._counts.update(pointers, np.ones(pointers.shape, dtype=np.bool_))
        return self._memory.atomic_cas(pointers, compare, values, sem)


@contextlib.contextmanager
def _counted_work(counts: Counts) -> Iterator[None]:
    """Count what the interpreter's operations compute."""

    def by_operation(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(builder: Any, *given: Any) -> Any:
            found = original(builder, *given)
            weight = _WEIGHTS.get(getattr(given[-1], "__name__", ""), 1)
            counts.add_work(weight * found.data.size)
            return found

        return call

    def with_weight(original: Callable[..., Any], weight: int) -> Callable[..., Any]:
        def call(builder: Any, *given: Any, **named: Any) -> Any:
            found = original(builder, *given, **named)
            counts.add_work(weight * found.data.size)
            return found

        return call

    def reduced(operation: Any, values: Any) -> Any:
        counts.add_work(sum(one.handle.data.size for one in _tuple(values)))
        with mock.patch.object(counts, "is_paused", True):
            return reduce(operation, values)

    def product(builder: Any, a: Any, b: Any, d: Any, *rest: Any) -> Any:
        is_full = a.data.dtype.itemsize == 4 and "ieee" in str(rest[:1]).lower()
        size = a.dtype.scalar.primitive_bitwidth // 8
        each = 1.0 if is_full else _PRODUCTS.get(size, 1.0)
        counts.add_work(a.data.size * b.data.shape[-1] * each)
        return dot(builder, a, b, d, *rest)

    reduce, dot = ReduceScanOpInterface.apply, InterpreterBuilder.create_dot
    stand_ins: dict[str, Callable[..., Any]] = {"create_dot": product}
    for name in ("unary_op", "binary_op", "ternary_op"):
        stand_ins[name] = by_operation(getattr(InterpreterBuilder, name))
    for name in (*_LIGHT, "cast_impl", *_HEAVY):
        weight = 8 if name in _HEAVY else 1
        stand_ins[name] = with_weight(getattr(InterpreterBuilder, name), weight)
    with contextlib.ExitStack() as stack:
        for name, one in stand_ins.items():
            stack.enter_context(mock.patch.object(InterpreterBuilder, name, one))
        stack.enter_context(mock.patch.object(ReduceScanOpInterface, "apply", reduced))
        yield


@contextlib.contextmanager
def _counted_launches(counts: Counts) -> Iterator[None]:
    launch, enter = GridExecutor.__call__, InterpreterBuilder.set_grid_idx

    def launched(executor: Any, *args: Any, **kwargs: Any) -> Any:
        counts.begin_launch()
        try:
            return launch(executor, *args, **kwargs)
        finally:
            counts.end_launch()

    def entered(builder: Any, *index: int) -> None:
        counts.end_program()
        enter(builder, *index)

    with (
        mock.patch.object(GridExecutor, "__call__", launched),
        mock.patch.object(InterpreterBuilder, "set_grid_idx", entered),
    ):
        yield


class _HostFunctions(TorchFunctionMode):
    """Sees what reads a tensor on the host."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self._counts = counts

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # fmt: skip
        if not self._counts.is_launching and getattr(func, "__name__", "") in _OF_HOST:
            self._counts.waits += 1
        return func(*args, **(kwargs or {}))


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees the operators that torch computes."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._counts = counts

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # fmt: skip
        found = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if self._counts.is_launching:
            if name.rstrip("_") in _FUNCTIONS and isinstance(found, torch.Tensor):
                self._counts.add_work(8 * found.numel())
        else:
            self._count(func, name, [*args, *(kwargs or {}).values()], found)
        return found

    def _count(self, func: Any, name: str, given: list[Any], found: Any) -> None:
        counts = self._counts
        counts.waits += name in _WAITING or _selects(name, given)
        if name in _NO_KERNEL or name == "_local_scalar_dense" or _is_view(func):
            return
        counts.launches += 1
        read, written = [*tensors_in(given)], [*tensors_in(found)]
        # A result that is written in place is among what was given.
        places = {one.data_ptr() for one in read}
        written = [one for one in written if one.data_ptr() not in places]
        counts.bytes += sum(_size(one) for one in (*read, *written))
        if name in _MULTIPLICATIONS and len(read) > 1:
            inner = read[-2].shape[-1]
            each = _PRODUCTS.get(read[-1].element_size(), 1.0)
            counts.work += sum(one.numel() for one in tensors_in(found)) * inner * each
        else:
            counts.work += max((one.numel() for one in (*read, *written)), default=0)


def _tuple(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def _is_view(func: Any) -> bool:
    """Whether what an operator returns lies where its argument does, and nothing is written."""
    aliases = [one.alias_info for one in func._schema.returns]
    return any(one is not None and not one.is_write for one in aliases)


def _selects(name: str, given: list[Any]) -> bool:
    """Whether an operator takes a mask as an index: only the device knows how many elements that
    are."""
    if name not in ("index", "index_put", "index_put_"):
        return False
    return any(one.dtype in (torch.bool, torch.uint8) for one in tensors_in(given[1:]))


def _size(tensor: torch.Tensor) -> int:
    """Bytes of a tensor; of one that was expanded, of what is there."""
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())
