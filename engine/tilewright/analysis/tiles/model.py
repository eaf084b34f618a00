"""What tile inference says of one value of a kernel. Whatever is None is not known."""

from dataclasses import dataclass
from enum import StrEnum

from tilewright.analysis.tiles.polynomial import Polynomial
from tilewright.analysis.values import Value

Dim = Value | int
"""One extent: a number, or the value of the kernel (mostly a constexpr) that is the number."""

Shape = tuple[Dim, ...]
"""() is a scalar."""


class Kind(StrEnum):
    """What a value is to the compiler."""

    CONSTEXPR = "constexpr"
    """A number known when the kernel is compiled: a constexpr, a literal, arithmetic on them."""
    SCALAR = "scalar"
    """One run-time number a program."""
    POINTER = "pointer"
    """An address, or a tile of addresses (its shape tells)."""
    TILE = "tile"
    """A tile of numbers."""
    MASK = "mask"
    """One bit, or a tile of bits."""
    BLOCK_POINTER = "block pointer"
    DESCRIPTOR = "tensor descriptor"
    TUPLE = "tuple"
    DTYPE = "dtype"
    """An element type as a value: ``tl.float32``, ``x_ptr.dtype.element_ty``."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Constant:
    """A Python value known when the kernel is compiled; ``None`` is one too.

    0, 0.0 and False are three constants: they promote otherwise.
    """

    value: int | float | bool | str | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant) or type(self.value) is not type(other.value):
            return False
        return self.value == other.value or self.value is other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class Term:
    """``coefficient * index`` of an affine form.

    Attributes:
        index: a "program_id", "arange" or "loop_index" value; or any other value that varies
            along one axis only, such as ``rows % M`` or loaded indices.
        axis: the axis of the tile that the index runs along; None for the same all over it.
        coefficient: what one step of the index adds, over parameters and literals.
    """

    index: Value
    axis: int | None
    coefficient: Polynomial


@dataclass(frozen=True)
class Affine:
    """``constant + sum of terms``; for a pointer, the offset from its base in elements."""

    constant: Polynomial
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class TileFacts:
    """What is known of a value.

    Attributes:
        kind: what it is.
        shape: extents of the tile, () for a scalar; of the block for block pointers and
            descriptors.
        dtype: element type ("fp16", "i32", "i1"); of what is pointed at for pointers, block
            pointers and descriptors. ``dtypes.WEAK`` for a Python number.
        affine: integers and pointers as a sum over program ids, aranges and loop indices.
        strides: the difference between neighbours along each axis, 0 where all are equal, 1
            where they are contiguous; elements for pointers. None an axis, or None altogether.
        divisibility: a power of two that divides the first element (an integer), or the
            address in bytes (a pointer); 1 if nothing is known.
        programs: the grid axes it may differ over; None where that is not known. An empty set
            is a value that is the same in every program.
        base: the pointer parameter that an address goes through.
        constant: the value itself, where it is known when the kernel is compiled.
        items: of a tuple.
    """

    kind: Kind
    shape: Shape | None = None
    dtype: str | None = None
    affine: Affine | None = None
    strides: tuple[Polynomial | None, ...] | None = None
    divisibility: int = 1
    programs: frozenset[int] | None = None
    base: str | None = None
    constant: Constant | None = None
    items: "tuple[TileFacts, ...] | None" = None
