"""Rewinds of faults: a method that is not called, a barrier, and a softplus without its guard."""

import ast
from collections.abc import Iterator
from typing import TypeGuard

from tilewright.analysis.detectors.correctness.divisibility import (
    callers_state_divisibility,
    states_divisibility,
)
from tilewright.analysis.detectors.correctness.locks import is_one_warp
from tilewright.analysis.detectors.correctness.number_methods import number_parameter
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Access, Flow, Value, walk
from tilewright.rewrites.calls import local_name
from tilewright.rewrites.correctness import softplus_argument
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.rewinds.model import Rewind, Rewound
from tilewright.rewrites.rewinds.sites import tl_calls
from tilewright.rewrites.scope import is_tl_call, names_in, parents, statement_of
from tilewright.source.host import host_of, provably_stride_one
from tilewright.source.model import Kernel, Module

_METHODS = ("is_contiguous", "numel")
_ATOMICS = ("atomic_add", "atomic_cas", "atomic_xchg", "atomic_or")
_BOUNDS = ("abs", "minimum", "maximum", "clamp", "where", "sigmoid")


def _method(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """``if x.is_contiguous:``, for a tensor that the function passes to the kernel."""
    for launch in module.launches_of(kernel.name):
        host = host_of(module, launch)
        passed = {a.id for a in launch.arguments.values() if isinstance(a, ast.Name)}
        for call in _tested_expressions(host) if host is not None else ():
            match call:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=[], keywords=[]
                ) if name in passed and attr in _METHODS:
                    patch = Patch(module)
                    patch.replace(call, patch.source(call.func))
                    yield Rewound(patch.apply(), call.lineno, context)


def _host_cdiv(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """``tl.cdiv`` for ``triton.cdiv`` in a function that launches the kernel."""
    inside = tl_calls(module, kernel, "program_id")
    if not inside:
        return
    prefix = module.index.slice(module.index.range_of(inside[0].func)).removesuffix("program_id")
    for launch in module.launches_of(kernel.name):
        host = host_of(module, launch)
        for call in ast.walk(host) if host is not None else ():
            if isinstance(call, ast.Call) and module.names.is_call(call, "triton.cdiv"):
                patch = Patch(module)
                patch.replace(call.func, f"{prefix}cdiv")
                yield Rewound(patch.apply(), call.lineno, context)


def _tested_expressions(host: ast.FunctionDef) -> Iterator[ast.expr]:
    """What a function takes the truth of."""
    pending = [n.test for n in ast.walk(host) if isinstance(n, ast.If | ast.IfExp | ast.Assert)]
    while pending:
        test = pending.pop(0)
        if isinstance(test, ast.BoolOp):
            pending.extend(test.values)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            pending.append(test.operand)
        else:
            yield test


def _barrier(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """A row that is read, and one place of it that is stored, with no barrier between them."""
    calls = tl_calls(module, kernel, "debug_barrier")
    if len(calls) != 1 or is_one_warp(module, kernel):
        return
    flow = flow_of(module, kernel)
    statement = statement_of(kernel.node, calls[0])
    load = _read_back(flow, calls[0])
    patch = Patch(module)
    if load is None or statement is None or not patch.owns_lines(statement):
        return
    patch.delete_lines(statement)
    yield Rewound(patch.apply(), patch.new_line(patch.span(load.node)[0]), context)


def _plain_wait(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """``while tl.load(lock) == 1: pass`` for a wait by an atomic."""
    for loop in ast.walk(kernel.node):
        if not isinstance(loop, ast.While) or not all(isinstance(s, ast.Pass) for s in loop.body):
            continue
        for call in ast.walk(loop.test):
            if isinstance(call, ast.Call) and is_tl_call(module, call, *_ATOMICS):
                patch = Patch(module)
                prefix = patch.source(call.func).rpartition(".")[0]
                dotted = f"{prefix}.load" if prefix else "load"
                patch.replace(call, f"{dotted}({patch.source(call.args[0])})")
                yield Rewound(patch.apply(), call.lineno, context)


def _read_back(flow: Flow, barrier: ast.Call) -> Access | None:
    """The first load behind a barrier of a place among others that were stored before it."""
    if any(a.kind == "atomic" for a in flow.accesses):
        return None
    for load in flow.loads:
        for store in flow.writes:
            between = store.node.lineno < barrier.lineno < load.node.lineno
            one, other = "arange" in store.pointer.operations, "arange" in load.pointer.operations
            single = load.pointer if one else store.pointer
            is_loaded = "load" in single.operations
            in_order = load.branches[: len(store.branches)] == store.branches
            if between and load.base == store.base is not None and one is not other:
                if is_loaded and in_order and load.mask is store.mask is None:
                    return load
                if is_loaded and in_order and not _asks_place(load, store):
                    return load
    return None


def _asks_place(load: Access, store: Access) -> bool:
    """Whether a mask asks for what was loaded: it may leave out just that place."""
    return any("load" in a.mask.operations for a in (load, store) if a.mask is not None)


def _softplus(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """``tl.where(x > 20, x, tl.log(1 + tl.exp(x)))`` without the choice."""
    flow = flow_of(module, kernel)
    for call in tl_calls(module, kernel, "where"):
        around = parents(kernel.node, call)
        if len(call.args) != 3 or any(is_tl_call(module, node, "where") for node in around):
            continue
        log = call.args[2]
        argument = softplus_argument(module, log) if isinstance(log, ast.Call) else None
        value = None if argument is None else flow.values.get(argument)
        if value is not None and not any(map(_is_kept_small, walk(value))):
            patch = Patch(module)
            start = patch.span(call)[0]
            patch.replace(call, patch.source(log))
            yield Rewound(patch.apply(), patch.new_line(start), context)


def _is_kept_small(part: Value) -> bool:
    """Whether a part of an exponent may keep it from growing."""
    is_square = part.is_binary("Mult") and part.operands[0] is part.operands[1]
    is_bounded = part.op == "call" and str(part.detail).rpartition(".")[2] in _BOUNDS
    return is_square or is_bounded or part.is_binary("Sub") or part.op in ("select", "opaque")


def _cast_as_method(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """``n.to(tl.int64)`` for a factor ``n`` that Triton puts into the kernel as a number."""
    flow, launches = flow_of(module, kernel), module.launches_of(kernel.name)
    for product in nodes_like(kernel.node, ast.BinOp):
        name = product.right
        if not isinstance(product.op, ast.Mult) or not isinstance(name, ast.Name):
            continue
        is_number = number_parameter(kernel, flow, name) is not None
        if is_number and any(provably_stride_one(module, one, name.id) for one in launches):
            patch = Patch(module)
            wide = local_name(module, "triton.language.int64")
            patch.replace(name, f"{name.id}.to({wide})")
            yield Rewound(patch.apply(), patch.new_line(patch.span(name)[0]), context)


def _first_mask(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """``offs < K`` for ``offs < K - k * B``, in a load that a loop moves block by block."""
    if states_divisibility(module, kernel) or callers_state_divisibility(module, kernel):
        return
    for loop in nodes_like(kernel.node, ast.For):
        turn = loop.target.id if isinstance(loop.target, ast.Name) else ""
        given = names_in(loop.iter)
        steps = (node for node in ast.walk(loop) if isinstance(node, ast.AugAssign))
        moved = {turn, *(ast.unparse(step.target) for step in steps)}
        compares = [c for line in loop.body for c in ast.walk(line) if _is_rest(c, turn, given)]
        for compare in compares:
            rest, call = compare.comparators[0], _load_of(module, kernel, compare)
            if (
                call is None
                or not isinstance(rest, ast.BinOp)
                or not names_in(call.args[0]) & moved
            ):
                continue
            if _counts_lanes(module, kernel, compare.left, given):
                patch = Patch(module)
                patch.replace(rest, patch.source(rest.left))
                yield Rewound(patch.apply(), patch.new_line(patch.span(call)[0]), context)


def _is_rest(node: ast.AST, turn: str, given: set[str]) -> TypeGuard[ast.Compare]:
    """``offs < K - k * B``, of the parameters that the loop goes over."""
    match node:
        case ast.Compare(
            ops=[ast.Lt()],
            comparators=[ast.BinOp(left=ast.Name(id=extent), op=ast.Sub(), right=passed)],
        ):
            names = names_in(passed)
            return extent in given and turn in names and names <= {turn, *given}
    return False


def _counts_lanes(module: Module, kernel: Kernel, index: ast.expr, given: set[str]) -> bool:
    """Whether an index is ``arange(0, B)`` of the kernel, with the length of the loop's blocks."""
    index = index.value if isinstance(index, ast.Subscript) else index
    made = [
        statement.value
        for statement in nodes_like(kernel.node, ast.Assign)
        if [ast.unparse(target) for target in statement.targets] == [ast.unparse(index)]
    ]
    return len(made) == 1 and any(
        call is made[0] and names_in(call) & given for call in tl_calls(module, kernel, "arange")
    )


def _load_of(module: Module, kernel: Kernel, compare: ast.Compare) -> ast.Call | None:
    """The load in whose mask a comparison is."""
    return next(
        (
            call
            for call in tl_calls(module, kernel, "load")
            if any(k.arg == "mask" and compare in ast.walk(k.value) for k in call.keywords)
        ),
        None,
    )


REWINDS = (
    Rewind(
        issue="mask_of_first_block",
        name="rewind_move_mask",
        rewrite="move_mask",
        applies="Every load that a loop moves block by block and masks by what is left of the "
        "extent, `offs < K - k * B`, with the extent itself: `offs` is a `tl.arange` as long as a "
        "block, and no check demands whole blocks.",
        apply=_first_mask,
    ),
    Rewind(
        issue="method_of_number",
        name="rewind_cast_by_function",
        rewrite="cast_by_function",
        applies="Every factor that is a parameter without a condition on it, which a launch of the "
        "file gives the value 1.",
        apply=_cast_as_method,
    ),
    Rewind(
        issue="wait_on_load",
        name="rewind_wait_by_atomic",
        rewrite="wait_by_atomic",
        applies="Every atomic that a loop without a body asks, as a plain load of the same place.",
        apply=_plain_wait,
    ),
    Rewind(
        issue="method_not_called",
        name="rewind_call_method",
        rewrite="call_method",
        applies="Every condition on `x.is_contiguous()` or `x.numel()` of a tensor that the "
        "function passes to the kernel by that name, with the method's name alone.",
        apply=_method,
    ),
    Rewind(
        issue="call_outside_kernel",
        name="rewind_call_host_cdiv",
        rewrite="call_host_cdiv",
        applies="Every `triton.cdiv` of a function that launches the kernel, as `tl.cdiv`.",
        apply=_host_cdiv,
    ),
    Rewind(
        issue="missing_barrier",
        name="rewind_add_barrier",
        rewrite="add_barrier",
        applies="The only `tl.debug_barrier()` of a kernel of several warps, where it stands "
        "between a store and a load of a row and of a loaded place in it, which no mask asks for.",
        apply=_barrier,
    ),
    Rewind(
        issue="unstable_softplus",
        name="rewind_guard_softplus",
        rewrite="guard_softplus",
        applies="Every `tl.where` whose other side is `tl.log(1 + tl.exp(x))`, with nothing in x "
        "that keeps it from growing and in no other choice: as that side alone.",
        apply=_softplus,
    ),
)
