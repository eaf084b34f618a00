"""The population of a specification."""

from tilewright.search.gradient import Gradient
from tilewright.search.population import Population
from tilewright.search.populations.beam import Beam
from tilewright.search.populations.grid import Grid
from tilewright.search.populations.incumbent import Incumbent, Stall
from tilewright.search.populations.islands import Islands
from tilewright.search.spec import StrategyName, StrategySpec

POPULATIONS: frozenset[StrategyName] = frozenset({"incumbent", "beam", "grid", "islands", "stall"})


def population(name: StrategyName, spec: StrategySpec, gradient: Gradient) -> Population:
    """The population of a step of the specification; ``gradient`` is that of the loop."""
    if name == "islands":
        return Islands(spec.islands, lambda: population(spec.islands.inner, spec, gradient))
    if name == "stall":
        return Stall(spec.stall, lambda: population(spec.stall.then, spec, gradient))
    if name == "grid":
        return Grid(spec.grid, gradient)
    return Beam(spec.beam) if name == "beam" else Incumbent()
