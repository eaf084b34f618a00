"""Where the accesses of a launch begin: what tells two tiles of one tensor apart."""

from collections.abc import Mapping

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tiles import Affine, tiles_of
from tilewright.costs.numbers import Numbers, Place
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

_FIRST_LANES = Place(lanes=(0, 0, 0, 0, 0))


def starts_of(module: Module, kernel: Kernel, launch: LaunchFacts) -> Mapping[int, frozenset[int]]:
    """Elements from its pointer's base to where each line's accesses begin, in the first program
    and turn; without the lines of which that does not follow."""
    flow = flow_of(module, kernel)
    tiles = tiles_of(module, kernel, AnalysisContext(launches=(launch,)))
    numbers = Numbers(tiles, flow, launch)
    found: dict[int, set[int]] = {}
    unknown: set[int] = set()
    for access in flow.accesses:
        form = tiles.of(access.pointer).affine
        start = _start(numbers, form) if form is not None else None
        if start is None:
            unknown.add(access.node.lineno)
        else:
            found.setdefault(access.node.lineno, set()).add(start)
    return {line: frozenset(starts) for line, starts in found.items() if line not in unknown}


def _start(numbers: Numbers, form: Affine) -> int | None:
    total = numbers.polynomial(form.constant, _FIRST_LANES)
    for term in form.terms:
        index = numbers.of(term.index, _FIRST_LANES)
        coefficient = numbers.polynomial(term.coefficient, _FIRST_LANES)
        if total is None or index is None or coefficient is None:
            return None
        total += int(index) * coefficient
    return total
