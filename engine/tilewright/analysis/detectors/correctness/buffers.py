"""Detectors of output buffers: not zeroed before atomics, or not written to their end."""

import ast
from collections.abc import Iterator
from functools import partial

from tilewright.analysis.detectors.common import TL, source_of, triton_kernels
from tilewright.analysis.detectors.correctness.counterexamples import unwritten
from tilewright.analysis.detectors.correctness.masks import is_all_bounds, terms, unexpanded
from tilewright.analysis.detectors.correctness.reach import (
    exact_offsets,
    greatest_offset,
    reach_of,
)
from tilewright.analysis.detectors.correctness.stated_shapes import rounded_down
from tilewright.analysis.detectors.correctness.tuning import may_be_prepared
from tilewright.analysis.detectors.registry import Reports, detector, kernel_detector
from tilewright.analysis.intervals import Numbers
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Access, Flow, Value, walk
from tilewright.python_syntax import descendants
from tilewright.source.host import before_launch, resolve
from tilewright.source.model import Kernel, Launch, Module

_UNSET = tuple(f"torch.{n}" for n in ("empty", "empty_like", "empty_strided"))
_ACCUMULATES = frozenset(TL + f"atomic_{n}" for n in ("add", "max", "min", "and", "or", "xor"))


@kernel_detector("atomic_needs_zeroed_output", triton_kernels)
def atomic_needs_zeroed_output(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """Atomics that add to what torch.empty left there."""
    launches = module.launches_of(kernel.name)
    if not launches or may_be_prepared(module) or flow.may_write_unknown:
        return
    for parameter, name in _accumulated(module, kernel, flow).items():
        for launch in launches:
            made = _unset_at(module, launch, parameter)
            if made is not None:
                text = (
                    f"{name} adds to {parameter}, which is this buffer, and torch.empty leaves "
                    "in it whatever was in memory."
                )
                yield made, text, (Related("launched here", launch.range),)


def _accumulated(module: Module, kernel: Kernel, flow: Flow) -> dict[str, str]:
    """Parameters that atomics accumulate into, and that the kernel stores nothing else to.

    In one branch of a choice that the caller makes, what the other branch stores does not count.
    """
    stores = [a for a in flow.writes if a.kind == "store"]
    if any(store.base is None for store in stores):
        return {}
    found: dict[str, str] = {}
    for access in flow.writes:
        dotted = module.names.resolve(access.node.func)
        if access.kind != "atomic" or dotted not in _ACCUMULATES or access.base is None:
            continue
        rivals = [store for store in stores if store.base == access.base]
        chosen = _chosen_branch(module, kernel, access) if access.branches else None
        if chosen is not None:
            other = {id(node) for part in chosen for node in ast.walk(part)}
            rivals = [store for store in rivals if id(store.node) not in other]
        if not rivals and (chosen is not None or not access.branches):
            found.setdefault(access.base, f"tl.{(dotted or '').removeprefix(TL)}")
    return found


def _chosen_branch(module: Module, kernel: Kernel, access: Access) -> list[ast.stmt] | None:
    """The other side of the one choice by a constexpr that an access stands in.

    None where there is more to the choice, or where no launch leaves it open.
    """
    around = [
        node
        for node in nodes_like(kernel.node, ast.If)
        if node.lineno <= access.node.lineno <= (node.end_lineno or node.lineno)
    ]
    if len(around) != 1:
        return None
    names = {n.id for n in ast.walk(around[0].test) if isinstance(n, ast.Name)}
    launches = module.launches_of(kernel.name)
    given = [_resolved(module, launch, name) for launch in launches for name in names]
    is_open = all(isinstance(node, ast.Name | ast.Attribute) for node in given)
    if len(names) != 1 or not is_open or not names <= set(kernel.constexprs):
        return None
    inside = {id(node) for part in around[0].body for node in ast.walk(part)}
    return around[0].orelse if id(access.node) in inside else around[0].body


def _resolved(module: Module, launch: Launch, name: str) -> ast.expr | None:
    given = launch.arguments.get(name)
    return None if given is None else resolve(module, launch, given)


def _unset_at(module: Module, launch: Launch, parameter: str) -> ast.expr | None:
    """The torch.empty that surely makes the argument, with nothing in between that fills it.

    None for a buffer that nothing reads afterwards: a tuner may get one for its trials.
    """
    node = launch.arguments.get(parameter)
    if not isinstance(node, ast.Name):
        return None
    for statement in before_launch(module, launch):
        mentioned = [
            n for n in descendants(statement) if isinstance(n, ast.Name) and n.id == node.id
        ]
        if not mentioned:
            continue
        is_made = (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and statement.targets[0] is mentioned[0]
            and len(mentioned) == 1
            and module.names.is_call(statement.value, *_UNSET)
        )
        if is_made and isinstance(statement, ast.Assign):
            return statement.value if _is_read(module, launch, statement.value) else None
        if not all(_only_looks(statement, name) for name in mentioned):
            return None
    return None


def _only_looks(statement: ast.stmt, name: ast.Name) -> bool:
    """Whether a name is only asked for its shape, strides, type or place."""
    asked = ("shape", "stride", "dtype", "device", "size", "numel", "ndim", "is_contiguous", "dim")
    return any(
        isinstance(n, ast.Attribute) and n.value is name and n.attr in asked
        for n in descendants(statement)
    )


@kernel_detector("uninitialized_read", triton_kernels)
def uninitialized_read(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A load of what torch.empty left in a buffer, before anything is written to it."""
    launches = module.launches_of(kernel.name)
    if not launches or may_be_prepared(module) or flow.may_write_unknown:
        return
    seen: set[str] = set()
    for load in _first_reads(kernel, flow):
        for launch in launches if load.base not in seen else ():
            made = _unset_at(module, launch, load.base or "")
            if made is not None:
                seen.add(load.base or "")
                text = (
                    f"Nothing has written {load.base} when this load reads it: line "
                    f"{made.lineno} makes it with torch.empty, which leaves in it whatever was "
                    "in memory."
                )
                yield load.node, text, (Related("made here", module.index.range_of(made)),)
                break


def _first_reads(kernel: Kernel, flow: Flow) -> Iterator[Access]:
    """Loads that always run, before the first write to what they read and the kernel updates.

    A buffer that the kernel only reads is left aside: tests pass such inputs on purpose.
    """
    updated = {store.base for store in flow.writes}
    if not any(load.base in updated for load in flow.loads):
        return
    chosen = (*nodes_like(kernel.node, ast.IfExp), *nodes_like(kernel.node, ast.BoolOp))
    sometimes = {id(inner) for node in chosen for inner in descendants(node)}
    returns = nodes_like(kernel.node, ast.Return)
    used = {
        v for value in flow.values.values() if value.op != "attribute" for v in value.operands
    } | {store.result for store in flow.writes}
    first_return = min((n.lineno for n in returns), default=kernel.range.end_line)
    for load in flow.loads:
        if load.base is None or load.branches or id(load.node) in sometimes:
            continue
        if load.result not in used or load.base not in updated:
            continue
        written = [w for w in flow.writes if w.order < load.order and w.base in (None, load.base)]
        atomics = any(w.kind == "atomic" for w in flow.writes)
        if written or atomics or load.node.lineno > first_return:
            continue
        if _is_open(load) and not _reads_earlier_turns(flow, load):
            yield load


def _reads_earlier_turns(flow: Flow, load: Access) -> bool:
    """Whether an inner loop up to the turn of an outer one reads what its turns have stored.

    ``for i in range(n): for j in range(i): load(x + j) ...; store(x + i)``.
    """
    stored = {loop for w in flow.writes if w.base == load.base for loop in w.loops}
    inner = flow.loops[load.loops[-1]] if load.loops else None
    if inner is None or inner.bounds is None or inner.number in stored:
        return False
    return any(v.op == "loop_index" and v.detail in stored for v in walk(inner.bounds[1]))


def _is_open(load: Access) -> bool:
    """Whether all that the mask of a load asks for is that indices are below bounds."""
    return load.mask is None or is_all_bounds(load.mask)


@detector("output_not_fully_written")
def output_not_fully_written(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A fresh buffer whose end no program of its only launch reaches."""
    for kernel, flow in triton_kernels(module):
        captured = [facts for facts in context.launches if facts.kernel == kernel.name]
        launches = module.launches_of(kernel.name)
        if not captured and launches:
            found = list(rounded_down(module, kernel, flow, partial(_may_be_left, module)))
            found += _half_written(module, kernel, flow)
            yield from found or unwritten(module, kernel, partial(_is_read, module))
        if len(captured) != 1 or len(launches) != 1 or flow.may_write_unknown:
            continue
        numbers = Numbers.of_launch(captured[0])
        for parameter in sorted({a.base for a in flow.writes if a.base is not None}):
            made = _unset_at(module, launches[0], parameter)
            tensor = captured[0].argument(parameter)
            last = None if tensor is None else greatest_offset(tensor)
            if made is None or last is None or _may_be_left(module, launches[0], parameter):
                continue
            reached = _farthest(flow, kernel, parameter, numbers)
            if reached is not None and reached < last:
                yield Finding(
                    module.index.range_of(made),
                    f"The stores of {kernel.name} reach offset {reached:,} of this buffer and its "
                    f"last element is at {last:,}: the rest is returned as it was in memory.",
                    kernel.name,
                    related=(Related("launched here", launches[0].range),),
                )


def _half_written(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """A fresh buffer of which the only store keeps one side of a diagonal."""
    launches = module.launches_of(kernel.name)
    for access in flow.writes if len(launches) == 1 else ():
        term = None if access.mask is None else next(filter(_is_diagonal, terms(access.mask)), None)
        if access.kind != "store" or term is None or access.base is None or access.branches:
            continue
        if len([a for a in flow.writes if a.base in (access.base, None)]) != 1:
            continue
        made = _unset_at(module, launches[0], access.base)
        if made is not None and not _may_be_left(module, launches[0], access.base):
            yield Finding(
                module.index.range_of(made),
                f"The only store to {access.base} keeps one side of a diagonal, and the host hands "
                "this buffer on: the other side is as it was in memory.",
                kernel.name,
                related=(
                    Related("stored here", module.index.range_of(access.node)),
                    Related("launched here", launches[0].range),
                ),
            )


def _is_diagonal(term: Value) -> bool:
    """``rows[:, None] >= cols[None, :]``, with nothing loaded on either side."""
    compare = unexpanded(term)
    if compare.op != "compare" or compare.detail not in ("Gt", "GtE", "Lt", "LtE"):
        return False
    parts = [side.operations for side in compare.operands]
    if not all("arange" in p and not p & {"load", "opaque"} for p in parts):
        return False
    forms = [{str(v.detail) for v in walk(side) if v.op == "expand"} for side in compare.operands]
    return sorted(map(sorted, forms)) == [[":,None"], ["None,:"]]


def _farthest(flow: Flow, kernel: Kernel, parameter: str, numbers: Numbers) -> int | None:
    """The greatest offset that any store may reach; None if that is not known of all of them."""
    found = []
    for access in flow.writes:
        if access.base is None:
            return None
        if access.base != parameter:
            continue
        offsets = exact_offsets(access.pointer, parameter, must_be_taken=False)
        reach = None if offsets is None else reach_of(offsets, None, numbers)
        if reach is None:
            return None
        found.append(reach)
    return max(found, default=None)


def _may_be_left(module: Module, launch: Launch, parameter: str) -> bool:
    """Whether the rest of a buffer may stay as it was: others write it, or nothing reads it."""
    node = launch.arguments[parameter]
    host = module.host_functions.get(launch.host_function or "")
    if host is None or not isinstance(node, ast.Name):
        return True
    uses = [n for n in nodes_like(host, ast.Name) if n.id == node.id]
    loads = [n for n in uses if isinstance(n.ctx, ast.Load) and n is not node]
    is_read = bool(loads) and source_of(module, node) != ""
    return not is_read or any(not _is_harmless(host, n) for n in loads)


def _is_read(module: Module, launch: Launch, made: ast.expr | None) -> bool:
    """Whether a function does more with a buffer that it makes than to pass it to one launch."""
    host = module.host_functions.get(launch.host_function or "")
    assigned = () if host is None else nodes_like(host, ast.Assign)
    names = [s.targets[0] for s in assigned if s.value is made and len(s.targets) == 1]
    if host is None or not names or not isinstance(names[0], ast.Name):
        return True
    inside = {id(node) for node in descendants(launch.node)}
    uses = [n for n in nodes_like(host, ast.Name) if n.id == names[0].id]
    return any(isinstance(n.ctx, ast.Load) and id(n) not in inside for n in uses)


def _is_harmless(host: ast.FunctionDef, name: ast.Name) -> bool:
    returned = any(n.value is name for n in nodes_like(host, ast.Return))
    return returned or any(_only_looks(s, name) for s in host.body)
