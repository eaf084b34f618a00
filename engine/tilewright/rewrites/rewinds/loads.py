"""Rewinds of loads: an invariant load moved into a loop, and a repeated load."""

import ast
import re
from collections.abc import Iterator

from tilewright.analysis.detectors.common import are_distinct, loads_in
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.values import Access, Flow
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.rewinds.model import Rewind, Rewound
from tilewright.rewrites.rewinds.sites import covers, enclosed, enclosing, loops_of
from tilewright.rewrites.scope import (
    assignments,
    block_of,
    is_tl_call,
    names_in,
    reaching_names,
    statement_of,
    statements,
    uses,
)
from tilewright.source.model import Kernel, Module

_OPTIONS = {"mask", "other", "eviction_policy", "boundary_check", "padding_option"}


def _sink(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    flow = flow_of(module, kernel)
    for loop in loops_of(kernel):
        written = [w for w in flow.writes if covers(loop, w.node)]
        if not isinstance(loop, ast.For) or not written or not _is_range(module, loop):
            continue
        for statement in block_of(kernel.node, loop):
            if statement is loop:
                break
            access = _loaded(module, flow, statement)
            if access is None or not isinstance(statement, ast.Assign):
                continue
            if _may_sink(module, kernel, flow, access, loop):
                sunk = _text_with_moved_load(module, statement, access, loop)
                if sunk is not None:
                    yield Rewound(*sunk, context)


def _is_range(module: Module, loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and (
        module.names.resolve(loop.iter.func) == "range"
        or is_tl_call(module, loop.iter, "range", "static_range")
    )


def _loaded(module: Module, flow: Flow, statement: ast.stmt) -> Access | None:
    """The one load of ``name = tl.load(...)``, perhaps with a cast behind it."""
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Call() as call):
            pass
        case _:
            return None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "to":
        call = call.func.value if isinstance(call.func.value, ast.Call) else call
    found = next((a for a in flow.loads if a.node is call), None)
    plain = found is not None and {k.arg for k in call.keywords} <= _OPTIONS
    return found if plain else None


def _may_sink(module: Module, kernel: Kernel, flow: Flow, access: Access, loop: ast.For) -> bool:
    """Whether a load means the same in the loop, and nothing outside needs it."""
    statement = access.statement
    assert isinstance(statement, ast.Assign)
    (target,) = statement.targets
    name = target.id if isinstance(target, ast.Name) else ""
    used = uses(kernel.node, name)
    inside = [use for use in used if covers(loop, use)]
    first, last = statement.lineno, loop.end_lineno or loop.lineno
    return (
        len(assignments(kernel.node, name)) == 1
        and kernel.parameter(name) is None
        and bool(used)
        and len(inside) == len(used)
        and not _changes(kernel, names_in(statement.value), first, last)
        and _only_elsewhere(module, kernel, flow, access, first, last)
    )


def _changes(kernel: Kernel, names: set[str], first: int, last: int) -> bool:
    """Whether a statement that begins between two lines sets one of the names."""
    return any(
        first < made.lineno <= last for name in names for made in assignments(kernel.node, name)
    )


def _only_elsewhere(
    module: Module, kernel: Kernel, flow: Flow, access: Access, first: int, last: int
) -> bool:
    """Whether all that is written between two lines is memory the host has just allocated."""
    deeper = loads_in(access.pointer, access.mask, access.other)
    bases = {access.base} | {pointer_base(value.operands[0]) for value in deeper}
    writes = [w for w in flow.writes if first < w.node.lineno <= last]
    calls_unknown = any(
        isinstance(n, ast.Call) and first < n.lineno <= last and _is_foreign(module, n)
        for n in ast.walk(kernel.node)
    )
    return not calls_unknown and all(
        are_distinct(module, kernel, base, write.base) for write in writes for base in bases
    )


def _is_foreign(module: Module, call: ast.Call) -> bool:
    """Whether a call leaves the file and Triton, so that it may write anything."""
    dotted = module.names.resolve(call.func)
    is_method = isinstance(call.func, ast.Attribute) and dotted is None
    known = dotted is not None and dotted.startswith(("triton.", "range", "min", "max", "float"))
    return not is_method and not known


def _text_with_moved_load(
    module: Module, statement: ast.Assign, access: Access, loop: ast.For
) -> tuple[str, int] | None:
    patch = Patch(module)
    first = loop.body[0]
    if not patch.owns_lines(statement) or not patch.owns_lines(first):
        return None
    start = patch.line_start(statement.lineno)
    end = patch.line_start((statement.end_lineno or statement.lineno) + 1)
    lead = re.compile(rf"^{re.escape(patch.indent(statement))}", re.MULTILINE)
    text = lead.sub(patch.indent(first), patch.text[start:end])
    patch.delete_lines(statement)
    place = patch.line_start(first.lineno)
    patch.splice(place, place, text)
    line = patch.new_line(place) + access.node.lineno - statement.lineno
    return patch.apply(), line


def _repeat(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    flow = flow_of(module, kernel)
    for statement in statements(kernel.node):
        access = _loaded(module, flow, statement)
        if access is None or not isinstance(statement, ast.Assign):
            continue
        (target,) = statement.targets
        name = target.id if isinstance(target, ast.Name) else ""
        used = uses(kernel.node, name)
        if len(assignments(kernel.node, name)) != 1 or len(used) < 2:
            continue
        for use in used:
            if not _is_asked_about(kernel, use) and _may_repeat(module, kernel, flow, access, use):
                patch = Patch(module)
                value = statement.value
                patch.replace(use, enclosed(patch.source(value), value))
                line = patch.new_line(patch.span(use)[0]) + access.node.lineno - value.lineno
                yield Rewound(patch.apply(), line, context)
                break


def _is_asked_about(kernel: Kernel, use: ast.Name) -> bool:
    """Whether a use reads what the compiler knows of a tile, such as its type."""
    return any(isinstance(n, ast.Attribute) and n.value is use for n in ast.walk(kernel.node))


def _may_repeat(module: Module, kernel: Kernel, flow: Flow, access: Access, use: ast.Name) -> bool:
    """Whether a use may load again, and the compiler would not see that it need not."""
    statement = access.statement
    user = statement_of(kernel.node, use) or statement
    first, last = statement.end_lineno or statement.lineno, user.lineno
    if last <= first or not isinstance(use.ctx, ast.Load):
        return False
    loops, branches = enclosing(kernel, use)
    outer_loops, outer_branches = enclosing(kernel, statement)
    between = any(first < loop.lineno <= last for loop in loops_of(kernel))
    if loops != outer_loops or between or not set(outer_branches) <= set(branches):
        return False
    if not _same_side(kernel, statement, use, outer_branches):
        return False
    assert isinstance(statement, ast.Assign)
    if _changes(kernel, names_in(statement.value), first, last):
        return False
    if not _only_elsewhere(module, kernel, flow, access, first, last - 1):
        return False
    entered = [branch for branch in branches if branch not in outer_branches]
    return _writes_between(flow, first, last) or any(
        _asks_at_run_time(module, kernel, branch) for branch in entered
    )


def _same_side(kernel: Kernel, statement: ast.stmt, use: ast.Name, branches: list[ast.If]) -> bool:
    """Whether both stand under the same outcome of the conditionals around the first."""
    return all(
        any(covers_or_is(s, statement) for s in branch.body)
        == any(covers_or_is(s, use) for s in branch.body)
        for branch in branches
    )


def covers_or_is(outer: ast.stmt, inner: ast.AST) -> bool:
    """Whether a node stands on the lines of a statement."""
    return outer.lineno <= getattr(inner, "lineno", 0) <= (outer.end_lineno or outer.lineno)


def _writes_between(flow: Flow, first: int, last: int) -> bool:
    return any(first < write.node.lineno < last for write in flow.writes)


def _asks_at_run_time(module: Module, kernel: Kernel, branch: ast.If) -> bool:
    names = reaching_names(kernel.node, branch.test)
    given = {p.name for p in kernel.parameters if not p.is_constexpr}
    asked = any(is_tl_call(module, n, "program_id", "load") for n in ast.walk(branch.test))
    return asked or bool(names & given)


REWINDS = (
    Rewind(
        issue="loop_invariant_code",
        name="rewind_hoist_load",
        rewrite="hoist_load",
        applies="Every load that only a loop behind it uses, as the first statement of that "
        "loop, where the loop writes, and only to memory that the file shows to be another.",
        apply=_sink,
    ),
    Rewind(
        issue="redundant_computation",
        name="rewind_reuse_load",
        rewrite="reuse_load",
        applies="A later use of every loaded name, as the same load again, where a write to other "
        "memory or a branch taken at run time is between the two and no loop is.",
        apply=_repeat,
    ),
)
