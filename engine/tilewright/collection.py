"""Python's garbage collector and the allocator, set for programs that make many syntax trees.

Trees, values and facts are hundreds of thousands of objects that live as long as their file is
remembered. The collector's own thresholds look through them again and again and find nothing:
that takes as long as the analysis. What is loaded at the start is never garbage at all.
"""

import gc
import sys

_NEW_OBJECTS = 500_000
_YOUNG_ROUNDS = 20
_MIDDLE_ROUNDS = 50
# A process that stays collects in its pauses (``collect_all``); these are for when it has none.
_OF_A_SERVER = (1_000_000, 2, 3)
# ``M_ARENA_MAX`` of glibc's <malloc.h>.
_M_ARENA_MAX = -8


def share_one_arena() -> None:
    """Let all threads of this process allocate from one arena of glibc; before they start.

    Each thread would else get an arena of its own, of which what is free serves no other. The
    interpreter's lock keeps threads from allocating at once. Nothing is done without glibc.
    """
    if sys.platform != "linux":
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)


def collect_seldom(*, stays: bool = False) -> None:
    """For the start of a program, after its imports: cyclic garbage is collected, but seldom.

    Args:
        stays: the program runs until someone ends it, so that its garbage must not pile up.
    """
    gc.freeze()
    gc.set_threshold(*(_OF_A_SERVER if stays else (_NEW_OBJECTS, _YOUNG_ROUNDS, _MIDDLE_ROUNDS)))


def set_aside() -> int:
    """Hide all objects from the collector until ``collect_all``, which takes no time.

    Returns how many more there are than when this was done last, by Python's count.
    """
    more = gc.get_count()[0]
    gc.freeze()
    return more


def collect_new() -> None:
    """Collect what was made since the last call of this or of ``collect_all``; what is left is set
    aside. That takes as long as what was made is many."""
    gc.collect()
    gc.freeze()


def collect_all() -> None:
    """Collect everything, also what was set aside; what is left is set aside again."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
