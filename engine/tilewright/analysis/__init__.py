"""What the text of a kernel says about its faults and its cost, before anything is compiled."""

from tilewright.analysis.analyze import analyze
from tilewright.analysis.model import AnalysisContext, Issue

__all__ = ["AnalysisContext", "Issue", "analyze"]
