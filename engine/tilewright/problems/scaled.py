"""Dimensions that are too much for the interpreter, made smaller together.

A spec's small cases may be those of a device. All numbers that are equal stay equal, as a layer's
width is in several dimensions and in lists of them, and what is halved keeps to tiles.
"""

import math
from collections.abc import Callable, Mapping
from typing import TypeVar

from tilewright.problems.model import Case, Dim

MOST = float(1 << 31)
"""Operations of a case that the interpreter finishes: half a minute's."""
_WANTED = float(1 << 27)
"""Operations of what is asked in its place, as it is asked often."""
_LEAST = 64
_Value = TypeVar("_Value")


def work(case: Case) -> float:
    """Operations of a call: the spec's ``flop``, else the product of its dimensions."""
    if case.flop is not None:
        return case.flop
    sizes = (value for value in case.dims.values() if _is_extent(value))
    return float(math.prod(int(value) for value in sizes if isinstance(value, int)))


def scaled_dims(
    dims: Mapping[str, Dim], work_of: Callable[[Mapping[str, Dim]], float | None]
) -> dict[str, Dim]:
    """``dims`` with their largest numbers halved until a case of them is little work.

    ``work_of``: None where no case can be made of them; as they are where that is so.
    """
    found, amount = dict(dims), work_of(dims)
    if amount is None or amount <= MOST:
        return found
    while amount > _WANTED:
        largest = max(_numbers(found), default=0)
        if largest <= _LEAST:
            return found
        smaller = {name: _halved(value, largest) for name, value in found.items()}
        amount = work_of(smaller)
        if amount is None:
            return found
        found = smaller
    return found


def _is_extent(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 1


def _numbers(dims: Mapping[str, Dim]) -> list[int]:
    flat: list[object] = []
    for value in dims.values():
        flat += _flat(value)
    return [one for one in flat if isinstance(one, int) and _is_extent(one)]


def _flat(value: object) -> list[object]:
    return [x for one in value for x in _flat(one)] if isinstance(value, tuple) else [value]


def _halved(value: _Value, largest: int) -> _Value:
    if isinstance(value, tuple):
        return tuple(_halved(one, largest) for one in value)  # type: ignore[return-value]
    return value // 2 if _is_extent(value) and value == largest else value  # type: ignore
