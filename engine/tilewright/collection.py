"""Python's garbage collector, set for programs that make many syntax trees.

Trees, values and facts are hundreds of thousands of objects that live as long as their file is
remembered. The collector's own thresholds look through them again and again and find nothing:
that takes as long as the analysis. What is loaded at the start is never garbage at all.
"""

import gc

_NEW_OBJECTS = 500_000
_YOUNG_ROUNDS = 20
_MIDDLE_ROUNDS = 50
# Of a process that stays: the trees of texts long gone are cycles, and only a full collection
# finds those that have become old. Python adds the condition that a quarter of all is new.
_OF_A_SERVER = (100_000, 2, 3)


def collect_seldom(*, stays: bool = False) -> None:
    """For the start of a program, after its imports: cyclic garbage is collected, but seldom.

    Args:
        stays: the program runs until someone ends it, so that its garbage must not pile up.
    """
    gc.freeze()
    gc.set_threshold(*(_OF_A_SERVER if stays else (_NEW_OBJECTS, _YOUNG_ROUNDS, _MIDDLE_ROUNDS)))
