"""From findings to issues: run every detector, give each finding its place in the taxonomy."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from tilewright.analysis.detectors import needs_whole_file, registered
from tilewright.analysis.model import AnalysisContext, Finding, Issue
from tilewright.analysis.remembered import Remembered, Surroundings
from tilewright.analysis.suppression import unsuppressed
from tilewright.knowledge import taxonomy
from tilewright.knowledge.stages import Stage
from tilewright.source.model import Module

_NOTHING_KNOWN = AnalysisContext()
_REMEMBERED = Remembered()


def analyze(module: Module, context: AnalysisContext = _NOTHING_KNOWN) -> tuple[Issue, ...]:
    """The issues of a module, by position. Text and context decide all of it.

    What the file's own comments suppress is left out.
    """
    issues = list(_found(module, context, whole_file=True))
    around = Surroundings(module, context)
    for kernel in module.kernels:
        alone = replace(module, focus=kernel)
        find = partial(_found, alone, context, whole_file=False)
        issues += _REMEMBERED.get(kernel, around, find)
    ordered = sorted(issues, key=lambda issue: (issue.range, issue.id, issue.message))
    return unsuppressed(module, ordered)


def _found(module: Module, context: AnalysisContext, *, whole_file: bool) -> Iterator[Issue]:
    types = taxonomy()
    for issue_id, detect in registered().items():
        if needs_whole_file(issue_id) is whole_file:
            kind = types[issue_id]
            for finding in detect(module, context):
                yield _issue(issue_id, finding, kind.stage, kind.severity)


def _issue(issue_id: str, finding: Finding, stage: Stage, severity: int) -> Issue:
    return Issue(
        id=issue_id,
        stage=stage,
        severity=severity,
        message=finding.message,
        kernel=finding.kernel,
        range=finding.range,
        related=finding.related,
        data=finding.data,
    )
