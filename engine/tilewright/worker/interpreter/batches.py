"""Which programs of an interpreted launch are computed together, and decisions of all of them.

In a batch every value has a leading axis: one entry for each program, or a single one where the
value is the same for all. Where programs take different ways (a branch, the number of rounds of a
loop) the batch ends with ``DivergedError``, and each way is computed as a batch from the beginning.
"""

from __future__ import annotations

import builtins
import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from .footprints import Footprints


class UnbatchableError(Exception):
    """These programs cannot be computed together; the loop over programs can compute them."""


class DivergedError(BaseException):
    """Programs part here: ``parts`` has the places in the batch of those that go the same way.

    Not an Exception, so that nothing between a kernel and its launch takes it for one of a kernel.
    """

    def __init__(self, ways: Any) -> None:
        _, first, inverse = np.unique(ways, return_index=True, return_inverse=True)
        inverse = inverse.reshape(-1)
        self.parts = [np.flatnonzero(inverse == way) for way in np.argsort(first)]
        super().__init__(f"{len(self.parts)} ways")


class Batch:
    """Programs that run together.

    Attributes:
        programs: their numbers in the grid, in the order in which they are to store.
        grid: its three extents.
        footprints: what all programs of the launch have touched.
        widest: elements of the largest block that a program has loaded or stored.
        result_unused: whether the atomic operation that comes next gives its result to no variable.
    """

    def __init__(self, programs: Any, grid: tuple[int, int, int], footprints: Footprints) -> None:
        self.programs = programs
        self.grid = grid
        self.footprints = footprints
        self.widest = 1
        self.result_unused = False
        self._ids = np.unravel_index(programs, grid)

    def program_ids(self, axis: int) -> Any:
        """The program id of each along an axis; one where all have the same."""
        ids = self._ids[axis].astype(np.int32)
        return ids[:1] if self.grid[axis] == 1 else ids


_current: Batch | None = None


def current() -> Batch | None:
    """The batch that runs; None while programs run one after another."""
    return _current


@contextlib.contextmanager
def running(batch: Batch) -> Iterator[None]:
    """Have values be those of all programs of a batch."""
    global _current
    _current = batch
    try:
        yield
    finally:
        _current = None


def number(value: Any) -> Any:
    """A scalar's value. Raises DivergedError where the programs of a batch have several."""
    data = value.handle.data
    if _current is None or data.size == 1:
        return data.reshape(-1)[0]
    firsts = data.reshape(len(data), -1)[:, 0]
    if (firsts == firsts[0]).all():
        return firsts[0]
    raise DivergedError(firsts)


def truth(value: Any) -> bool:
    """Whether a scalar is true; blocks are, as Triton's interpreter has it."""
    size = math.prod(int(getattr(one, "value", one)) for one in value.shape)
    return bool(number(value)) if size == 1 else True


def differs(value: Any) -> bool:
    """Whether a value is not the same for all programs of a batch."""
    is_scalar = _current is not None and isinstance(value, tl.tensor)
    return is_scalar and value.handle.data.size > 1


def rounds(*bounds: Any) -> Any:
    """``range`` as kernels call it: its bounds may differ by program, as long as all make as many
    rounds."""
    if not any(map(differs, bounds)):
        return builtins.range(*bounds)
    first, last, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    at, end, by = (_numbers(one) for one in (first, last, step))
    counts = np.maximum(-(-(end - at) // by), 0)
    if (counts != counts[0]).any():
        raise DivergedError(np.broadcast_to(counts, len(_of_batch().programs)))
    kind = first.dtype if isinstance(first, tl.tensor) else tl.int32
    return _rounds(at, by, int(counts[0]), kind)


def _rounds(at: Any, by: Any, count: int, kind: Any) -> Iterator[Any]:
    for turn in builtins.range(count):
        data = (at + turn * by).astype(np.int64 if kind == tl.int64 else np.int32)
        yield tl.tensor(TensorHandle(data, kind), kind)


def _numbers(value: Any) -> Any:
    """Whole numbers, one a program or one for all."""
    if not isinstance(value, tl.tensor):
        return np.array([int(getattr(value, "value", value))], dtype=np.int64)
    return value.handle.data.reshape(-1).astype(np.int64)


def _of_batch() -> Batch:
    assert _current is not None
    return _current


def _chosen(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """``min`` or ``max`` of Python, which the compiler takes for the language's."""

    def choose(*values: Any, **options: Any) -> Any:
        if options or len(values) < 2 or not any(map(differs, values)):
            return plain(*values, **options)
        return _folded(getattr(tl, name), values)

    return choose


def _folded(function: Callable[[Any, Any], Any], values: Sequence[Any]) -> Any:
    found = values[0]
    for value in values[1:]:
        found = function(found, value)
    return found


def result_unused() -> None:
    """The atomic operation that follows is a statement by itself."""
    if _current is not None:
        _current.result_unused = True


BUILTINS: dict[str, Callable[..., Any]] = {
    "range": rounds,
    "min": _chosen("minimum", min),
    "max": _chosen("maximum", max),
}
"""What stands for functions of Python's in kernels."""
