"""Several passes over one row become one: the block spans the row, which is then read once.

A loop whose block covers its whole range runs its body once, with the index at zero. Loads
that two passes repeat are then repeated in straight-line code, where the second can go.
"""

import ast
import re
from collections.abc import Iterator

from tilewright.analysis.equal_values import EqualValues
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.rewrites.calls import append_keywords, imports, local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.padding import masked_around
from tilewright.rewrites.row_loops import Masking, RowLoop, RowPasses, row_loops, row_passes
from tilewright.rewrites.scope import (
    argument_facts,
    assignments,
    at_issue,
    block_of,
    host_scope,
    is_tl_call,
    kernel_named,
    statements,
    targets_of,
    uses,
)
from tilewright.rewrites.tiles import coverage
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.parse import parse_module

LARGEST_ROW = 32768
"""Elements of the longest row that is kept resident: beyond it registers spill on every chip."""


def warps_for_row(elements: int) -> int:
    """Warps for a resident row: enough that a thread holds at most about 32 elements."""
    if elements <= 2048:
        return 4
    return 8 if elements <= 8192 else 16


@rewrite(
    "multi_pass_row",
    "Read the row once and keep it in registers",
    Numerics.REASSOCIATING,
    needs_launch=True,
)
def single_pass_row(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = kernel_named(module, issue)
    passes = _passes_at(module, kernel, issue)
    _check_launch(module, kernel, passes)
    longest = _longest_row(context, kernel, passes.extent)
    module = parse_module(_straightened(module, passes), module.path)
    patch = Patch(module)
    _drop_repeats(module, kernel, passes, patch)
    _fit_launch(module, module.launches_of(kernel.name)[0], passes, longest, patch)
    return patch.apply()


def _passes_at(module: Module, kernel: Kernel, issue: Issue) -> RowPasses:
    loops = [loop.node for loop in row_loops(module, kernel)]
    touched = at_issue(module, issue, loops) or loops
    if not touched:
        raise RefusedError("there is no loop over a row here")
    first = touched[0]
    assert isinstance(first, ast.For)
    return row_passes(module, kernel, first)


def _check_launch(module: Module, kernel: Kernel, passes: RowPasses) -> None:
    launches = module.launches_of(kernel.name)
    block = passes.block
    if len(launches) != 1:
        raise RefusedError(f"{kernel.name} has {len(launches)} launches in the file; one is needed")
    if kernel.autotune is not None or block in kernel.heuristics:
        raise RefusedError(f"{block} is chosen by a decorator")
    if block in coverage(kernel, module):
        raise RefusedError(f"{block} also decides which part of the output a program writes")
    launch = launches[0]
    if not launch.is_complete or passes.extent not in launch.arguments:
        raise RefusedError(f"the launch does not show what {passes.extent} is")
    if not imports(module, "triton"):
        raise RefusedError("the file does not import triton, whose next_power_of_2 is needed")


def _longest_row(context: AnalysisContext, kernel: Kernel, extent: str) -> int:
    values = [a.value for a in argument_facts(context, kernel.name, extent)]
    rows = [v for v in values if type(v) is int]
    if not rows:
        raise RefusedError(f"the length of a row ({extent}) is not known: no launch was captured")
    longest = max(rows)
    if longest > LARGEST_ROW:
        raise RefusedError(f"a row has {longest} elements, more than the {LARGEST_ROW} that fit")
    return longest


def _straightened(module: Module, passes: RowPasses) -> str:
    """The text with each loop replaced by its body at index zero."""
    inner, outer = Patch(module), Patch(module)
    for masking in passes.maskings:
        _mask(module, inner, masking)
    for loop in passes.loops:
        for statement in loop.node.body:
            _zero_index(inner, statement, loop)
        _splice_body(inner, outer, loop)
    return outer.apply()


def _drop_repeats(module: Module, looped: Kernel, passes: RowPasses, patch: Patch) -> None:
    """Leave out, of what was loops, the statements that compute what a name of theirs holds."""
    kernel = next(k for k in module.kernels if k.name == looped.name)
    flow = flow_of(module, kernel)
    equal = EqualValues(flow)
    given = {d.statement: d for every in flow.definitions.values() for d in every}
    own: set[str] = set()
    for statement, was_in_loop in _region(kernel, looped, passes):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if was_in_loop:
                found = equal.holders(given[statement].value, given[statement])
                holders = [holder for holder in found if holder in own]
                if name in holders and patch.owns_lines(statement):
                    patch.delete_lines(statement)
                elif holders and any(is_tl_call(module, n, "load") for n in ast.walk(value)):
                    patch.replace(value, holders[0])
        own.update(targets_of(statement))


def _region(kernel: Kernel, looped: Kernel, passes: RowPasses) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements from the first pass to the last, and whether they stood in a loop."""
    loops = [loop.node for loop in passes.loops]
    before = block_of(looped.node, loops[0])
    region = before[before.index(loops[0]) : before.index(loops[-1]) + 1]
    first = min(
        (s for s in statements(kernel.node) if s.lineno >= loops[0].lineno), key=lambda s: s.lineno
    )
    after = block_of(kernel.node, first)
    kinds = [s in loops for s in region for _ in (s.body if s in loops else [s])]
    yield from zip(after[after.index(first) :], kinds, strict=False)


def _mask(module: Module, patch: Patch, masking: Masking) -> None:
    prefix = local_name(module, "triton.language.where").removesuffix("where")
    before, after = masked_around(prefix, patch.source(masking.mask), masking.reduction)
    start, end = patch.span(masking.value)
    patch.splice(start, start, before)
    patch.splice(end, end, after)


def _zero_index(patch: Patch, statement: ast.stmt, loop: RowLoop) -> None:
    """Write the loop's index as zero, dropping ``start +`` and ``i * BLOCK +`` altogether."""
    done: set[int] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            if _is_offset(node.left, loop):
                patch.splice(patch.span(node.left)[0], patch.span(node.right)[0], "")
                done.update(id(n) for n in ast.walk(node.left))
            elif _is_offset(node.right, loop):
                patch.splice(patch.span(node.left)[1], patch.span(node.right)[1], "")
                done.update(id(n) for n in ast.walk(node.right))
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id == loop.index and id(node) not in done:
            patch.replace(node, "0")


def _is_offset(node: ast.expr, loop: RowLoop) -> bool:
    match node:
        case ast.Name(id=name):
            return name == loop.index
        case ast.BinOp(left=ast.Name(id=a), op=ast.Mult(), right=ast.Name(id=b)):
            return {a, b} == {loop.index, loop.block}
    return False


def _splice_body(inner: Patch, outer: Patch, loop: RowLoop) -> None:
    """Put the edited body, comments and all, in the loop's place and at its indentation."""
    node = loop.node
    start = inner.line_start(node.lineno)
    body = inner.line_start((node.iter.end_lineno or node.lineno) + 1)
    end = inner.line_start((node.end_lineno or node.lineno) + 1)
    extra = inner.indent(node.body[0])[len(inner.indent(node)) :]
    lead = re.compile(rf"^{re.escape(inner.indent(node) + extra)}", re.MULTILINE)
    outer.splice(start, end, lead.sub(inner.indent(node), inner.rendered(body, end)))


def _fit_launch(
    module: Module, launch: Launch, passes: RowPasses, longest: int, patch: Patch
) -> None:
    """Pass the next power of two as the block, and warps that suit the longest captured row."""
    size = patch.source(launch.arguments[passes.extent])
    block = f"{local_name(module, 'triton.next_power_of_2')}({size})"
    warps = str(warps_for_row(longest))
    new: list[str] = []
    given = launch.arguments.get(passes.block)
    if given is None:
        new.append(f"{passes.block}={block}")
    else:
        patch.replace(given, block)
        _drop_unused(module, launch, given, patch)
    option = launch.options.get("num_warps")
    if option is None:
        new.append(f"num_warps={warps}")
    else:
        patch.replace(option, warps)
    append_keywords(patch, launch.node, new)
    patch.fold(launch.node)


def _drop_unused(module: Module, launch: Launch, given: ast.expr, patch: Patch) -> None:
    """Remove the host's own name for the block when the launch was all that read it."""
    scope = host_scope(module, launch)
    if not isinstance(given, ast.Name) or scope is module.tree:
        return
    sets = assignments(scope, given.id)
    match sets:
        case [ast.Assign(targets=[ast.Name()], value=ast.Constant()) as only]:
            if len(uses(scope, given.id)) == 1 and patch.owns_lines(only):
                patch.delete_lines(only)
