"""Values of a launch at sizes that were chosen for it: numbers, tensors, and what is not known."""

import ast
from dataclasses import dataclass, field
from math import prod
from typing import Any


class Unknown:
    """What does not follow from the text; there is one, ``UNKNOWN``."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unknown()
Known = Any
"""A value of the evaluated text, or ``UNKNOWN``."""


class Infeasible(Exception):  # noqa: N818
    """The text refuses the sizes that were chosen: an assertion fails, or a tile's length does.

    Attributes:
        length: the length of a tile that is no power of two; None for any other reason.
        same: two sizes that the text demands to be equal.
        multiples: what sizes have to be multiples of.
    """

    def __init__(
        self,
        reason: str,
        length: int | None = None,
        same: tuple[str, str] | None = None,
        multiples: dict[str, int] | None = None,
    ) -> None:
        super().__init__(reason)
        self.length = length
        self.same = same
        self.multiples = multiples or {}


class Unfollowed(Exception):  # noqa: N818
    """The evaluation is given up: it takes too long, or meets what nothing can be said of."""


class Dim(int):
    """A size that was chosen; ``keys`` are the names it was chosen under, with its factors'.

    ``is_raised`` is a size that something was added to, as before it is divided and rounded up.
    """

    keys: frozenset[str]
    is_raised: bool

    def __new__(cls, value: int, keys: frozenset[str], *, is_raised: bool = False) -> "Dim":
        made = super().__new__(cls, value)
        made.keys = keys
        made.is_raised = is_raised
        return made

    def __mul__(self, other: Any) -> Any:
        result = int(self) * other
        return Dim(result, self.keys | keys_of(other)) if type(result) is int else result

    def __add__(self, other: Any) -> Any:
        result = int(self) + other
        if type(result) is not int:
            return result
        return Dim(result, self.keys | keys_of(other), is_raised=True)

    def __sub__(self, other: Any) -> Any:
        result = int(self) - other
        if type(result) is not int:
            return result
        return Dim(result, self.keys | keys_of(other), is_raised=self.is_raised)

    def __floordiv__(self, other: Any) -> Any:
        result = int(self) // other
        return Dim(result, self.keys | keys_of(other)) if type(result) is int else result

    __rmul__ = __mul__
    __radd__ = __add__


def keys_of(value: object) -> frozenset[str]:
    """The names of the sizes that a number is made of."""
    return value.keys if isinstance(value, Dim) else frozenset()


def demand_exact(one: Dim, two: float) -> None:
    """The quotient of two sizes, or half of an axis, is taken to be exact if nothing rounds it."""
    is_count = not isinstance(two, Dim) and any(key.endswith("#") for key in one.keys)
    if one % two and len(one.keys) == 1 and not one.keys & keys_of(two) and not is_count:
        raise Infeasible("a quotient", multiples={key: 2 * int(two) for key in one.keys})


@dataclass(eq=False)
class Storage:
    """Memory of a tensor.

    Attributes:
        name: how the text calls the tensor first.
        size: elements from its first to its last; None where the text does not say.
        made: the call that allocates it; None for what the function is given.
        is_unset: the allocation leaves in it what was there.
        is_shared: something that is not evaluated may write it too.
    """

    name: str
    size: int | None
    made: ast.expr | None = None
    is_unset: bool = False
    is_shared: bool = False


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor: ``key`` names the sizes of one that the function is given.

    ``shape`` and ``strides`` are None where they are not known.
    """

    storage: Storage
    key: str = ""
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    offset: int = 0


@dataclass(eq=False)
class Open:
    """A parameter of the host function: a tensor, or a number, as it is used.

    ``default`` is its default's value, UNKNOWN where it has none.
    """

    key: str
    default: Known = UNKNOWN
    tensor: Tensor | None = None
    number: Known = None


@dataclass(frozen=True)
class Dotted:
    """A name of another module, or a function."""

    name: str


@dataclass(frozen=True, eq=False)
class Function:
    """A lambda or a function of the text with the names it sees."""

    node: ast.Lambda | ast.FunctionDef
    env: dict[str, Known] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Method:
    """``owner.name``, to be called."""

    owner: Known
    name: str


def strides_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of a contiguous tensor."""
    strides, step = list[int](), 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def product(numbers: tuple[int, ...]) -> int:
    """The number of elements of a shape; a ``Dim`` of all its sizes."""
    total = prod(map(int, numbers))
    keys = frozenset[str]().union(*map(keys_of, numbers))
    return Dim(total, keys) if keys else total
