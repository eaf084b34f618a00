"""A compute instruction while it is simulated: its operands, its mask, its result, its record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .arithmetic import (
    ON_CHIP,
    Shape,
    Undefined,
    dtype_of,
    new_tile,
    operand,
    record,
    selection_of,
    undefined_of,
)
from .dtypes import DType
from .indices import Selection
from .launch import running
from .storage import Memory, Values
from .tensors import Tensor, Tile

Array = np.ndarray[Any, Any]
Numbers = (int, float, np.number, np.bool_)


def is_number(value: Any) -> bool:
    return isinstance(value, Numbers) or (isinstance(value, np.ndarray) and value.ndim == 0)


class Engine:
    """``nisa.vector_engine`` and the like."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"nisa.{self.name or 'unknown'}_engine"


class Instruction:
    """One instruction of the running launch.

    Args:
        op: its name in records and messages, such as ``nki.isa.activation``.
        mask: the elements of ``shape`` that it computes; without one it computes all.
        engine: the engine that the kernel asks for, by name or as it gives it.

    Attributes:
        engine: the name of the engine, ``""`` where the kernel leaves the choice.
        selection: what the mask leaves, ``None`` for all elements.
        reads: the operands so far, in the order of the record.
    """

    def __init__(self, op: str, shape: Shape = (), mask: Any = None, engine: Any = "") -> None:
        self.launch = running()
        self.op = op
        self.engine = engine if isinstance(engine, str) else str(getattr(engine, "name", ""))
        self.selection: Selection | None = selection_of(self.launch, mask, shape)
        self.reads: list[Values] = []

    def read(self, tile: Any, what: str, places: Sequence[Memory] = ON_CHIP) -> Values:
        """An operand; ``what`` is the argument's name, for messages.

        Raises:
            KernelFault: no tile, in a memory that the instruction does not read, or over a limit.
        """
        found = operand(self.launch, tile, what, self.selection, places, self.engine)
        self.reads.append(found)
        return found

    def column(self, value: Any, rows: Values, what: str = "an operand") -> Any:
        """A number, or one number for each partition of ``rows`` with its axes: (P, 1, ...).

        Raises:
            KernelFault: a tile of another shape.
        """
        if is_number(value):
            return value
        found = operand(self.launch, value, what)
        shape, partitions = found.data.shape, rows.data.shape[0]
        if shape[0] != partitions or found.data.size != partitions:
            self.launch.stop(
                "shape",
                f"{what} of {list(shape)}: it is a number or a tile of [{partitions}, 1] "
                "(err_activation_scale_scalar_or_vector)",
            )
        self.reads.append(found)
        return found.data.reshape(partitions, *(1,) * (rows.data.ndim - 1))

    def result(
        self,
        data: Array,
        dtype: Any,
        otherwise: DType,
        undefined: Undefined | None = None,
        where: Memory = "SBUF",
        more: tuple[tuple[str, Any], ...] = (),
        also: Sequence[Tile] = (),
        name: str = "",
    ) -> Tensor:
        """The tile that the instruction writes, which is recorded.

        Args:
            data: values not yet rounded; an array that nothing else holds.
            dtype: the instruction's argument; ``None`` stands for ``otherwise``.
            undefined: as ``undefined_of`` returns it, where the result does not depend on its
                operands element by element.
            more: further fields of the record.
            also: other tiles that the instruction writes.
            name: the tile's, where it is not ``op``.
        """
        if undefined is None:
            undefined = undefined_of(*self.reads)
        element = dtype_of(self.launch, dtype, otherwise)
        tile = new_tile(
            self.launch, name or self.op, data, element, *undefined, where, self.selection
        )
        written = [tile, *also]
        record(self.launch, self.op, self.reads, written, self.selection, self.engine, more)
        return tile
