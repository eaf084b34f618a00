"""From findings to issues: run every detector, give each finding its place in the taxonomy."""

from collections.abc import Iterator
from dataclasses import replace

from tilewright.analysis.code_of_tests import weighed
from tilewright.analysis.detectors import Scope, registered, scope_of
from tilewright.analysis.host_graph.build import launching_functions
from tilewright.analysis.host_graph.wrappers import calling_functions
from tilewright.analysis.issue_cache import IssueCache, Layout
from tilewright.analysis.model import AnalysisContext, Finding, Issue
from tilewright.analysis.suppression import visible_issues
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.stages import Stage
from tilewright.source.model import Kernel, Module

_NOTHING_KNOWN = AnalysisContext()
_CACHE = IssueCache()
_FILE = frozenset({Scope.FILE})
_KERNEL = frozenset({Scope.KERNEL, Scope.HOST})
_HOST = frozenset({Scope.HOST})


def analyze(
    module: Module,
    context: AnalysisContext = _NOTHING_KNOWN,
    *,
    suppressed: bool = False,
    once: bool = False,
) -> tuple[Issue, ...]:
    """The issues of a module, by position. Text and context decide all of it.

    What the file's own comments suppress is left out, unless ``suppressed`` asks for it as well.
    A file that is read ``once`` is found out about without what a next version could share.
    """
    issues = list(_found(module, context, _FILE))
    around = None if once else _CACHE.surroundings(module, context)
    for kernel in module.kernels:
        place = (around.of(kernel), around.layout) if around else None
        issues += _found_in(kernel, module, context, _KERNEL, place)
    for host in dict.fromkeys((*launching_functions(module), *calling_functions(module))):
        place = (around.of_host(host), around.layout) if around else None
        issues += _found_in(host, module, context, _HOST, place)
    # A helper that several kernels call is followed from each of them.
    unique = {(issue.range, issue.id, issue.message): issue for issue in reversed(issues)}
    ordered = weighed(module, (unique[place] for place in sorted(unique)))
    return tuple(ordered) if suppressed else visible_issues(module, ordered)


def _found_in(
    focus: Kernel | str,
    module: Module,
    context: AnalysisContext,
    scopes: frozenset[Scope],
    place: tuple[str, Layout] | None,
) -> tuple[Issue, ...]:
    """The issues of a kernel or a host function; ``place``: its key, where they are kept."""
    known = _CACHE.get(*place) if place is not None else None
    if known is not None:
        return known
    found = tuple(_found(replace(module, focus=focus), context, scopes))
    if place is not None:
        _CACHE.keep(*place, found)
    return found


def _found(module: Module, context: AnalysisContext, scopes: frozenset[Scope]) -> Iterator[Issue]:
    types = taxonomy()
    for issue_id, detect in registered().items():
        if scope_of(issue_id) in scopes:
            kind = types[issue_id]
            try:
                for finding in detect(module, context):
                    yield _issue(issue_id, finding, kind.stage, kind.severity)
            except RecursionError:  # copying and writing out take several calls for each level
                continue


def _issue(issue_id: str, finding: Finding, stage: Stage, severity: int) -> Issue:
    return Issue(
        id=issue_id,
        stage=stage,
        severity=finding.severity or severity,
        message=finding.message,
        kernel=finding.kernel,
        range=finding.range,
        related=finding.related,
    )
