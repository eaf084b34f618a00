"""Triton's interpreter, switched on in a process that has imported Triton without it."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any
from unittest import mock

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import (
    GridExecutor,
    InterpretedFunction,
    InterpreterBuilder,
    TensorHandle,
)
from triton.runtime.jit import JITFunction

from ..protocol import JobError
from . import (
    atomics,
    batched_launch,
    batches,
    block_pointers,
    kernel_source,
    libdevice,
    narrow_floats,
    reductions,
    type_cache,
)


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Turn Triton's interpreter on for kernels defined inside the block.

    Triton's own library was decorated when it was imported, without the interpreter: calling one of
    its functions from an interpreted kernel interprets that function too.
    """
    own: dict[int, Any] = {}

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        kept = _of_triton if function.__module__.startswith("triton.") else own
        if id(function) not in kept:
            kept[id(function)] = InterpretedFunction(function.fn)
        return kept[id(function)](*args, **kwargs)

    with (
        mock.patch.dict("os.environ", {"TRITON_INTERPRET": "1"}),
        mock.patch.object(JITFunction, "__call__", call),
        mock.patch.object(InterpreterBuilder, "create_splat", _splat),
        mock.patch.object(interpreter, "_patch_lang_tensor", _patch_tensor),
        mock.patch.object(interpreter, "_implicit_cvt", _convert),
        type_cache.shared(),
        block_pointers.available(),
        batched_launch.together(),
        kernel_source.rewritten(),
        mock.patch.object(GridExecutor, "_init_args_hst", _on_the_host),
        mock.patch.object(GridExecutor, "_restore_args_dev", _back_in_place),
        mock.patch.object(interpreter, "range", batches.rounds, create=True),
        narrow_floats.computed(),
        reductions.in_slices(),
        atomics.completed(),
        libdevice.computed(),
        mock.patch.object(interpreter.interpreter_builder, "options", _options()),
    ):
        yield


_of_triton: dict[int, Any] = {}
"""Functions of Triton's library as they are interpreted: theirs do not change."""


def warm_up() -> None:
    """Interpret a small kernel, so that a process that is forked later finds Triton's language
    looked up and the common functions of its library rewritten."""
    with interpreted():
        from . import sample_kernel

        sample_kernel.run()


def _options() -> Any:
    """Precisions of products that devices' compilers know; all are exact in the interpreter.

    Integers are not added a second time to find overflow, which only debug builds report.
    """
    options = interpreter.interpreter_builder.options
    known = dict.fromkeys((*options.allowed_dot_input_precisions, "bf16x3", "bf16x6", "hf32"))
    rest = {"sanitize_overflow": False} if hasattr(options, "sanitize_overflow") else {}
    return dataclasses.replace(options, allowed_dot_input_precisions=tuple(known), **rest)


@contextlib.contextmanager
def programs_in(order: str, seed: int = 0) -> Iterator[None]:
    """Run a grid's programs in another order, each with the program ids that it has.

    ``order``: "forward", "reversed", or "shuffled" by ``seed``; raises JobError for another.
    """
    if order not in _ORDERS:
        known = ", ".join(_ORDERS)
        raise JobError(f"no order of programs is called {order!r}; there are {known}")
    if order == "forward":
        yield
        return
    set_index = InterpreterBuilder.set_grid_idx

    def elsewhere(builder: Any, *index: int) -> None:
        grid = builder.grid_dim
        turn = _ORDERS[order](math.prod(grid), seed)
        number = int(turn[np.ravel_multi_index(index, grid)])
        set_index(builder, *(int(at) for at in np.unravel_index(number, grid)))

    with (
        mock.patch.object(InterpreterBuilder, "set_grid_idx", elsewhere),
        batched_launch.in_turn(lambda count: _ORDERS[order](count, seed)),
    ):
        yield


@lru_cache(maxsize=8)
def _shuffled(count: int, seed: int) -> Any:
    return np.random.default_rng([seed, count]).permutation(count)


_ORDERS: dict[str, Callable[[int, int], Any]] = {
    "forward": lambda count, _: range(count),
    "reversed": lambda count, _: range(count - 1, -1, -1),
    "shuffled": _shuffled,
}


_patch_lang_tensor = interpreter._patch_lang_tensor


def _patch_tensor(tensor: Any, *scope: Any) -> None:
    """A loop bound is an array of one element, which numpy 2.4 no longer takes for a number; what
    a tensor has of the language's functions is bound to it, and interpreted as they are."""
    _patch_lang_tensor(tensor, *scope)
    _set(scope, tensor, "__index__", lambda value: int(batches.number(value)))
    _set(scope, tensor, "__bool__", batches.truth)
    _set(scope, tensor, "T", property(_transposed))
    for name, member in list(vars(tensor).items()):
        if isinstance(member, JITFunction):
            _set(scope, tensor, name, _member(partial(_same, member)))
        elif (getattr(member, "__doc__", None) or "").startswith("Forwards to") and not (
            tl.core.is_builtin(member)
        ):
            _set(scope, tensor, name, _member(partial(getattr, tl, name)))


def _transposed(value: Any) -> Any:
    """The last two axes of a block exchanged."""
    rank = len(value.shape)
    return tl.trans(value, *range(rank - 2), rank - 1, rank - 2) if rank > 2 else tl.trans(value)


def _set(scope: Any, owner: Any, name: str, value: Any) -> None:
    """Set an attribute for as long as a launch takes, where Triton keeps account of that."""
    if scope:
        scope[0].set_attr(owner, name, value)
    else:
        setattr(owner, name, value)


def _same(function: Any) -> Any:
    return function


def _member(function: Callable[[], Any]) -> Callable[..., Any]:
    """A function as a member of a tensor; looked up when it is called."""
    return lambda tensor, *args, **kwargs: function()(tensor, *args, **kwargs)


_create_splat = InterpreterBuilder.create_splat


def _splat(builder: Any, block: Any, scalar: Any) -> Any:
    """A comparison of scalars stays boolean when it meets a block.

    Up to Triton 3.9 the interpreter gives it the type of what was compared, so that
    ``(cols < N) & (row < M)`` is no mask.
    """
    if scalar.data.dtype == np.bool_:
        return TensorHandle(np.full(block.shape, scalar.data.reshape(-1)[0]), tl.int1)
    return _create_splat(builder, block, scalar)


_init_args_hst = GridExecutor._init_args_hst


def _on_the_host(executor: Any, given: Any, named: Any) -> Any:
    """A launch's arguments as Triton copies them: views of the same memory where it is the CPU's.
    Nothing of that is the host code's doing."""
    with torch._C.DisableTorchFunction():
        return _init_args_hst(executor, given, named)


_restore_args_dev = GridExecutor._restore_args_dev


def _back_in_place(executor: Any, given: Any, copies: Any, named: Any, others: Any) -> None:
    """What programs have stored, in the host's own tensors: there already where those are the
    CPU's, whose memory was not copied."""
    tensors = batched_launch.tensors_in([*given, *named.values()])
    with torch._C.DisableTorchFunction():
        if any(one.device.type != "cpu" for one in tensors):
            _restore_args_dev(executor, given, copies, named, others)


_implicit_cvt = interpreter._implicit_cvt


def _convert(argument: Any) -> Any:
    """A float argument is an fp32 scalar to the compiler; the interpreter leaves it plain. One of
    truth is of its own type; up to Triton 3.7 the interpreter makes a whole number of it."""
    if type(argument) is bool:
        return tl.tensor(TensorHandle(np.array([argument], dtype=np.bool_), tl.int1), tl.int1)
    if type(argument) is float:
        return tl.tensor(
            TensorHandle(np.array([argument], dtype=np.float32), tl.float32), tl.float32
        )
    return _implicit_cvt(argument)
