"""Sizes that are chosen for a launch: small, and each unlike the others."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from tilewright.analysis.instances.model import Dim, Unfollowed, keys_of


class Shape(Enum):
    """What kind of sizes is chosen where the text handles ends that are no whole blocks."""

    WHOLE = "whole"
    ODD = "odd"
    EVEN = "even"


_RAGGED = {
    Shape.ODD: (5, 7, 3, 11, 9, 13),
    Shape.EVEN: (6, 10, 14, 12, 18, 22),
}
_POWERS = (4, 8, 2, 16, 32)
_NUMBERS = {Shape.WHOLE: (2, 4, 8), Shape.ODD: (3, 2, 5), Shape.EVEN: (2, 6, 4)}
"""Of parameters that are no tensors, of which few are as large as an extent."""
_DEVICE = 2
_LONG = 16
UNITS = "programs of the device"


@dataclass
class Sizes:
    """Chooses a size for each name that the text leaves open, the same each time.

    Attributes:
        kind: what is chosen for the ``ragged`` ones; all others are powers of two.
        block: what sizes that are not ragged are multiples of, where 1 is any power of two.
        ragged: the names of sizes that the text rounds up, or bounds indices by.
        powers: the names of sizes that have to be powers of two.
        multiples: what sizes of a name have to be multiples of.
        aliases: the names of sizes that the text demands to be another one.
        ranks: the number of axes of tensors whose shape is taken apart.
        flat: tensors of which the number of elements is asked for.
        scale: what the lengths of blocks are divided by.
        is_least: numbers that the caller chooses are 1.
        is_padded: rows of the tensors given are further apart than they are long.
        long: the names of sizes that are longer than most.
    """

    kind: Shape = Shape.WHOLE
    block: int = 1
    ragged: set[str] = field(default_factory=set)
    powers: set[str] = field(default_factory=set)
    multiples: dict[str, int] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    flat: set[str] = field(default_factory=set)
    scale: int = 1
    is_least: bool = False
    is_padded: bool = False
    long: frozenset[str] = frozenset()
    _chosen: dict[str, int] = field(default_factory=dict)

    def size(self, key: str) -> Dim:
        """The size of that name."""
        seen: set[str] = set()
        while key in self.aliases and key not in seen:
            seen.add(key)
            key = self.aliases[key]
        if key not in self._chosen:
            self._reject_contradiction(key)
            self._chosen[key] = self._next(key)
        return Dim(self._chosen[key], frozenset((key,)))

    def _reject_contradiction(self, key: str) -> None:
        """Raise Unfollowed for two sizes of a tensor of any rank that depend on each other.

        These are its number of elements and an axis, and an axis counted from each end, the first
        and the last one aside.
        """
        tensor, is_axis, axis = key.removesuffix("#").partition(".")
        for one in self._chosen:
            other, other_is_axis, other_axis = one.removesuffix("#").partition(".")
            if other != tensor or key == one:
                continue
            if is_axis != other_is_axis or (is_axis and _may_be_one(int(axis), int(other_axis))):
                raise Unfollowed("two sizes of a tensor of any rank")

    def mark_ragged(self, keys: Iterable[str]) -> None:
        """The text rounds these sizes up, or compares indices with them."""
        self.ragged.update(keys)

    @property
    def has_callers_numbers(self) -> bool:
        """Whether the caller chooses some numbers, by rules that the text does not state."""
        return any(map(_is_callers, self._chosen))

    def again(
        self,
        *,
        kind: Shape | None = None,
        block: int | None = None,
        is_padded: bool | None = None,
        is_least: bool | None = None,
        long: frozenset[str] | None = None,
    ) -> "Sizes":
        """Other sizes, with what is known of the names."""
        return replace(
            self,
            kind=self.kind if kind is None else kind,
            block=self.block if block is None else block,
            is_padded=self.is_padded if is_padded is None else is_padded,
            is_least=self.is_least if is_least is None else is_least,
            long=self.long if long is None else long,
            _chosen={},
        )

    def of_others(self, value: object) -> frozenset[str]:
        """The names of sizes of tensors from which no size in a number is."""
        own = {_tensor(key) for key in keys_of(value)}
        others = (key for key in self._chosen if not _is_callers(key) and key != UNITS)
        return frozenset(key for key in others if _tensor(key) not in own)

    def named(self, number: int) -> set[str]:
        """The names of sizes that were given this number, or divide it."""
        same = {key for key, size in self._chosen.items() if size == number}
        return same or {key for key, size in self._chosen.items() if number % size == 0}

    def spelled(self) -> str:
        """The sizes chosen, as one would write them on the host."""
        return ", ".join(f"{_spelled(key)} = {size}" for key, size in self._chosen.items())

    def _next(self, key: str) -> int:
        if key == UNITS:
            return _DEVICE
        taken = set(self._chosen.values())
        is_ragged = self.kind is not Shape.WHOLE and key in self.ragged and key not in self.powers
        if key in self.multiples:
            return self.multiples[key] * (3 if is_ragged else 2)
        if key in self.long:
            return _LONG
        if _is_callers(key) and self.is_least:
            return 1
        if _is_callers(key):
            choice: tuple[int, ...] = _NUMBERS[self.kind if is_ragged else Shape.WHOLE]
        elif is_ragged:
            choice = _RAGGED[self.kind]
        else:
            choice = tuple(self.block * n for n in (1, 2, 4)) if self.block > 1 else _POWERS
        return next((number for number in choice if number not in taken), choice[0])


def _may_be_one(axis: int, other: int) -> bool:
    """Whether two numbers may be of one axis, where a tensor has more than one."""
    return min(axis, other) < 0 <= max(axis, other) and abs(axis - other) > 1


def _spelled(key: str) -> str:
    name, sign, axis = key.rpartition(".")
    if key.endswith("#"):
        return f"{key[:-1]}.numel()"
    return f"{name}.shape[{axis}]" if sign else key


def _tensor(key: str) -> str:
    return key.removesuffix("#").rpartition(".")[0] or key.removesuffix("#")


def _is_callers(key: str) -> bool:
    return not key.endswith("#") and "." not in key and key != UNITS


def is_callers_number(value: object) -> bool:
    """Whether a number is just a parameter of the host function, and no size of a tensor."""
    keys = keys_of(value)
    return len(keys) == 1 and all(map(_is_callers, keys))
