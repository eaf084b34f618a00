"""The figures of the chosen chip, for detectors whose limits are the hardware's."""

from tilewright.analysis.model import AnalysisContext
from tilewright.hardware.chips import chip
from tilewright.hardware.model import Chip, HardwareError


def chip_of(context: AnalysisContext) -> Chip | None:
    """The chip of the chosen target; None without one, or where its figures are not known."""
    if context.target is None:
        return None
    try:
        return chip(context.target)
    except HardwareError:
        return None
