"""Values of expressions in an NKI kernel, over what is known of its sizes and loops."""

from dataclasses import dataclass, field

from tilewright.analysis.nki.affine import Affine
from tilewright.analysis.nki.model import Comparison, Index, Mask, Storage, View


@dataclass(frozen=True)
class Array:
    """An index array: affine in its lanes, each of which runs along one of ``rank`` axes."""

    value: Affine
    rank: int


@dataclass(frozen=True)
class Stretch:
    """``start:stop``, ``nl.ds(start, size)``; ``start`` None for one that cannot be derived."""

    start: Affine | None
    size: Affine | None
    step: int = 1


ELLIPSIS = "..."
Item = Affine | Array | Stretch | Index | str
"""What stands for one dimension: a point, an array, a stretch, FULL, or ELLIPSIS."""


@dataclass(frozen=True)
class Literal:
    """A constant that is no integer: text, a float, a truth value, None.

    ``dtype`` is the element type of one that was converted, ``np.float16(0.5)``.
    """

    value: str | float | bool | None
    dtype: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Named:
    """A dotted name: a function given as an operand, a dtype, a buffer, an engine."""

    dotted: str


@dataclass(frozen=True)
class DtypeOf:
    """``x.dtype`` where the type is not known."""

    storage: Storage


@dataclass(frozen=True)
class Items:
    """A tuple or list whose elements are known."""

    values: tuple["Value", ...]


@dataclass(frozen=True)
class ShapeOf:
    """``x.shape`` of a tensor whose rank is not known."""

    name: str


@dataclass(frozen=True)
class Grid:
    """``nl.mgrid[...]``: one index array for each axis."""

    arrays: tuple[Array, ...]


@dataclass(frozen=True)
class Many:
    """A list that tiles, or lists of them, are appended to; ``sample`` stands for any of them."""

    sample: "View | Many | None"


@dataclass(frozen=True)
class Partition:
    """``nl.par_dim(n)`` in a shape."""

    size: Affine


@dataclass(frozen=True)
class Unknown:
    """Nothing is known of it."""


UNKNOWN = Unknown()
Value = (
    Affine
    | Array
    | Stretch
    | Mask
    | Comparison
    | View
    | Literal
    | Named
    | DtypeOf
    | Items
    | ShapeOf
    | Grid
    | Many
    | Partition
    | Unknown
)
