"""Which constants belong together: what else must change with a constexpr of a launch."""

from tilewright.rewrites.ties.host import HostTies
from tilewright.rewrites.ties.kernel import KernelTies
from tilewright.rewrites.ties.model import Ties, joined
from tilewright.source.model import Kernel, Launch, Module

__all__ = ["Ties", "grid_axes", "is_counted_by_programs", "ties_of"]


def ties_of(
    module: Module, kernel: Kernel, launch: Launch, name: str, present: int | None, *, group: bool
) -> Ties:
    """What is tied to a constexpr of a launch.

    Args:
        present: what it is now; None where the host computes it or a tuner chooses it.
        group: it only says in which order programs take their tiles.
    """
    own, host = KernelTies(module, kernel, name), HostTies(module, kernel, launch, name)
    found = own.group_ties() if group else own.ties()
    if found.fixed and own.kept_by and all(host.follows(base) for base in own.kept_by):
        # A buffer with one value for each tile follows; whether its reader does, results tell.
        doubts = (*found.doubts, found.fixed)
        found = Ties(whole=found.whole, doubts=doubts, followers=(found.fixed,))
    return joined([found, host.ties(present)])


def is_counted_by_programs(module: Module, kernel: Kernel, name: str) -> bool:
    """Whether programs share the tiles of a constexpr among them, so that the grid must follow.

    So it is taken to be where nothing shows what it tiles.
    """
    return KernelTies(module, kernel, name).is_counted_by_programs


def grid_axes(module: Module, kernel: Kernel, name: str) -> frozenset[int] | None:
    """The axes of the grid along which a constexpr's tiles are counted; None where not known."""
    return KernelTies(module, kernel, name).grid_axes
