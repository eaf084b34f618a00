"""Facts of one kernel that several detectors ask for: found once for each parsed kernel."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

from tilewright.source.model import Kernel, Module

T = TypeVar("T")
_KEPT = 256


class _Subject:
    """A kernel in its module, equal by the node and by what names mean there."""

    __slots__ = ("kernel", "module")

    def __init__(self, module: Module, kernel: Kernel) -> None:
        self.module = module
        self.kernel = kernel

    def __hash__(self) -> int:
        return id(self.kernel.node)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Subject)
            and other.kernel.node is self.kernel.node
            and other.module.names is self.module.names
        )


def per_kernel(function: Callable[[Module, Kernel], T]) -> Callable[[Module, Kernel], T]:
    """Keep what ``function`` says of a kernel; it may use the kernel and the names only."""

    @lru_cache(maxsize=_KEPT)
    def kept(subject: _Subject) -> T:
        return function(subject.module, subject.kernel)

    @wraps(function)
    def asked(module: Module, kernel: Kernel) -> T:
        return kept(_Subject(module, kernel))

    return asked
