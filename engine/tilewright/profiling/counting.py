"""The work of a launch, counted from its source: bytes touched and asked for, products."""

from collections.abc import Iterable, Iterator, Mapping

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tiles import Affine, tiles_of
from tilewright.costs.model import Touch, Workload
from tilewright.costs.numbers import Numbers, Place
from tilewright.costs.traffic import asked, touched_bytes
from tilewright.costs.workload import workload
from tilewright.profiling.model import Work
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

_Starts = Mapping[int, tuple[int, ...]]
_FIRST = Place((0, 0, 0), lanes=(0,) * 8)


def work_of(module: Module, launch: LaunchFacts) -> Work:
    """What one launch of a kernel of ``module`` does; empty, with a note, if it is not there."""
    kernel = module.kernel(launch.kernel)
    if kernel is None or not launch.grid:
        return Work(notes=(f"{launch.kernel} is not in this file: its work was not counted",))
    work = workload(module, kernel, launch)
    starts = starts_of(module, kernel, launch)
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
        again=tuple(sorted(set(_read_again(work, starts)))),
        dot_lines=tuple(sorted({dot.line for dot in work.dots})),
        notes=work.notes,
    )


def _same_tiles(touches: Iterable[Touch], starts: _Starts) -> Iterable[list[Touch]]:
    """Touches that reach the same tiles, together; those of which that is not known, alone."""
    found: dict[object, list[Touch]] = {}
    for at, touch in enumerate(touches):
        first = starts.get(touch.line)
        where = (touch.base, touch.extents, touch.strides, touch.spread, touch.moves, first)
        found.setdefault(at if touch.base is None or first is None else where, []).append(touch)
    return found.values()


def _read_again(work: Workload, starts: _Starts) -> Iterator[int]:
    """Lines of loads that surely reach the same tiles as another line's."""
    loads = [touch for touch in work.touches if touch.kind == "load"]
    for group in _same_tiles(loads, starts):
        if len({touch.line for touch in group}) > 1:
            yield from (touch.line for touch in group)


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
        programs=max((work.programs or 0 for work in works), default=0) or None,
        again=tuple(sorted({line for work in works for line in work.again})),
        dot_lines=tuple(sorted({line for work in works for line in work.dot_lines})),
        notes=tuple(dict.fromkeys(note for work in works for note in work.notes)),
    )


def _sum(values: Iterator[float | None]) -> float | None:
    """The sum, unless one is not known."""
    known = list(values)
    return None if not known or None in known else sum(value or 0.0 for value in known)


def starts_of(module: Module, kernel: Kernel, launch: LaunchFacts) -> Mapping[int, tuple[int, ...]]:
    """Where the accesses of each line begin, in the first program and turn.

    In elements from their pointers' bases. Lines of which that does not follow are left out.
    """
    flow = flow_of(module, kernel)
    tiles = tiles_of(module, kernel, AnalysisContext(launches=(launch,)))
    numbers = Numbers(tiles, flow, launch)
    forms: dict[int, list[Affine | None]] = {}
    for access in flow.accesses:
        forms.setdefault(access.node.lineno, []).append(tiles.of(access.pointer).affine)
    found: dict[int, tuple[int, ...]] = {}
    for line, affine in forms.items():
        starts = [None if form is None else _start(numbers, form, _FIRST) for form in affine]
        known = tuple(start for start in starts if start is not None)
        if len(known) == len(starts):
            found[line] = known
    return found


def _start(numbers: Numbers, form: Affine, place: Place) -> int | None:
    total = numbers.polynomial(form.constant, place)
    for term in form.terms:
        index = numbers.of(term.index, place)
        coefficient = numbers.polynomial(term.coefficient, place)
        if total is None or index is None or coefficient is None:
            return None
        total += int(index) * coefficient
    return total
