"""The table of detectors: which function looks for which issue of the taxonomy."""

from collections.abc import Callable, Iterator, Mapping

from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.source.model import Module

Detector = Callable[[Module, AnalysisContext], Iterator[Finding]]

_DETECTORS: dict[str, Detector] = {}


def detector(issue_id: str) -> Callable[[Detector], Detector]:
    """Register a function as the detector of an issue."""

    def register(function: Detector) -> Detector:
        if issue_id in _DETECTORS:
            raise ValueError(f"two detectors for {issue_id}")
        _DETECTORS[issue_id] = function
        return function

    return register


def table() -> Mapping[str, Detector]:
    """The detectors registered so far, by issue id."""
    return dict(_DETECTORS)
