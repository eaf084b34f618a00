"""What the text of a kernel says about its faults and its cost, before anything is compiled."""

from typing import TYPE_CHECKING, Any

from tilewright.analysis.model import AnalysisContext, Issue

if TYPE_CHECKING:
    from tilewright.analysis.run import analyze

__all__ = ["AnalysisContext", "Issue", "analyze"]


def __getattr__(name: str) -> Any:
    """``analyze``, loaded when it is asked for: it brings every detector along."""
    if name == "analyze":
        from tilewright.analysis.run import analyze

        return analyze
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
