"""Detectors of launches that could be fewer, or that give the chip a single program."""

import ast
import re
from collections.abc import Iterator, Sequence

from tilewright.analysis.detectors.common import TL, first_line, triton_kernels
from tilewright.analysis.detectors.host_code.facts import (
    graphs_with_wrappers,
    is_measuring,
    launch_uses,
)
from tilewright.analysis.detectors.host_code.row_launches import launches_for_each_row
from tilewright.analysis.detectors.program_counts import is_one_program
from tilewright.analysis.detectors.registry import Reports, detector, kernel_detector
from tilewright.analysis.host_graph.model import HostGraph, Use
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.values import Access, Flow, Loop, walk
from tilewright.python_syntax import is_name
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Launch, Module


@kernel_detector("single_program", triton_kernels)
def single_program(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A grid of one program for a kernel that loops over an extent given at run time."""
    # Grids are quicker to read than loops, and few have one program.
    launches = [
        launch
        for launch in module.launches_of(kernel.name)
        if not (launch.is_warmup or is_measuring(launch.host_function or ""))
        and is_one_program(module, launch)
    ]
    loop = _loop_over_extent(module, kernel, flow) if launches else None
    for launch in launches if loop is not None else ():
        if loop is None or _finishes_partial_results(module, launch):
            continue
        text = (
            f"One program walks over all of {kernel.name}'s tiles, and one compute unit of the "
            "chip works; programs for parts of the range, and a small kernel over their "
            "results, use all of them."
        )
        yield launch.grid, text, (Related("the loop", first_line(module, loop.node)),)


def _loop_over_extent(module: Module, kernel: Kernel, flow: Flow) -> Loop | None:
    """A loop of independent turns with a load of a tile, up to a parameter known at launch."""
    for loop in flow.loops.values():
        if loop.bounds is None or loop.is_static or loop.parent is not None:
            continue
        runtime = [
            v for v in walk(loop.bounds[1]) if v.op == "param" and v.detail not in kernel.constexprs
        ]
        loads = [a for a in flow.loads if loop.number in a.loops]
        moves = [a for a in loads if _is_of_tile(a)]
        if runtime and moves and _has_independent_turns(loop, flow):
            return loop
    return None


def _is_of_tile(load: Access) -> bool:
    """Whether many elements are read, by addresses or by a block pointer."""
    is_addressed = load.base is not None and "arange" in load.pointer.operations
    return is_addressed or load.pointer.is_call(TL + "make_block_ptr")


def _has_independent_turns(loop: Loop, flow: Flow) -> bool:
    """Whether turns only add to, or take the extreme with, what was before, and reread nothing."""
    stored = {a.base for a in flow.writes if loop.number in a.loops}
    if stored & {a.base for a in flow.loads}:
        return False
    assigned: set[str] = set()
    for statement in loop.node.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.If | ast.While):
                return False
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                carried = _carries(loop.node.body, node.id) and node.id not in assigned
                if carried and not _is_accumulation(loop.node.body, node.id):
                    return False
        if isinstance(statement, ast.Assign):
            assigned |= {t.id for t in statement.targets if isinstance(t, ast.Name)}
    return True


def _carries(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a loop's body assigns a name."""
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        for statement in body
        for n in ast.walk(statement)
    )


def _is_accumulation(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether every assignment is ``x += ...``, ``x = x + ...`` or ``x = tl.maximum(x, ...)``."""
    return all(_accumulates(node, name) for statement in body for node in ast.walk(statement))


def _accumulates(node: ast.AST, name: str) -> bool:
    """Whether a node assigns nothing else to a name than a sum or an extreme with it."""
    if isinstance(node, ast.AugAssign) and is_name(node.target, name):
        return isinstance(node.op, ast.Add)
    if isinstance(node, ast.Assign) and any(is_name(t, name) for t in node.targets):
        return _combines(node.value, name)
    return True


def _combines(value: ast.expr, name: str) -> bool:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return is_name(value.left, name) or is_name(value.right, name)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr in ("maximum", "minimum", "max", "min") and any(
            is_name(argument, name) for argument in value.args
        )
    return False


def _finishes_partial_results(module: Module, launch: Launch) -> bool:
    """Whether the launch reads what an earlier one of its function has made, or a short buffer."""
    host = module.host_functions.get(launch.host_function or "")
    others = [
        other
        for other in module.launches
        if other.host_function == launch.host_function and other.range.line < launch.range.line
    ]
    if host is None or others:
        return True
    return any(_counts_parts(resolve(module, launch, a)) for a in launch.arguments.values())


def _counts_parts(node: ast.expr) -> bool:
    """``triton.cdiv(n, BLOCK)``: a number of blocks."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("cdiv")


@detector("repeated_launches", host=True)
def repeated_launches(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """One launch for each row of a tensor, or of one kernel for several tensors in turn."""
    for _, graph, _ in graphs_with_wrappers(module):
        yield from launches_for_each_row(module, graph)
        yield from _in_turn(module, graph)


def _in_turn(module: Module, graph: HostGraph) -> Iterator[Finding]:
    """Three launches of one kernel on tensors of their own, or two in a row."""
    groups: dict[tuple[object, ...], list[list[Use]]] = {}
    for launch, uses in _uses_by_launch(graph).items():
        kernel = module.kernel(launch.kernel)
        if kernel is None or not launch.is_complete or uses[0].place.loops:
            continue
        tensors = {use.parameter for use in uses}
        scalars = tuple(
            (name, ast.unparse(resolve(module, launch, argument)))
            for name, argument in launch.arguments.items()
            if name not in tensors
        )
        key = (launch.kernel, uses[0].place.branches, scalars)
        groups.setdefault(key, []).append(uses)
    for uses_of in groups.values():
        launches = [one for uses in uses_of if (one := uses[0].launch) is not None]
        if _may_be_one(module, graph, launches) and _are_independent(graph, uses_of):
            yield Finding(
                launches[-1].range,
                f"This is launch {len(launches)} of {launches[-1].kernel} with the same numbers, "
                "on other tensors; one launch over all of them would fill the chip better.",
                launches[-1].kernel,
                related=(Related("first launched here", launches[0].range),),
            )


def _may_be_one(module: Module, graph: HostGraph, launches: Sequence[Launch]) -> bool:
    """Whether launches are three with one grid, or two in a row with a program for each row."""
    grids = [ast.unparse(resolve(module, launch, launch.grid)) for launch in launches]
    if len(launches) > 2:
        return len(set(grids)) == 1
    if len(launches) < 2 or len({re.sub(r"\b[a-z]\w*\b", "x", grid) for grid in grids}) > 1:
        return False
    if any("cdiv" in grid or "META" in grid for grid in grids) or "lambda" in grids[0]:
        # Programs for blocks of a large tensor fill the chip by themselves.
        return False
    places = [_statement_of(graph.node, launch) for launch in launches]
    return None not in places and places[1] == (places[0] or 0) + 1


def _statement_of(function: ast.FunctionDef, launch: Launch) -> int | None:
    """The number of the statement of a function's body that a launch is all of."""
    for place, statement in enumerate(function.body):
        if isinstance(statement, ast.Expr | ast.Assign) and statement.value is launch.node:
            return place
    return None


def _uses_by_launch(graph: HostGraph) -> dict[Launch, list[Use]]:
    found: dict[int, tuple[Launch, list[Use]]] = {}
    for use in launch_uses(graph.uses):
        if use.launch is not None:
            found.setdefault(id(use.launch), (use.launch, []))[1].append(use)
    return dict(found.values())


def _are_independent(graph: HostGraph, uses_of: list[list[Use]]) -> bool:
    """Whether no launch of a group touches memory that another one writes."""
    roots = [
        ({graph.root(u.value) for u in uses}, {graph.root(u.value) for u in uses if _writes(u)})
        for uses in uses_of
    ]
    return all(written for _, written in roots) and not any(
        one_written & other_roots
        for place, (_, one_written) in enumerate(roots)
        for other, (other_roots, _) in enumerate(roots)
        if place != other
    )


def _writes(use: Use) -> bool:
    return use.role is not None and (use.role.writes or not use.role.is_sure)
