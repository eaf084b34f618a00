"""How severe a report is, by what is known of the kernel's launches.

What goes wrong at some sizes only is less certain where no captured launch shows the sizes: others
may be excluded where no text of the file says so. In a kernel that nothing mentions, in a file that
launches others, what depends on launches is advice, and so is what is slow; other faults are no
more than possible, as the kernel may be left over. A kernel that reads an undefined name does not
compile: which program stores where, with that name for a constant, is nothing to report.
"""

import ast
from collections.abc import Iterable
from dataclasses import replace

from tilewright.analysis.code_of_tests import DEPENDS_ON_LAUNCH
from tilewright.analysis.detectors.correctness.language import is_for_a_fork
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.model import ADVICE, POSSIBLE
from tilewright.source.model import Module
from tilewright.source.node_memo import per_text

_OF_PROGRAMS = frozenset({"race_on_store", "grid_axis_unused"})
_OF_TUNER = frozenset({"autotune_missing_reset", "autotune_missing_restore"})
_OF_COMPILER = frozenset({"shape_not_constexpr", "global_not_constexpr", "unsupported_syntax"})
_INTERPRETERS = ("triton_viz", "TRITON_INTERPRET")
"""A file that names one may run its kernels in Python, which takes what the compiler refuses."""
_GENERATOR = "[[[cog"
"""Marks places of a file that a generator fills in: names are set there, and nothing compiles."""
OF_LAUNCHES = DEPENDS_ON_LAUNCH | _OF_TUNER


def with_severities(
    module: Module, context: AnalysisContext, issues: Iterable[Issue]
) -> list[Issue]:
    """Issues without those that an undefined name leads to, each as severe as is known."""
    found = list(issues)
    unset = {issue.kernel for issue in found if issue.id == "undefined_name"} - {None}
    kept = [one for one in found if one.id not in _OF_PROGRAMS or one.kernel not in unset]
    if module.lookup.says(_GENERATOR):
        kept = [one for one in kept if one.id not in {"undefined_name", *_OF_COMPILER}]
    asked = {one.kernel for one in kept if one.kernel is not None and one.severity > ADVICE}
    unused = {name for name in asked if not _is_used(module, name)}
    less = _OF_COMPILER if any(map(module.lookup.says, _INTERPRETERS)) else frozenset()
    captured = {launch.kernel for launch in context.launches}
    if is_for_a_fork(module):
        slow = {one.id for one in kept if not taxonomy()[one.id].is_fault}
        less = frozenset(("missing_barrier", *_OF_COMPILER, *slow))
    return [
        lessened(
            one,
            is_for_others=one.id in less,
            is_unused=one.kernel in unused,
            is_captured=one.kernel in captured,
        )
        for one in kept
    ]


def lessened(
    issue: Issue, *, is_for_others: bool = False, is_unused: bool = False, is_captured: bool = True
) -> Issue:
    """An issue as severe as what is known of its kernel allows at most.

    Advice is what other rules decide: those of the interpreter, or of a vendor's own Triton.
    """
    limit = issue.severity
    if is_for_others or (is_unused and _hangs_on_use(issue)):
        limit = ADVICE
    elif is_unused or (taxonomy()[issue.id].some_calls and not is_captured):
        limit = POSSIBLE
    return replace(issue, severity=limit) if limit < issue.severity else issue


def _hangs_on_use(issue: Issue) -> bool:
    """Whether what is said matters only where the kernel is launched."""
    return issue.id in OF_LAUNCHES or not taxonomy()[issue.id].is_fault


def _is_used(module: Module, name: str) -> bool:
    """Whether a file mentions a kernel outside of it, or may be a library of kernels alone."""
    if not module.launches or module.has_launches(name):
        return True
    own = {id(kernel.node) for kernel in module.lookup.named.get(name, ())}
    return any(
        name in mentions(statement) for statement in module.tree.body if id(statement) not in own
    )


@per_text
def mentions(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement reads, and its strings: those of ``__all__`` count as well."""
    return frozenset(
        node.id if isinstance(node, ast.Name) else str(node.value)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.Constant)
    )
