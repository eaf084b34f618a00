"""From findings to issues: run every detector, give each finding its place in the taxonomy."""

from tilewright.analysis.detectors import registered
from tilewright.analysis.model import AnalysisContext, Finding, Issue
from tilewright.knowledge import taxonomy
from tilewright.knowledge.stages import Stage
from tilewright.source.model import Module

_NOTHING_KNOWN = AnalysisContext()


def analyze(module: Module, context: AnalysisContext = _NOTHING_KNOWN) -> tuple[Issue, ...]:
    """The issues of a module, by position. Pure: text and context decide all of it."""
    types = taxonomy()
    issues: list[Issue] = []
    for issue_id, detect in registered().items():
        kind = types[issue_id]
        issues.extend(
            _issue(issue_id, finding, kind.stage, kind.severity)
            for finding in detect(module, context)
        )
    return tuple(sorted(issues, key=lambda issue: (issue.range, issue.id, issue.message)))


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
