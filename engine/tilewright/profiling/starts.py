"""Where the accesses of a launch begin: what tells two tiles of one tensor apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tiles import Affine, tiles_of
from tilewright.costs.numbers import Numbers, Place
from tilewright.costs.touching import first_programs
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

_PROGRAMS = 64
_FIRST_LANES = (0,) * 8


@dataclass(frozen=True)
class Starts:
    """Where a line's accesses begin, in elements from their pointers' bases, in the first turn.

    Attributes:
        first: in the first program.
        distinct: different ones among the first ``counted`` programs.
    """

    first: tuple[int, ...]
    distinct: int
    counted: int

    def of(self, programs: int) -> float:
        """Different ones among all programs, in proportion beyond those that were counted."""
        return max(1.0, self.distinct * programs / self.counted)


def starts_of(module: Module, kernel: Kernel, launch: LaunchFacts) -> Mapping[int, Starts]:
    """The starts of each line that has accesses; without the lines of which they do not follow."""
    flow = flow_of(module, kernel)
    tiles = tiles_of(module, kernel, AnalysisContext(launches=(launch,)))
    numbers = Numbers(tiles, flow, launch)
    forms: dict[int, list[Affine | None]] = {}
    for access in flow.accesses:
        forms.setdefault(access.node.lineno, []).append(tiles.of(access.pointer).affine)
    grid = numbers.grid
    count = min(_PROGRAMS, grid[0] * grid[1] * grid[2])
    places = [Place(program, lanes=_FIRST_LANES) for program in first_programs(grid, count)]
    found = ((line, _starts(numbers, affine, places)) for line, affine in forms.items())
    return {line: starts for line, starts in found if starts is not None}


def _starts(
    numbers: Numbers, forms: Sequence[Affine | None], places: Sequence[Place]
) -> Starts | None:
    seen: dict[tuple[int, ...], None] = {}
    for place in places:
        here = [None if form is None else _start(numbers, form, place) for form in forms]
        known = tuple(start for start in here if start is not None)
        if len(known) < len(forms):
            return None
        seen[known] = None
    return Starts(next(iter(seen)), len(seen), len(places)) if seen else None


def _start(numbers: Numbers, form: Affine, place: Place) -> int | None:
    total = numbers.polynomial(form.constant, place)
    for term in form.terms:
        index = numbers.of(term.index, place)
        coefficient = numbers.polynomial(term.coefficient, place)
        if total is None or index is None or coefficient is None:
            return None
        total += int(index) * coefficient
    return total
