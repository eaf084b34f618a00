"""The work of a launch, counted from its source: bytes touched and asked for, products."""

from collections.abc import Iterator

from tilewright.costs.model import Touch, Workload
from tilewright.costs.traffic import asked, touched_bytes
from tilewright.costs.workload import workload
from tilewright.profiling.model import Work
from tilewright.source.model import Module
from tilewright.targets.model import LaunchFacts


def work_of(module: Module, launch: LaunchFacts) -> Work:
    """What one launch of a kernel of ``module`` does; empty, with a note, if it is not there."""
    kernel = module.kernel(launch.kernel)
    if kernel is None or not launch.grid:
        return Work(notes=(f"{launch.kernel} is not in this file: its work was not counted",))
    work = workload(module, kernel, launch)
    wanted = asked(work)
    flop: dict[str, float] = {}
    for dot in work.dots:
        count = 2.0 * dot.m * dot.n * dot.k * dot.turns * work.programs
        flop[dot.dtype] = flop.get(dot.dtype, 0.0) + count
    return Work(
        touched_bytes=touched_bytes(work, launch) or None,
        asked_bytes=work.programs * (wanted.requested + wanted.common + wanted.stored) or None,
        dot_flop=flop,
        programs=work.programs,
        again=tuple(sorted(set(_read_again(work)))),
        dot_lines=tuple(sorted({dot.line for dot in work.dots})),
        notes=work.notes,
    )


def _read_again(work: Workload) -> Iterator[int]:
    """Lines of loads through one pointer that reach the same tiles."""
    loads = [touch for touch in work.touches if touch.kind == "load" and touch.base is not None]
    for one in loads:
        if any(_same_place(one, other) for other in loads if other is not one):
            yield one.line


def _same_place(one: Touch, other: Touch) -> bool:
    return (one.base, one.extents, one.strides, one.moves, one.spread) == (
        other.base, other.extents, other.strides, other.moves, other.spread,
    )  # fmt: skip


def together(works: tuple[Work, ...]) -> Work:
    """The work of several launches of one kernel in a call."""
    flop: dict[str, float] = {}
    for work in works:
        for dtype, count in work.dot_flop.items():
            flop[dtype] = flop.get(dtype, 0.0) + count
    return Work(
        touched_bytes=_sum(work.touched_bytes for work in works),
        asked_bytes=_sum(work.asked_bytes for work in works),
        dot_flop=flop,
        programs=sum(work.programs or 0 for work in works) or None,
        again=tuple(sorted({line for work in works for line in work.again})),
        dot_lines=tuple(sorted({line for work in works for line in work.dot_lines})),
        notes=tuple(dict.fromkeys(note for work in works for note in work.notes)),
    )


def _sum(values: Iterator[float | None]) -> float | None:
    """The sum, unless one is not known."""
    known = list(values)
    return None if not known or None in known else sum(value or 0.0 for value in known)
