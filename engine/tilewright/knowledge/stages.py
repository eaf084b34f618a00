"""The optimization stages and the order between them.

Nine stages and nine hard dependencies, as the Xe-Forge paper (arXiv 2605.26118,
section IV-A) gives them: work of wide semantic scope before work of narrow scope.
"""

from collections.abc import Iterable
from enum import StrEnum
from heapq import heappop, heappush


class Stage(StrEnum):
    """A stage of optimization, in the default order. ``CORRECTNESS`` holds faults, not work."""

    CORRECTNESS = "correctness"
    ALGORITHMIC = "algorithmic"
    DISCOVERY = "discovery"
    DTYPE_FIX = "dtype_fix"
    FUSION = "fusion"
    MEMORY_ACCESS = "memory_access"
    BLOCK_POINTERS = "block_pointers"
    PERSISTENT_KERNEL = "persistent_kernel"
    DEVICE_SPECIFIC = "device_specific"
    AUTOTUNING = "autotuning"


DEFAULT_ORDER: tuple[Stage, ...] = tuple(Stage)

HARD_DEPENDENCIES: tuple[tuple[Stage, Stage], ...] = (
    *((Stage.CORRECTNESS, stage) for stage in DEFAULT_ORDER[1:]),
    (Stage.ALGORITHMIC, Stage.FUSION),
    (Stage.ALGORITHMIC, Stage.DTYPE_FIX),
    (Stage.DISCOVERY, Stage.DTYPE_FIX),
    (Stage.DISCOVERY, Stage.FUSION),
    (Stage.DTYPE_FIX, Stage.FUSION),
    (Stage.MEMORY_ACCESS, Stage.BLOCK_POINTERS),
    (Stage.FUSION, Stage.DEVICE_SPECIFIC),
    (Stage.BLOCK_POINTERS, Stage.DEVICE_SPECIFIC),
    (Stage.DEVICE_SPECIFIC, Stage.AUTOTUNING),
)


def order_stages(wanted: Iterable[Stage]) -> tuple[Stage, ...]:
    """The nearest legal order to ``wanted``: Kahn's algorithm, the earliest wish first.

    The dependencies hold transitively through stages that are not wanted as well, so that
    leaving one out does not let two others change places.
    """
    wish = list(dict.fromkeys(wanted))
    rank = {stage: position for position, stage in enumerate(wish)}
    before: dict[Stage, set[Stage]] = {
        stage: {b for b in _all_before(stage) if b in rank} for stage in wish
    }
    ready = [rank[stage] for stage in wish if not before[stage]]
    ready.sort()
    done: list[Stage] = []
    while ready:
        stage = wish[heappop(ready)]
        done.append(stage)
        for other in wish:
            if stage in before[other]:
                before[other].discard(stage)
                if not before[other]:
                    heappush(ready, rank[other])
    return tuple(done)


def _all_before(stage: Stage) -> set[Stage]:
    found: set[Stage] = set()
    pending = [stage]
    while pending:
        current = pending.pop()
        for before, after in HARD_DEPENDENCIES:
            if after is current and before not in found:
                found.add(before)
                pending.append(before)
    return found
