"""What findings weigh in kernels that do not run.

A kernel that reads an undefined name does not compile: which program stores where, with that name
for a constant, is nothing to report. And a kernel that nothing mentions, in a file that launches
others, may be left over: what depends on its launches is advice, and so is what is slow in it.
"""

import ast
from collections.abc import Iterable
from dataclasses import replace

from tilewright.analysis.code_of_tests import DEPENDS_ON_LAUNCH
from tilewright.analysis.model import Issue
from tilewright.knowledge.stages import Stage
from tilewright.source.model import Module
from tilewright.source.node_memo import per_text

_ADVICE = 2
_WRONG_RESULT = 5
_OF_PROGRAMS = frozenset({"race_on_store", "grid_axis_unused"})
OF_LAUNCHES = DEPENDS_ON_LAUNCH | {"autotune_missing_reset", "autotune_missing_restore"}


def weighed_by_use(module: Module, issues: Iterable[Issue]) -> list[Issue]:
    """Issues without those that an undefined name leads to; advice in kernels without a use."""
    found = list(issues)
    unset = {issue.kernel for issue in found if issue.id == "undefined_name"} - {None}
    kept = [one for one in found if one.id not in _OF_PROGRAMS or one.kernel not in unset]
    asked = {one.kernel for one in kept if one.kernel is not None and _hangs_on_use(one)}
    unused = {name for name in asked if not _is_used(module, name)}
    return [
        replace(one, severity=_ADVICE) if one.kernel in unused and _hangs_on_use(one) else one
        for one in kept
    ]


def _hangs_on_use(issue: Issue) -> bool:
    """Whether more than advice is said that matters only where the kernel is launched."""
    is_of_speed = issue.stage is not Stage.CORRECTNESS and issue.severity < _WRONG_RESULT
    return issue.severity > _ADVICE and (is_of_speed or issue.id in OF_LAUNCHES)


def _is_used(module: Module, name: str) -> bool:
    """Whether a file mentions a kernel outside of it, or may be a library of kernels alone."""
    if not module.launches or module.has_launches(name):
        return True
    own = {id(kernel.node) for kernel in module.lookup.named.get(name, ())}
    return any(
        name in _names_in(statement) for statement in module.tree.body if id(statement) not in own
    )


@per_text
def _names_in(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement reads, and its strings: those of ``__all__`` count as well."""
    return frozenset(
        node.id if isinstance(node, ast.Name) else str(node.value)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.Constant)
    )
