"""How severe a report is, by what is known of the kernel's launches.

What goes wrong at some sizes only is less certain where no captured launch shows the sizes: callers
may exclude them outside of the file. In a kernel that nothing mentions, in a file that launches
others, what is slow or hangs on a launch is advice, and other faults are no more than possible, as
the kernel may be left over. What the compiler refuses in a branch that no launch of the file may
take is advice, or not reported if it hangs on values that launches pass. A kernel that does not
compile, or writes nothing, is not slow, and what would go wrong in its runs is advice until it
compiles; of one that reads an undefined name nothing is said of which program stores where, and of
a launch that raises nothing of its grid. Advice of kinds that were seldom right without a launch is
a hint. Statements that never run have no issues.
"""

import ast
from collections.abc import Iterable
from dataclasses import replace

from tilewright.analysis.code_of_tests import DEPENDS_ON_LAUNCH
from tilewright.analysis.dead_code import is_dead
from tilewright.analysis.detectors.constexpr_branches import is_compiled_by_launches
from tilewright.analysis.detectors.correctness.language import (
    is_for_a_fork,
    is_run_in_python,
    names_with_source,
)
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.model import ADVICE, HINT, POSSIBLE
from tilewright.source.model import Kernel, Language, Module
from tilewright.source.node_memo import per_text

_OF_PROGRAMS = frozenset({"race_on_store", "grid_axis_unused"})
_OF_THREADS = frozenset({"missing_barrier", "lock_without_barrier"})
_RAISED_BY_LAUNCH = frozenset({"launch_arguments", "duplicate_launch_option"})
_OF_GRID = frozenset({"grid_ignores_tuned_block", "grid_block_mismatch"})
"""What a launch does wrong, if it runs at all."""
_OF_TUNER = frozenset({"autotune_missing_reset", "autotune_missing_restore"})
_OF_COMPILER = frozenset(
    ("shape_not_constexpr", "global_not_constexpr", "unsupported_syntax", "method_of_number")
)
_OF_EXTENTS = frozenset({"dot_shape_mismatch", "broadcast_mismatch"})
"""A tile of a wrong shape leads to more of them: the first of a kernel counts."""
_OF_VALUES = _OF_EXTENTS | {"non_power_of_two_arange", "dot_tile_too_small"}
"""What the compiler refuses for values that launches pass, where it comes to the line."""
_SELDOM_RIGHT = frozenset(
    {
        *("missing_boundary_check", "undefined_other", "int32_offset_overflow"),
        *("output_not_fully_written", "stride_of_other_tensor", "suboptimal_tile_size"),
        "columns_left_out",
    }
)
"""Right in fewer than three of four reports that readers judged, where no launch is captured."""
_REFUSALS = _OF_COMPILER | {"undefined_name", "removed_api"}
NOT_IN_PYTHON = _OF_COMPILER | {
    *("call_outside_kernel", "dot_tile_too_small", "non_power_of_two_arange"),
}
"""What the compiler refuses, and an interpreter takes, or took in earlier versions."""
_ON_CPU = "set_active_to_cpu"
"""Makes Triton's CPU backend compile: one thread runs a program."""
_GENERATOR = "[[[cog"
"""Marks places of a file that a generator fills in: names are set there, and nothing compiles."""
OF_LAUNCHES = DEPENDS_ON_LAUNCH | _OF_TUNER
_OF_RUNS = OF_LAUNCHES | _OF_THREADS | _OF_GRID
"""What goes wrong in a run: a kernel that does not compile has none."""


def with_severities(
    module: Module, context: AnalysisContext, issues: Iterable[Issue]
) -> list[Issue]:
    """Issues without those that follow from others, each as severe as is known."""
    found = list(issues)
    unset = {issue.kernel for issue in found if issue.id == "undefined_name"} - {None}
    raising = {(one.kernel, one.range.line) for one in found if one.id in _RAISED_BY_LAUNCH}
    kept = [
        one
        for one in found
        if (one.id not in _OF_PROGRAMS or one.kernel not in unset)
        and (one.id not in _OF_GRID or (one.kernel, one.range.line) not in raising)
        and not _is_dead(module, one)
        and not _is_left_out(module, one)
    ]
    if module.lookup.says(_GENERATOR):
        kept = [one for one in kept if one.id not in {"undefined_name", *_OF_COMPILER}]
    asked = {one.kernel for one in kept if one.kernel is not None and one.severity > ADVICE}
    unused = _unused(module, asked) if module.launches and asked else set()
    captured = {launch.kernel for launch in context.launches}
    others = _of_other_rules(module, kept)
    return [
        lessened(
            one,
            is_for_others=id(one) in others,
            is_unused=one.kernel in unused,
            is_captured=one.kernel in captured,
            compiled=_is_compiled(module, one),
        )
        for one in kept
    ]


def _unused(module: Module, kernels: Iterable[str]) -> set[str]:
    """Those of some kernels that nothing in a file launches or mentions outside of kernels."""
    asked = (name for name in kernels if not module.has_launches(name))
    users = {name: users_of(module, name) for name in asked}
    unlaunched = {name for name, by in users.items() if not any(map(module.has_launches, by))}
    hosts = host_names(module) if unlaunched else frozenset[str]()
    return {name for name in unlaunched if users[name].isdisjoint(hosts)}


def _is_compiled(module: Module, issue: Issue) -> bool | None:
    """Whether a launch compiles the line of what the compiler refuses; None if one may.

    Of other issues it is not asked.
    """
    is_asked = issue.id in _OF_COMPILER or issue.id in _OF_VALUES
    kernel = module.kernel_at(issue.range.line) if is_asked else None
    return kernel is None or is_compiled_by_launches(module, kernel, issue.range.line)


def _is_left_out(module: Module, issue: Issue) -> bool:
    """Whether the launches of the file leave out a line whose fault hangs on what they pass."""
    if issue.id not in _OF_VALUES or issue.kernel is None:
        return False
    return module.has_launches(issue.kernel) and _is_compiled(module, issue) is False


def _is_dead(module: Module, issue: Issue) -> bool:
    """Whether an issue is in a part of a kernel, or of a host function, that never runs."""
    line = issue.range.line
    kernel = module.kernel_at(line)
    if kernel is not None and _is_replaced(module, kernel):
        return True
    if kernel is not None and issue.id in _REFUSALS and _is_placeholder(kernel):
        return True
    return is_dead(module, line)


def _is_replaced(module: Module, kernel: Kernel) -> bool:
    """Whether functions alone launch a kernel, by a name that a later definition has taken."""
    last = module.lookup.named[kernel.name][-1]
    if last is kernel or not _follows_in_block(module, kernel.node, last.node):
        return False
    launches = module.lookup.launches.get(kernel.name, ())
    return bool(launches) and all(launch.host_function for launch in launches)


def _follows_in_block(module: Module, first: ast.stmt, later: ast.stmt) -> bool:
    """Whether two statements stand in one block at the top of the file: both are run."""
    pending = [module.tree.body]
    while pending:
        body = pending.pop()
        if first in body:
            return later in body
        for statement in body:
            if isinstance(statement, ast.If | ast.Try):
                pending += [statement.body, statement.orelse]
    return False


def _is_placeholder(kernel: Kernel) -> bool:
    """Whether a function does nothing: it stands for one that this Triton does not have."""
    return all(
        isinstance(statement, ast.Delete | ast.Pass)
        or (isinstance(statement, ast.Return) and _is_literal(statement.value))
        or (isinstance(statement, ast.Expr) and _is_literal(statement.value))
        for statement in kernel.node.body
    )


def _is_literal(value: ast.expr | None) -> bool:
    return value is None or isinstance(value, ast.Constant)


def _of_other_rules(module: Module, issues: list[Issue]) -> frozenset[int]:
    """The ids of issues that other rules decide: upstream's compiler is not asked, or refuses.

    A kernel may run in Python, be compiled by a vendor's own Triton, or only be read as text; and
    one that is refused is no slow one.
    """
    interpreted = is_run_in_python(module)
    is_for_fork, read = is_for_a_fork(module), names_with_source(module)
    has_other_threads = is_for_fork or module.lookup.says(_ON_CPU)
    refusals = _REFUSALS | _OF_EXTENTS
    refused = {i.kernel for i in issues if i.id in refusals and i.severity > POSSIBLE} - {None}
    kinds, found = taxonomy(), _echoes(issues)
    without_work = _without_work(module, issues) | refused
    for issue in issues:
        is_slow = not kinds[issue.id].is_fault
        is_refusal = issue.id in NOT_IN_PYTHON and (interpreted or is_for_fork)
        is_refusal = is_refusal or (issue.id in _REFUSALS and issue.kernel in read)
        is_of_threads = has_other_threads and (is_slow or issue.id in _OF_THREADS)
        is_later = issue.kernel in refused and issue.id in _OF_RUNS
        is_refusal = is_refusal or is_later
        if is_refusal or is_of_threads or (is_slow and issue.kernel in without_work):
            found.add(id(issue))
    return frozenset(found)


def _echoes(issues: list[Issue]) -> set[int]:
    """The ids of issues that another of a wrong extent, higher up in the kernel, may lead to."""
    of_extents = [one for one in issues if one.id in _OF_EXTENTS]
    first = {one.kernel: one for one in sorted(of_extents, key=lambda i: i.range, reverse=True)}
    return {id(one) for one in of_extents if one.range.line > first[one.kernel].range.line}


def _without_work(module: Module, issues: list[Issue]) -> set[str | None]:
    """The kernels that write nothing, as drafts do, of those that are called slow."""
    kinds = taxonomy()
    slow = (i for i in issues if i.severity > ADVICE and not kinds[i.id].is_fault)
    names = {issue.kernel for issue in slow} - {None}
    kernels = (k for k in module.kernels if k.name in names and k.language is Language.TRITON)
    flows = ((kernel.name, flow_of(module, kernel)) for kernel in kernels)
    return {name for name, flow in flows if not flow.writes and not flow.may_write_unknown}


def lessened(
    issue: Issue,
    *,
    is_for_others: bool = False,
    is_unused: bool = False,
    is_captured: bool = True,
    compiled: bool | None = True,
) -> Issue:
    """An issue as severe as what is known of its kernel allows at most.

    Advice is what other rules decide: those of the interpreter, or of a vendor's own Triton. What
    is slow by them, or in a kernel that never runs, is a hint.
    """
    kind, limit = taxonomy()[issue.id], issue.severity
    if is_for_others or compiled is False or (is_unused and _hangs_on_use(issue)):
        limit = HINT if is_for_others and not kind.is_fault else ADVICE
    elif kind.some_calls and not is_captured:
        # What the detector itself takes to be less certain stays below the others.
        limit = ADVICE - (issue.severity < kind.severity)
    elif is_unused or compiled is None:
        limit = POSSIBLE
    severity = min(limit, issue.severity)
    if severity == ADVICE and issue.id in _SELDOM_RIGHT:
        severity = HINT
    return replace(issue, severity=severity) if severity != issue.severity else issue


def _hangs_on_use(issue: Issue) -> bool:
    """Whether what is said matters only where the kernel is launched."""
    return issue.id in OF_LAUNCHES or not taxonomy()[issue.id].is_fault


def users_of(module: Module, name: str) -> frozenset[str]:
    """A kernel's name with those of the kernels of its file that call it, at any distance."""
    found, pending = {name}, [name]
    while pending:
        called = pending.pop()
        for kernel in module.kernels:
            is_written = kernel.name not in found and called in kernel.text
            if is_written and called in mentions(kernel.node):
                found.add(kernel.name)
                pending.append(kernel.name)
    return frozenset(found)


def host_names(module: Module) -> frozenset[str]:
    """The names that a file mentions outside of its kernels."""
    kernels = {id(kernel.node) for kernel in module.kernels}
    host = (mentions(node) for node in module.tree.body if id(node) not in kernels)
    return frozenset[str]().union(*host)


@per_text
def mentions(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement reads, and its strings: those of ``__all__`` count as well."""
    return frozenset(
        node.id if isinstance(node, ast.Name) else str(node.value)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.Constant)
    )
