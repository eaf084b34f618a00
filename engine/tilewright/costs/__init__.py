"""Static cost: the time of a launch by its source, its compile report and a chip's figures."""

from tilewright.costs.estimate import estimate
from tilewright.costs.model import Bound, Estimate

__all__ = ["Bound", "Estimate", "estimate"]
