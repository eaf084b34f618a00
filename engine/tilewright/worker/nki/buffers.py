"""The memories that a kernel names, and tensors in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from . import launch as launches
from .arithmetic import check_shape
from .dtypes import DType
from .launch import Launch
from .storage import Memory, Storage
from .tensors import Tensor


@dataclass(frozen=True, slots=True)
class Buffer:
    """A memory.

    Attributes:
        kind: as the language names it.
        memory: as messages name it.
    """

    kind: str
    memory: Memory

    def __repr__(self) -> str:
        return f"nl.{self.kind}"


sbuf: Final = Buffer("sbuf", "SBUF")
psum: Final = Buffer("psum", "PSUM")
hbm: Final = Buffer("hbm", "HBM")
private_hbm: Final = Buffer("private_hbm", "HBM")
shared_hbm: Final = Buffer("shared_hbm", "HBM")


def allocation(
    launch: Launch,
    extents: tuple[Any, ...],
    dtype: DType,
    where: Buffer,
    name: str,
    fill: float | None,
    marker: type[int],
) -> Tensor:
    """A new tensor.

    Args:
        marker: the type of the extent that runs over partitions; without one the first does.

    Raises:
        KernelFault: it does not fit the memory.
    """
    line = launches.user_line()
    places = [place for place, extent in enumerate(extents) if isinstance(extent, marker)]
    if any(places) and launch.flavour == "nki":
        launch.stop(
            "argument",
            "the first dimension is the partition; nl.par_dim marks another one "
            "(err_leading_dimension_of_tensor_must_be_partition)",
        )
    shape = tuple(int(n) for n in extents)
    lead = places[0] if places and where.memory != "HBM" else 0
    outer, inner = shape[:lead], shape[lead:]
    title = name or f"the {where.kind} tensor of line {line}"
    if where.memory != "HBM":
        _check_tile(launch, inner, dtype, where, title)
    storage = Storage(launch, where.memory, dtype, math.prod(inner), title, line)
    storage.fill = fill
    storage.shared_output = where.kind == "shared_hbm"
    return Tensor(storage, outer, inner)


def _check_tile(
    launch: Launch, inner: tuple[int, ...], dtype: DType, where: Buffer, title: str
) -> None:
    limits = launch.settings.limits
    if not inner:
        launch.stop("shape", f"{title} has no dimensions; a tile has two at least")
    check_shape(launch, (inner[0], 1), where.memory, title)
    width = math.prod(inner[1:]) * dtype.itemsize
    most = limits.sbuf_bytes
    if where.memory == "PSUM":
        banks = 1 if launch.flavour == "neuronxcc" else limits.psum_banks
        most = banks * limits.psum_bank_bytes
    if width > most:
        launch.stop(
            "capacity",
            f"a tile of {title} has {width} bytes a partition; {where.memory} has {most} for it",
        )
