"""Results that are computed once for each parsed kernel, or for each parsed file.

What follows from a kernel is kept with its node (``source/node_memo.py``), what follows from a file
with that: neither outlives the versions of the file that are remembered.
"""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TypeVar, TypeVarTuple, cast

from tilewright.lru import LruDict
from tilewright.source.host_reads import host_reads, note_host_read
from tilewright.source.model import Kernel, Module
from tilewright.source.node_memo import memo_of

A = TypeVarTuple("A")
T = TypeVar("T")


class Same:
    """A part of a key that only the same object is equal to."""

    __slots__ = ("part",)

    def __init__(self, part: object) -> None:
        self.part = part

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.part is other.part

    def __hash__(self) -> int:
        return id(self.part)


def kept_by(
    key: Callable[[*A], Hashable], most: int
) -> Callable[[Callable[[*A], T]], Callable[[*A], T]]:
    """Keep the results used last by a key of the arguments; ``Same`` is a part that is compared
    by identity."""

    def decorated(function: Callable[[*A], T]) -> Callable[[*A], T]:
        known: LruDict[Hashable, tuple[T]] = LruDict(most)

        @wraps(function)
        def memoized(*args: *A) -> T:
            place = key(*args)
            entry = known.get(place)
            if entry is None:
                entry = (function(*args),)
                known.put(place, entry)
            return entry[0]

        return memoized

    return decorated


def per_kernel(function: Callable[[Module, Kernel, *A], T]) -> Callable[[Module, Kernel, *A], T]:
    """Keep a result with the kernel's node and the file's names: it may depend on these alone.

    Versions of a file share the nodes that an edit left alone. Further arguments belong to the key.
    """

    @wraps(function)
    def memoized(module: Module, kernel: Kernel, *further: *A) -> T:
        memo = memo_of(kernel.node)
        key = (function, further)
        entry = memo.get(key)
        if entry is None or entry[0] is not module.names:
            entry = memo[key] = (
                module.names,
                *_result_and_host_read(function, module, kernel, *further),
            )
        if entry[2]:
            note_host_read()
        return cast("T", entry[1])

    return memoized


def per_module(function: Callable[[Module, *A], T]) -> Callable[[Module, *A], T]:
    """Keep a result by the parsed file and the further arguments, as long as the file is kept."""

    @wraps(function)
    def memoized(module: Module, *further: *A) -> T:
        key = (function, further)
        entry = module.memo.get(key)
        if entry is None:
            entry = module.memo[key] = _result_and_host_read(function, module, *further)
        if entry[1]:
            note_host_read()
        return cast("T", entry[0])

    return memoized


def _result_and_host_read(function: Callable[[*A], T], *args: *A) -> tuple[T, bool]:
    """A result, and whether host code was read for it: then it is read by all who take it."""
    before = host_reads()
    return function(*args), host_reads() is not before
