"""Rewrites of the algorithmic stage: redundant loads."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from tilewright.analysis.detectors.algorithmic.loads import redundant_computation
from tilewright.analysis.detectors.common import are_distinct
from tilewright.analysis.equal_values import EqualValues
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.values import Access, Flow, Value
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.pointers import base_pointer
from tilewright.rewrites.scope import (
    argument,
    argument_facts,
    assignments,
    at_issue,
    is_tl_call,
    kernel_named,
    keyword,
    literal_int,
    names_in,
    set_in,
    statement_of,
    targets_of,
    tl_name,
)
from tilewright.source.model import Kernel, Module


@rewrite("loop_invariant_code", "Load once, before the loop", Numerics.EXACT)
def hoist_load(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = kernel_named(module, issue)
    loads = [n for n in ast.walk(kernel.node) if is_tl_call(module, n, "load")]
    found = at_issue(module, issue, loads)
    loop, statement = _loop_and_statement(kernel, found[0]) if found else (None, None)
    if loop is None or statement is None or not found:
        raise RefusedError("there is no load in a for loop's own body here")
    load = found[0]
    assert isinstance(load, ast.Call)
    group = _with_operands(module, kernel, loop, statement)
    pointer = argument(load, 0, "pointer")
    base = base_pointer(kernel, pointer) if pointer is not None else None
    if _may_change(module, kernel, loop, base):
        raise RefusedError("the loop stores, and the store may change the loaded values")
    masked = len(load.args) > 1 or keyword(load, "mask") is not None
    if not masked and not _runs_at_least_once(module, kernel, loop, context):
        raise RefusedError("the load has no mask and the loop is not known to run at all")
    patch = Patch(module)
    if not all(patch.owns_lines(s) for s in group) or len(loop.body) <= len(group):
        raise RefusedError("the load shares its line with something else, or is all the loop does")
    return _moved(patch, loop, group)


def _loop_and_statement(kernel: Kernel, node: ast.AST) -> tuple[ast.For | None, ast.stmt | None]:
    statement = statement_of(kernel.node, node)
    for loop in ast.walk(kernel.node):
        if isinstance(loop, ast.For) and any(s is statement for s in loop.body):
            return loop, statement
    return None, None


def _with_operands(
    module: Module, kernel: Kernel, loop: ast.For, statement: ast.stmt
) -> list[ast.stmt]:
    """The load's statement and the statements of the loop that it is made from."""
    changing = set_in(loop) | set(targets_of(loop))
    group: list[ast.stmt] = []
    pending = [statement]
    while pending:
        current = pending.pop()
        match current:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case _:
                raise RefusedError("the load is not assigned to a name of its own")
        if len(assignments(kernel.node, name)) != 1:
            raise RefusedError(f"{name} is set more than once")
        group.append(current)
        for operand in sorted(names_in(value) & changing):
            makers = assignments(kernel.node, operand)
            if len(makers) != 1 or not any(s is makers[0] for s in loop.body):
                raise RefusedError(f"{operand} changes from one iteration to the next")
            if makers[0] not in group and makers[0] not in pending:
                pending.append(makers[0])
    if any(_calls_unknown(module, s) for s in group):
        raise RefusedError("the load depends on a call whose effects are not known")
    return sorted(group, key=lambda s: s.lineno)


def _calls_unknown(module: Module, statement: ast.stmt) -> bool:
    calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
    return any(
        tl_name(module, c.func) is None
        and not (isinstance(c.func, ast.Attribute) and c.func.attr == "to")
        and not (isinstance(c.func, ast.Name) and c.func.id == "float")
        for c in calls
    )


def _may_change(module: Module, kernel: Kernel, loop: ast.For, base: str | None) -> bool:
    """Whether anything in the loop may write what a pointer parameter reaches.

    Atomics and calls of other functions may; a store may unless the host has just allocated
    what it writes.
    """
    for node in ast.walk(loop):
        if not isinstance(node, ast.Call) or node is loop.iter:
            continue
        name = tl_name(module, node.func)
        method = isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "trans")
        plain = isinstance(node.func, ast.Name) and node.func.id in ("range", "float", "min", "max")
        if name is None and not method and not plain:
            return True
        if name is not None and name.startswith("atomic_"):
            return True
        if name == "store":
            written = base_pointer(kernel, node.args[0]) if node.args else None
            if not are_distinct(module, kernel, base, written):
                return True
    return False


def _runs_at_least_once(
    module: Module, kernel: Kernel, loop: ast.For, context: AnalysisContext
) -> bool:
    """Literal bounds, or a bound that was positive at every captured launch."""
    call = loop.iter
    if not isinstance(call, ast.Call) or module.names.resolve(call.func) != "range":
        return False
    start = call.args[0] if len(call.args) > 1 else ast.Constant(0)
    end = call.args[1] if len(call.args) > 1 else call.args[0]
    if literal_int(start) != 0:
        return False
    if isinstance(end, ast.Call) and is_tl_call(module, end, "cdiv"):
        end = end.args[0]
    if isinstance(end, ast.Name):
        values = [facts.value for facts in argument_facts(context, kernel.name, end.id)]
        return bool(values) and all(isinstance(v, int) and v > 0 for v in values)
    return (literal_int(end) or 0) > 0


def _moved(patch: Patch, loop: ast.For, group: list[ast.stmt]) -> str:
    inner = patch.indent(group[0])
    lead = re.compile(rf"^{re.escape(inner)}", re.MULTILINE)
    texts = []
    for statement in group:
        start = patch.line_start(statement.lineno)
        end = patch.line_start((statement.end_lineno or statement.lineno) + 1)
        texts.append(lead.sub(patch.indent(loop), patch.text[start:end]))
        patch.delete_lines(statement)
    place = patch.line_start(loop.lineno)
    patch.splice(place, place, "".join(texts))
    return patch.apply()


@rewrite("redundant_computation", "Use the value that was loaded already", Numerics.EXACT)
def reuse_load(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = kernel_named(module, issue)
    loads = [n for n in ast.walk(kernel.node) if is_tl_call(module, n, "load")]
    for load in at_issue(module, issue, loads):
        text = _reused(module, kernel, context, load)
        if text is not None:
            return text
    raise RefusedError("no name still holds this load, or there is a store in between")


def _reused(module: Module, kernel: Kernel, context: AnalysisContext, load: ast.AST) -> str | None:
    """The text with the largest expression around a load taken from a name that holds it."""
    flow = flow_of(module, kernel)
    access = next((a for a in flow.loads if a.node is load), None)
    if access is None:
        return None
    statement = access.statement
    equal = EqualValues(flow, _known_equal(module, kernel, context, flow, access))
    for node in ast.walk(statement):
        value = flow.values.get(node) if isinstance(node, ast.expr) else None
        if value is None or not any(n is load for n in ast.walk(node)):
            continue
        holder = next(equal.holders(value, access), None)
        if holder is None:
            continue
        patch = Patch(module)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=whole) if (
                whole is node and name == holder and patch.owns_lines(statement)
            ):
                patch.delete_lines(statement)
            case _:
                assert isinstance(node, ast.expr)
                patch.replace(node, holder)
        return patch.apply()
    return None


def _known_equal(
    module: Module, kernel: Kernel, context: AnalysisContext, flow: Flow, access: Access
) -> Iterator[tuple[Value, Value]]:
    """The load and the one it repeats across writes elsewhere, by the analysis."""
    where = module.index.range_of(access.node)
    loads = {module.index.range_of(a.node): a.result for a in flow.loads}
    for finding in redundant_computation(replace(module, focus=kernel), context):
        first = loads.get(finding.related[0].range)
        if finding.range == where and first is not None and access.result is not None:
            yield first, access.result
