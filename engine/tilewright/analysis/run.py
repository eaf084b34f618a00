"""From findings to issues: run every detector, give each finding its place in the taxonomy."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from tilewright.analysis.code_of_tests import weighed
from tilewright.analysis.detectors import Detector, Scope, is_for, registered, scope_of
from tilewright.analysis.host_graph.build import launching_functions
from tilewright.analysis.host_graph.wrappers import calling_functions
from tilewright.analysis.issue_cache import Found, IssueCache, Surroundings
from tilewright.analysis.model import AnalysisContext, Finding, Issue
from tilewright.analysis.severities import with_severities
from tilewright.analysis.suppression import visible_issues
from tilewright.knowledge.base import taxonomy
from tilewright.source.host_reads import host_reads
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
    issues = list(_issues_in_scopes(module, context, _FILE))
    around = None if once else _CACHE.surroundings(module, context)
    for kernel in module.kernels:
        issues += _found_in_kernel(kernel, module, context, around)
    for host in dict.fromkeys((*launching_functions(module), *calling_functions(module))):
        issues += _found_in_host(host, module, context, around)
    ordered = _weighed(module, context, issues)
    return ordered if suppressed else visible_issues(module, ordered)


def analyze_kernels(
    module: Module, context: AnalysisContext, names: Collection[str], ids: Collection[str]
) -> tuple[Issue, ...]:
    """The issues of some kinds, in some kernels of a module and their launches, by position."""
    kernels = (kernel for kernel in module.kernels if kernel.name in names)
    found = [
        issue
        for focused in (replace(module, focus=kernel) for kernel in kernels)
        for issue_id in ids
        for issue in _found_by(issue_id, registered()[issue_id], focused, context)[0]
    ]
    return visible_issues(module, _weighed(module, context, found))


def _weighed(
    module: Module, context: AnalysisContext, issues: Sequence[Issue]
) -> tuple[Issue, ...]:
    # A helper that several kernels call is followed from each of them.
    unique = {(issue.range, issue.id, issue.message): issue for issue in reversed(issues)}
    found = with_severities(module, context, (unique[place] for place in sorted(unique)))
    return tuple(weighed(module, found))


def _found_in_kernel(
    kernel: Kernel, module: Module, context: AnalysisContext, around: Surroundings | None
) -> tuple[Issue, ...]:
    """The issues of a kernel: what is known ``around``, and what other detectors find."""
    if around is None:
        return _in_order(_found_by_each(kernel, module, context, {}))
    key, layout = around.identity_of(kernel), around.layout
    known = _CACHE.get(key, layout)
    if known is not None:
        return known
    own_key = around.own(kernel)
    own = _CACHE.own(own_key, module, layout)
    found = _found_by_each(kernel, module, context, own)
    issues = _in_order(found)
    _CACHE.keep(key, layout, issues)
    _CACHE.keep_own(own_key, layout, found)
    return issues


def _found_in_host(
    function: str, module: Module, context: AnalysisContext, around: Surroundings | None
) -> tuple[Issue, ...]:
    """The issues of a host function."""
    key = around.of_host(function) if around is not None else None
    if around is not None and key is not None:
        known = _CACHE.get(key, around.layout)
        if known is not None:
            return known
    found = tuple(_issues_in_scopes(replace(module, focus=function), context, _HOST))
    if around is not None and key is not None:
        _CACHE.keep(key, around.layout, found)
    return found


def _found_by_each(
    kernel: Kernel,
    module: Module,
    context: AnalysisContext,
    known: Mapping[str, tuple[Issue, ...]],
) -> Found:
    """What each detector finds in a kernel, where it is not known."""
    focused = replace(module, focus=kernel)
    issues: dict[str, tuple[Issue, ...]] = {}
    own = set(known)
    for issue_id, detect in registered().items():
        if scope_of(issue_id) not in _KERNEL or not is_for(issue_id, kernel.language):
            continue
        found, is_own = known.get(issue_id), False
        if found is None:
            before = host_reads()
            found, is_whole = _found_by(issue_id, detect, focused, context)
            is_own = is_whole and host_reads() is before
        if is_own:
            own.add(issue_id)
        if found:
            issues[issue_id] = found
    return Found(issues, frozenset(own), module.lookup.answers)


def _in_order(found: Found) -> tuple[Issue, ...]:
    return tuple(chain.from_iterable(found.issues.values()))


def _issues_in_scopes(
    module: Module, context: AnalysisContext, scopes: frozenset[Scope]
) -> Iterator[Issue]:
    for issue_id, detect in registered().items():
        if scope_of(issue_id) in scopes:
            yield from _found_by(issue_id, detect, module, context)[0]


def _found_by(
    issue_id: str, detect: Detector, module: Module, context: AnalysisContext
) -> tuple[tuple[Issue, ...], bool]:
    """The issues that a detector finds, and whether these are all: else it recurs too deeply."""
    found: list[Finding] = []
    is_whole = True
    try:
        found.extend(detect(module, context))
    except RecursionError:  # copying and writing out take several calls for each level
        is_whole = False
    return tuple([_issue(issue_id, finding) for finding in found]) if found else (), is_whole


def _issue(issue_id: str, finding: Finding) -> Issue:
    kind = taxonomy()[issue_id]
    return Issue(
        id=issue_id,
        stage=kind.stage,
        severity=finding.severity or kind.severity,
        message=finding.message,
        kernel=finding.kernel,
        range=finding.range,
        related=finding.related,
    )
