"""One launch of a kernel, from its arguments to its outputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import dtypes, lifetimes
from . import launch as launches
from .dtypes import DType
from .launch import Launch, Loop, Turn
from .settings import FaultKind, Flavour, KernelFault, Settings, Simulated, UnknownName
from .storage import FreedBlockRead, Storage, Write, never_written
from .tensors import Tensor, Tile

Kernel = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class TypedArray:
    """An argument or an output whose type numpy lacks: bf16 or fp8 as float32 of their values.

    Attributes:
        data: C-ordered; other types as they are.
        dtype: its NKI name.
    """

    data: np.ndarray[Any, Any]
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)


def simulate(
    kernel: Kernel,
    arguments: Sequence[Any],
    grid: tuple[int, ...] = (),
    settings: Settings | None = None,
    *,
    keywords: Mapping[str, Any] | None = None,
    flavour: Flavour = "neuronxcc",
) -> Simulated:
    """Runs a kernel on arrays.

    Args:
        kernel: the plain function of the user's file.
        arguments: arrays (numpy's or ``TypedArray``) become tensors in HBM, which the kernel does
            not write; other values reach it as they are.
        grid: program instances along each axis; they run one after the other.

    Returns:
        Outputs, instructions and faults. A fault after which the kernel cannot go on, and an
        exception of the kernel, are faults too.
    """
    chosen = settings or Settings()
    try:
        return _simulate(kernel, arguments, grid, chosen, keywords or {}, flavour, frees=True)
    except FreedBlockRead:
        return _simulate(kernel, arguments, grid, chosen, keywords or {}, flavour, frees=False)


def _simulate(
    kernel: Kernel,
    arguments: Sequence[Any],
    grid: tuple[int, ...],
    settings: Settings,
    keywords: Mapping[str, Any],
    flavour: Flavour,
    frees: bool,
) -> Simulated:
    launch = Launch(settings, flavour, grid)
    launch.freed_lines = lifetimes.freed_lines(kernel) if frees else {}
    launch.freeable = frozenset().union(*launch.freed_lines.values())
    outputs = None
    launches.begin(launch)
    try:
        with np.errstate(all="ignore"):
            outputs = _instances(launch, kernel, arguments, keywords)
    except KernelFault as fault:
        launch.report(
            fault.fault.kind, fault.fault.message, line=fault.fault.line, file=fault.fault.file
        )
    except FreedBlockRead:
        raise
    except Exception as error:  # noqa: BLE001 - what the user's kernel raises is its fault
        _report_exception(launch, kernel, error)
    finally:
        launches.end()
    launch.turn.touched.clear()
    peaks = launch.peak("SBUF"), launch.peak("PSUM")
    _report_capacity(launch, kernel, peaks[0])
    records = launch.records if settings.record else ()
    return Simulated(outputs, records, launch.faults, *peaks)


def _report_exception(launch: Launch, kernel: Kernel, error: Exception) -> None:
    line = 0
    code = getattr(kernel, "__code__", None)
    trace = error.__traceback__
    while trace is not None:
        if code is not None and trace.tb_frame.f_code.co_filename == code.co_filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    kind: FaultKind = "unsupported" if isinstance(error, UnknownName) else "exception"
    what = str(error) if kind == "unsupported" else f"{type(error).__name__}: {error}"
    launch.report(kind, what, line=line, file=code.co_filename if code is not None else None)


def _instances(
    launch: Launch, kernel: Kernel, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    instances = list(itertools.product(*(range(n) for n in launch.grid)))
    if launch.settings.reverse_instances:
        instances.reverse()
    root = launch.turn
    names = _parameters(kernel)
    placed = [
        _argument(launch, a, names[i] if i < len(names) else f"argument {i}", kernel)
        for i, a in enumerate(arguments)
    ]
    named = {name: _argument(launch, a, name, kernel) for name, a in keywords.items()}
    grid = Loop("program", 0, "the grid")
    outputs: Any = None
    for instance in instances:
        launch.program = instance
        launch.shared_place = 0
        launch.accumulators.clear()
        if len(instances) > 1:
            launch.turn = Turn(grid, root)
        outputs = kernel(*placed, **named)
    launch.turn = root
    return _outputs(launch, kernel, outputs)


def _parameters(kernel: Kernel) -> tuple[str, ...]:
    code = getattr(kernel, "__code__", None)
    return () if code is None else tuple(code.co_varnames[: code.co_argcount])


def _is_mutable(kernel: Kernel, name: str) -> bool:
    """Whether a parameter is annotated as a tensor that the kernel may write."""
    stated = getattr(kernel, "__annotations__", {}).get(name)
    return getattr(stated, "mutable", False) is True or (
        isinstance(stated, str) and "mutable_tensor" in stated
    )


def _argument(launch: Launch, value: Any, name: str, kernel: Kernel) -> Any:
    if isinstance(value, TypedArray):
        dtype = dtypes.find(value.dtype)
        data = value.data
    elif isinstance(value, np.ndarray):
        dtype, data = dtypes.find(value.dtype), value
        if dtype is None and dtypes.is_wide(value.dtype):
            dtype = dtypes.WIDE[str(value.dtype)]
    else:
        return value
    if dtype is None:
        launch.stop("unsupported", f"{name} has the type {value.dtype}, which the chip has not")
    tensor = argument_tensor(launch, data, dtype, name)
    tensor.storage.mutable = _is_mutable(kernel, name)
    return tensor


def argument_tensor(launch: Launch, data: np.ndarray[Any, Any], dtype: DType, name: str) -> Tensor:
    """An array in HBM that the kernel does not write."""
    storage = Storage(launch, "HBM", dtype, data.size, name, 0)
    storage.mutable = False
    block = storage.block(())
    plain = np.ascontiguousarray(data)
    block.data = (
        plain.astype(np.float32)
        if dtype.kind == "f" and plain.dtype != np.float32
        else (plain if plain.dtype == dtype.storage else dtype.cast(plain))
    )
    block.shared = True
    block.writer = block.add_write(Write(launch.turn, 0))
    return Tensor(storage, (), tuple(data.shape))


def _outputs(launch: Launch, kernel: Kernel, returned: Any) -> Any:
    if returned is None:
        return ()
    if isinstance(returned, (tuple, list)):
        return tuple(_output(launch, kernel, one) for one in returned)
    return _output(launch, kernel, returned)


def _output(launch: Launch, kernel: Kernel, tile: Any) -> TypedArray:
    line = _first_line(kernel)
    if not isinstance(tile, Tile):
        fault = f"the kernel returns {type(tile).__name__}, not a tensor"
        raise KernelFault(launch.report("argument", fault, line=line))
    part = tile.part()
    if part.buffer != "HBM":
        fault = f"the kernel returns {part}, which is not in HBM: store it to nl.shared_hbm"
        raise KernelFault(launch.report("memory", fault, line=line))

    place = part.place(None)
    block = part.storage.block(part.subscript.block)
    never = never_written(place)
    if never is not None and not (block.origin and part.storage.shared_output):
        launch.report(
            "unwritten",
            f"{never[0]} of {part.size} elements of the output {part.storage.name} are never "
            f"stored, the first at {list(never[1])} (err_tensor_output_not_written_to)",
            line=part.storage.line or line,
        )
    data = place.view(part.storage.materialize(block, place.per_partition))
    plain = data.astype(np.float16) if part.dtype is dtypes.float16 else np.ascontiguousarray(data)
    return TypedArray(plain.reshape(tile.shape), part.dtype.name)


def _first_line(kernel: Kernel) -> int:
    code = getattr(kernel, "__code__", None)
    return code.co_firstlineno if code is not None else 0


def _report_capacity(launch: Launch, kernel: Kernel, peak: int) -> None:
    limits = launch.settings.limits
    if peak > limits.sbuf_bytes:
        launch.report(
            "capacity",
            f"tiles of {peak} bytes a partition are between their first and last use at once; SBUF "
            f"has {limits.sbuf_bytes}: the compiler must order instructions otherwise or spill",
            "warning",
            line=_first_line(kernel),
        )
