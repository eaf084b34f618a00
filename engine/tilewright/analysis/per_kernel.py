"""Results that are computed once for each parsed kernel, or for each parsed file."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TypeVar, TypeVarTuple, cast

from tilewright.lru import LruDict
from tilewright.source.model import Kernel, Module

A = TypeVarTuple("A")
T = TypeVar("T")
_MOST = 512


def kept_by(
    key: Callable[[*A], Hashable], most: int = _MOST
) -> Callable[[Callable[[*A], T]], Callable[[*A], T]]:
    """Keep the results used last by a key of the arguments, which may hold ids of their parts."""

    def decorated(function: Callable[[*A], T]) -> Callable[[*A], T]:
        # Entries hold the arguments, so that nothing else gets an id that is part of a key.
        known: LruDict[Hashable, tuple[object, T]] = LruDict(most)

        @wraps(function)
        def asked(*args: *A) -> T:
            place = key(*args)
            entry = known.get(place)
            if entry is None:
                entry = (args, function(*args))
                known.put(place, entry)
            return entry[1]

        return asked

    return decorated


def per_kernel(function: Callable[[Module, Kernel, *A], T]) -> Callable[[Module, Kernel, *A], T]:
    """Keep a result by the kernel's node and the file's names: it may depend on these alone.

    Versions of a file share the nodes that an edit left alone. Further arguments belong to the key.
    """

    def key(module: Module, kernel: Kernel, *further: *A) -> Hashable:
        return kernel.node, id(module.names), further

    return kept_by(key)(function)


def per_module(function: Callable[[Module, *A], T]) -> Callable[[Module, *A], T]:
    """Keep a result by the parsed file and the further arguments, as long as the file is kept."""

    @wraps(function)
    def asked(module: Module, *further: *A) -> T:
        key = (function, further)
        if key not in module.memo:
            module.memo[key] = function(module, *further)
        return cast("T", module.memo[key])

    return asked
