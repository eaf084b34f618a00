"""Tensor descriptors for a Triton that is older than they are: compiled as block pointers.

A descriptor is there a tuple of base, extents and strides; the type of its base has the extents of
its block, since a tuple that is assigned keeps types alone. It is loaded and stored through
``make_block_ptr`` with all bounds checked, which is what a descriptor does. The kernel's text stays
as it is, so every line keeps its number.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

import triton
import triton.language as tl
from triton.compiler import code_generator

from ..launches.jit_signature import FACTS
from ..loading.entry_point import standing_in
from ..protocol import JobError

if TYPE_CHECKING:
    from ..messages.parts import Argument, Launch

NOTE = "tensor descriptors were compiled as block pointers, as Triton {version} has none"
_HOST_MODULE = "triton.tools.tensor_descriptor"
_TYPE = re.compile(r"tensordesc<(\w+)\[([\d, ]+)\]>")
_LACKING = ("gather", "scatter", "atomic_add", "atomic_min", "atomic_max")
_DIVISOR = 16


def lacking() -> bool:
    """Whether this Triton has no tensor descriptors."""
    return not hasattr(tl, "make_tensor_descriptor")


class Used:
    """Whether a kernel that was compiled makes or takes a descriptor.

    Attributes:
        unpipelined: the options it was compiled with are another number of stages.
    """

    def __init__(self) -> None:
        self.seen = False
        self.unpipelined = False

    def note(self) -> str | None:
        """A sentence for a person if so."""
        if not self.seen:
            return None
        more = ", with num_stages=1, as its pipeliner fails on them in a loop"
        return NOTE.format(version=triton.__version__) + more * self.unpipelined


@contextlib.contextmanager
def as_block_pointers() -> Iterator[Used]:
    """Let kernels make, load and store descriptors although this Triton has none."""
    used = Used()
    if not lacking():
        yield used
        return

    def make_tensor_descriptor(
        base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = "zero",
        _builder: Any = None,
    ) -> Any:  # fmt: skip
        used.seen = True
        block = tuple(int(getattr(one, "value", one)) for one in block_shape)
        base = tl.core.tensor(base.handle, _Described(base.type, block))
        return tl.core.tuple([base, *map(_value, (*shape, *strides))])

    def load_tensor_descriptor(descriptor: Any, offsets: Any, _builder: Any = None) -> Any:
        return _load(descriptor, offsets, _builder=_builder)

    def store_tensor_descriptor(
        descriptor: Any, offsets: Any, value: Any, _builder: Any = None
    ) -> Any:
        return _store(descriptor, offsets, value, _builder=_builder)

    with contextlib.ExitStack() as stack:
        made = (make_tensor_descriptor, load_tensor_descriptor, store_tensor_descriptor)
        for function in made:
            known = mock.patch.object(tl, function.__name__, tl.core.builtin(function), create=True)
            stack.enter_context(known)
        methods = {"load": _load, "store": _store, **{name: _refused(name) for name in _LACKING}}
        for name, method in methods.items():
            stack.enter_context(mock.patch.object(tl.core.tuple, name, method, create=True))
        stack.enter_context(mock.patch.object(tl.core.tuple, "__getattr__", _attribute))
        stack.enter_context(mock.patch.object(triton, "set_allocator", _ignore, create=True))
        stack.enter_context(standing_in({_HOST_MODULE: _host_module()}))
        stack.enter_context(mock.patch.object(code_generator, "mangle_ty", _mangled))
        yield used


class _Described(tl.core.pointer_type):  # type: ignore[misc]
    """The type of a descriptor's base."""

    def __init__(self, base: Any, block: tuple[int, ...]) -> None:
        super().__init__(base.element_ty, base.address_space, base.const)
        self.block = block

    def __eq__(self, other: object) -> bool:
        return bool(super().__eq__(other)) and getattr(other, "block", self.block) == self.block

    __hash__ = tl.core.pointer_type.__hash__


_mangle = getattr(code_generator, "mangle_ty", None)


def _mangled(kind: Any) -> str:
    """A helper is compiled once for each block of the descriptors that it gets."""
    assert _mangle is not None
    block = "x".join(map(str, kind.block)) if isinstance(kind, _Described) else ""
    return f"{_mangle(kind)}{block and f'D{block}D'}"


def _ignore(allocator: Any) -> None:
    """Nothing is allocated where nothing runs."""


def _host_module() -> ModuleType:
    class TensorDescriptor:
        """As host code makes it."""

    module: Any = ModuleType(_HOST_MODULE)
    module.TensorDescriptor = TensorDescriptor
    return module  # type: ignore[no-any-return]


def _value(value: Any) -> Any:
    return tl.constexpr(value) if isinstance(value, int) else value


def _parts(descriptor: Any) -> tuple[Any, list[Any], list[Any], tuple[int, ...]]:
    """(base, extents, strides, extents of the block) of a descriptor."""
    base, *rest = descriptor.values
    block = getattr(base.type, "block", None)
    if block is None:  # one that host code made: its block follows
        fixed = rest[len(rest) - len(rest) // 3 :]
        if not all(isinstance(one, tl.constexpr) for one in fixed):
            raise JobError(
                f"no toolchain for xpu that lets a kernel rename the descriptor it gets: Triton "
                f"{triton.__version__} has no tensor descriptors; use the parameter itself"
            )
        block = tuple(int(one.value) for one in fixed)
    rank = len(block)
    return base, rest[:rank], rest[rank : 2 * rank], block


def _block_pointer(descriptor: Any, offsets: Any, builder: Any) -> Any:
    base, shape, strides, block = _parts(descriptor)
    order = list(reversed(range(len(block))))
    at = [_narrow(one, builder) for one in offsets]
    return tl.make_block_ptr(base, shape, strides, at, block, order, _builder=builder)


def _narrow(offset: Any, builder: Any) -> Any:
    """A block pointer's offsets are of 32 bits, as a descriptor's are."""
    if isinstance(offset, tl.core.tensor) and offset.dtype != tl.int32:
        return offset.to(tl.int32, _builder=builder)
    return offset


def _load(descriptor: Any, offsets: Any, _builder: Any = None, **options: Any) -> Any:
    pointer = _block_pointer(descriptor, offsets, _builder)
    axes = tuple(range(len(_parts(descriptor)[3])))
    return tl.load(
        pointer, boundary_check=axes, padding_option="zero", _builder=_builder, **options
    )


def _store(descriptor: Any, offsets: Any, value: Any, _builder: Any = None) -> Any:
    pointer = _block_pointer(descriptor, offsets, _builder)
    axes = tuple(range(len(_parts(descriptor)[3])))
    element = pointer.dtype.element_ty.element_ty
    return tl.store(
        pointer, value.to(element, _builder=_builder), boundary_check=axes, _builder=_builder
    )


def _refused(name: str) -> Any:
    def refuse(descriptor: Any, *given: Any, _builder: Any = None, **named: Any) -> Any:
        raise JobError(
            f"no toolchain for xpu that takes a descriptor's {name}: Triton {triton.__version__} "
            "has no tensor descriptors, and block pointers have no such access"
        )

    return refuse


_of_fields = tl.core.tuple.__getattr__


def _attribute(value: Any, name: str) -> Any:
    """A descriptor's shape and strides; of other tuples their fields."""
    if name in value.type.fields or name not in ("shape", "strides", "block_shape", "dtype"):
        return _of_fields(value, name)
    base, shape, strides, block = _parts(value)
    found = {
        "shape": tl.core.tuple(shape), "strides": tl.core.tuple(strides),
        "block_shape": [tl.constexpr(one) for one in block], "dtype": base.dtype.element_ty,
    }  # fmt: skip
    return found[name]


def taken_apart(launch: Launch, used: Used) -> Launch:
    """A launch whose descriptors are the tuples that this Triton takes in their place."""
    if not lacking():
        return launch
    arguments = [_argument(fact, used) for fact in launch["arguments"]]
    return {**launch, "arguments": arguments}


def _argument(fact: Argument, used: Used) -> Argument:
    found = _TYPE.fullmatch(str(fact.get("type")))
    if found is None:
        return fact
    used.seen = True
    block = [int(one) for one in found[2].split(",")]
    shape, strides = fact.get("shape") or [], fact.get("strides") or []
    plain = {"name": fact["name"], "shape": None, "strides": None, "divisible_by_16": False}
    base = {
        **plain, "kind": "tensor", "type": f"*{found[1]}", "value": None,
        "shape": shape, "strides": strides, "divisible_by_16": True,
    }  # fmt: skip
    extents = [
        {
            **plain, "kind": "int", "type": "i32" if one < 2**31 else "i64", "value": one,
            "divisible_by_16": one % _DIVISOR == 0,
        }
        for one in (*shape, *strides)
    ]  # fmt: skip
    fixed = [{**plain, "kind": "constexpr", "type": "constexpr", "value": one} for one in block]
    value = FACTS + json.dumps([base, *extents, *fixed])
    return {
        "name": fact["name"], "kind": "tuple", "type": "tuple", "value": value, "shape": None,
        "strides": None, "divisible_by_16": False,
    }  # fmt: skip
