"""Detectors of launches that could be fewer, or that give the chip a single program."""

import ast
from collections.abc import Iterator, Sequence

from tilewright.analysis.detectors.common import first_line, nodes_of, triton_kernels
from tilewright.analysis.detectors.host_code.facts import graphs, is_measuring, launch_uses
from tilewright.analysis.detectors.program_counts import is_one_program
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.host_graph.model import HostGraph, Use
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.values import Flow, Loop, walk
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Launch, Module


@detector("single_program")
def single_program(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A grid of one program for a kernel that loops over an extent given at run time."""
    for kernel, flow in triton_kernels(module):
        # Grids are quicker to read than loops, and few have one program.
        launches = [
            launch
            for launch in module.launches_of(kernel.name)
            if not is_measuring(launch.host_function or "") and is_one_program(module, launch)
        ]
        loop = _loop_over_extent(module, kernel, flow) if launches else None
        for launch in launches if loop is not None else ():
            if loop is None or _finishes_partial_results(module, launch):
                continue
            yield Finding(
                module.index.range_of(launch.grid),
                f"One program walks over all of {kernel.name}'s tiles, and one compute unit of the "
                "chip works; programs for parts of the range, and a small kernel over their "
                "results, use all of them.",
                kernel.name,
                related=(Related("the loop", first_line(module, loop.node)),),
            )


def _loop_over_extent(module: Module, kernel: Kernel, flow: Flow) -> Loop | None:
    """A loop of independent turns with a load of a tile, up to a parameter known at launch."""
    for loop in flow.loops.values():
        if loop.bounds is None or loop.is_static or loop.parent is not None:
            continue
        runtime = [
            v for v in walk(loop.bounds[1]) if v.op == "param" and v.detail not in kernel.constexprs
        ]
        loads = [a for a in flow.loads if loop.number in a.loops and a.base is not None]
        moves = [a for a in loads if any(v.op == "arange" for v in walk(a.pointer))]
        if runtime and moves and _has_independent_turns(loop, flow):
            return loop
    return None


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
    if isinstance(node, ast.AugAssign) and _names(node.target, name):
        return isinstance(node.op, ast.Add)
    if isinstance(node, ast.Assign) and any(_names(t, name) for t in node.targets):
        return _combines(node.value, name)
    return True


def _names(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _combines(value: ast.expr, name: str) -> bool:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return _names(value.left, name) or _names(value.right, name)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr in ("maximum", "minimum", "max", "min") and any(
            _names(argument, name) for argument in value.args
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
    for _, graph, _ in graphs(module):
        yield from _in_loops(module, graph)
        yield from _in_turn(module, graph)


def _in_loops(module: Module, graph: HostGraph) -> Iterator[Finding]:
    """``for b in range(len(x)): kernel[grid](x[b], y[b])``."""
    for loop in nodes_of(graph.node):
        if not isinstance(loop, ast.For) or not _is_over_rows(loop):
            continue
        indices = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        items = _items(loop)
        for launch in _launches_in(module, loop):
            rows = [a for a in launch.arguments.values() if _is_row(a, indices, items)]
            if len(rows) >= 2 and not _is_sequential(graph, launch, indices):
                yield Finding(
                    launch.range,
                    f"The host launches {launch.kernel} once for each row, and each launch has one "
                    "row's work; with the row as an axis of the grid one launch does all.",
                    launch.kernel,
                    related=(Related("the loop", first_line(module, loop)),),
                )


def _launches_in(module: Module, loop: ast.For) -> Iterator[Launch]:
    for statement in loop.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            launch = module.lookup.launch_of.get(statement.value)
            if launch is not None and module.kernel(launch.kernel) is not None:
                yield launch


def _is_over_rows(loop: ast.For) -> bool:
    """``range(n)``, ``enumerate(rows)``: steps of one."""
    if not isinstance(loop.iter, ast.Call):
        return False
    name = ast.unparse(loop.iter.func)
    if name == "range":
        return len(loop.iter.args) < 3 and not all(
            isinstance(a, ast.Constant) for a in loop.iter.args
        )
    return name == "enumerate"


def _items(loop: ast.For) -> frozenset[str]:
    """Names of the elements themselves: ``row`` in ``for i, row in enumerate(x)``."""
    target = loop.target
    if not isinstance(loop.iter, ast.Call) or ast.unparse(loop.iter.func) != "enumerate":
        return frozenset()
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return frozenset()
    return frozenset(n.id for n in ast.walk(target.elts[1]) if isinstance(n, ast.Name))


def _is_row(node: ast.expr, indices: set[str], items: frozenset[str] = frozenset()) -> bool:
    """``x[b]``, ``x[b, :n]``, or an element of what the loop goes over."""
    if isinstance(node, ast.Name):
        return node.id in items
    if not isinstance(node, ast.Subscript):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(p, ast.Name) and p.id in indices for p in parts)


def _is_sequential(graph: HostGraph, launch: Launch, indices: set[str]) -> bool:
    """Whether a turn may need the one before: it writes to something that is not its own row."""
    for use in launch_uses(graph.uses):
        if use.launch is not launch or use.role is None:
            continue
        argument = launch.arguments.get(use.parameter or "")
        writes = use.role.writes or not use.role.is_sure
        if writes and (argument is None or not _is_row(argument, indices)):
            return True
    return False


def _in_turn(module: Module, graph: HostGraph) -> Iterator[Finding]:
    """Three launches of one kernel, one after another, on tensors of their own."""
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
        key = (launch.kernel, uses[0].place.branches, ast.unparse(launch.grid), scalars)
        groups.setdefault(key, []).append(uses)
    for uses_of in groups.values():
        if len(uses_of) >= 3 and _are_independent(graph, uses_of):
            launches = [uses[0].launch for uses in uses_of]
            first, last = launches[0], launches[-1]
            if first is not None and last is not None:
                yield Finding(
                    last.range,
                    f"This is launch {len(launches)} of {last.kernel} with one grid and the same "
                    "numbers, on other tensors; one launch over all of them would fill the chip "
                    "better.",
                    last.kernel,
                    related=(Related("first launched here", first.range),),
                )


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
