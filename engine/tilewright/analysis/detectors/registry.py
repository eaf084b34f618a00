"""The table of detectors: which function looks for which issue of the taxonomy."""

from collections.abc import Callable, Iterator, Mapping

from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.source.model import Module

Detector = Callable[[Module, AnalysisContext], Iterator[Finding]]

_DETECTORS: dict[str, Detector] = {}
_WHOLE_FILE: set[str] = set()


def detector(issue_id: str, *, whole_file: bool = False) -> Callable[[Detector], Detector]:
    """Register a function as the detector of an issue.

    What it finds in a kernel must follow from that kernel, the file's statements that are no
    kernels, which kernels are free of side effects, and the context; else it has to see the
    ``whole_file``.
    """

    def register(function: Detector) -> Detector:
        if issue_id in _DETECTORS:
            raise ValueError(f"two detectors for {issue_id}")
        _DETECTORS[issue_id] = function
        if whole_file:
            _WHOLE_FILE.add(issue_id)
        return function

    return register


def table() -> Mapping[str, Detector]:
    """The detectors registered so far, by issue id."""
    return dict(_DETECTORS)


def needs_whole_file(issue_id: str) -> bool:
    """Whether a detector has to run again when anything in the file changes."""
    return issue_id in _WHOLE_FILE
