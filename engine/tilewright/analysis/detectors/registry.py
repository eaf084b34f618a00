"""The table of detectors: which function looks for which issue of the taxonomy."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import wraps
from typing import TypeVar

from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.source.model import Kernel, Language, Module
from tilewright.source.text import Range


class Scope(Enum):
    """How much of a file a detector looks at: one kernel, also one host function, or all."""

    KERNEL = "kernel"
    HOST = "host"
    FILE = "file"


Detector = Callable[[Module, AnalysisContext], Iterator[Finding]]

_Place = Range | ast.expr | ast.stmt | ast.keyword
Reports = Iterator[tuple[_Place, str] | tuple[_Place, str, Sequence[Related]]]
"""Places of a kernel, the sentence on each, and places that belong to it."""

_Read = TypeVar("_Read")
_OfKernel = Callable[[Module, Kernel, _Read], Reports]

_DETECTORS: dict[str, Detector] = {}
_SCOPES: dict[str, Scope] = {}
_NKI = "tilewright.analysis.detectors.nki."
_FOR_NKI: set[str] = set()


def detector(
    issue_id: str, *, whole_file: bool = False, host: bool = False
) -> Callable[[Detector], Detector]:
    """Register a function as the detector of an issue.

    What it finds in a kernel must follow from that kernel, the statements of the file that have to
    do with it by name (``issue_cache.HostCode``), which kernels are free of side effects, and the
    context. One that looks at ``host`` functions that launch kernels also sees each of those
    alone: what it finds there must follow from the same, and the kernels launched there. Any other
    has to see the ``whole_file``.
    """

    def register(function: Detector) -> Detector:
        if issue_id in _DETECTORS:
            raise ValueError(f"two detectors for {issue_id}")
        _DETECTORS[issue_id] = function
        if function.__module__.startswith(_NKI):
            _FOR_NKI.add(issue_id)
        _SCOPES[issue_id] = Scope.FILE if whole_file else Scope.HOST if host else Scope.KERNEL
        return function

    return register


def kernel_detector(
    issue_id: str, kernels: Callable[[Module], Iterator[tuple[Kernel, _Read]]]
) -> Callable[[_OfKernel[_Read]], _OfKernel[_Read]]:
    """Register a function of one kernel as the detector of an issue.

    Args:
        kernels: which kernels of a module it looks at, each with its dataflow.
    """

    def register(function: _OfKernel[_Read]) -> _OfKernel[_Read]:
        @detector(issue_id)
        @wraps(function)
        def find(module: Module, context: AnalysisContext) -> Iterator[Finding]:
            for kernel, flow in kernels(module):
                for node, text, *related in function(module, kernel, flow):
                    where = node if isinstance(node, Range) else module.index.range_of(node)
                    yield Finding(where, text, kernel.name, tuple(*related))

        return function

    return register


def table() -> Mapping[str, Detector]:
    """The detectors registered so far, by issue id."""
    return dict(_DETECTORS)


def is_for(issue_id: str, language: Language) -> bool:
    """Whether a detector looks at kernels of a language: those of ``nki`` look at no other."""
    return language is Language.NKI or issue_id not in _FOR_NKI


def scope_of(issue_id: str) -> Scope:
    """How much of a file a detector looks at."""
    return _SCOPES[issue_id]
