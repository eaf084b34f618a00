"""Where the accesses of a launch begin: what tells two tiles of one tensor apart."""

from collections.abc import Mapping

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tiles import Affine, tiles_of
from tilewright.costs.numbers import Numbers, Place
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

_FIRST = Place((0, 0, 0), lanes=(0,) * 8)


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
