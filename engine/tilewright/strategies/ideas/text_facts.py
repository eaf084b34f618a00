"""What sources of ideas know of a text: its module, its issues, the launches that it makes."""

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.source.model import Module


@dataclass(frozen=True)
class TextFacts:
    """A text as the instant tier sees it."""

    module: Module
    context: AnalysisContext
    issues: tuple[Issue, ...]


FactsOf = Callable[[str], TextFacts]
"""The facts of a text that was judged to be correct."""
