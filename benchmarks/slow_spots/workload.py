"""What a reported case of lost time is run on: inputs for its host function, at stated sizes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Sizes = tuple[int, ...]


class Way(StrEnum):
    """How both versions of a case are timed."""

    CALLS = "calls"
    """The same inputs again and again, interleaved, behind a flushed cache."""
    NEW_SIZES = "new sizes"
    """The first call at each of a row of sizes, as Python sees it: what compiling again costs."""


@dataclass(frozen=True)
class Workload:
    """Inputs for one case.

    Attributes:
        entry: the host function by name, or what finds it in the module.
        make: the inputs by name, in the order of the parameters; gets torch and the sizes. Tensors
            are made on the device that is current.
        small: sizes for the interpreter, where only results are compared.
        sizes: those that are timed, as an engineer would run the case.
        takes: the inputs of each version, where they do not take the same.
        compare: what of a result is compared, where the versions arrange it differently.
        tolerance: of the error's norm, relative to the result's. Integers are equal without it.
        compiled: whether the host function is run through ``torch.compile``.
        in_a_row: whether calls one after another, on inputs that calls before have changed, do the
            same work.
        interpretable: whether operators on the CPU can do what the host function asks for.
    """

    entry: str | Callable[[Any, Any], Any]
    make: Callable[..., dict[str, Any]]
    small: Sizes
    sizes: tuple[Sizes, ...]
    way: Way = Way.CALLS
    takes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    compare: Callable[[Any, Any], Any] | None = None
    tolerance: float | None = None
    compiled: bool = False
    in_a_row: bool = True
    interpretable: bool = True

    def named(self, sizes: Sizes) -> dict[str, int]:
        """Sizes by the names of ``make``'s parameters."""
        names = list(inspect.signature(self.make).parameters)[1:]
        return dict(zip(names, sizes, strict=True))


def calls(
    entry: str | Callable[[Any, Any], Any],
    make: Callable[..., dict[str, Any]],
    small: Sizes,
    *sizes: Sizes,
    **more: Any,
) -> Workload:
    """A case that is timed call by call."""
    return Workload(entry, make, small, sizes, **more)


def new_sizes(
    entry: str, make: Callable[..., dict[str, Any]], small: Sizes, *sizes: Sizes, **more: Any
) -> Workload:
    """A case that is timed by its first calls at sizes that it has not seen; the first one warms
    up, and an interval needs twelve more."""
    return Workload(entry, make, small, sizes, Way.NEW_SIZES, **more)


def starts_of(torch: Any, rows: int, sequences: int) -> Any:
    """Where sequences of unequal length, all multiples of 64, begin and end in so many rows."""
    blocks = rows // 64
    cuts = [0, *(blocks * at * at // sequences**2 for at in range(1, sequences)), blocks]
    return torch.tensor([64 * cut for cut in cuts])
