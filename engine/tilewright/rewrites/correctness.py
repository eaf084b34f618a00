"""Rewrites of faults: tanh that overflows to NaN, offsets that overflow 32 bits."""

import ast

from tilewright.analysis.detectors.correctness.loop_masks import FixedMask, fixed_masks
from tilewright.analysis.detectors.correctness.number_methods import methods_of_numbers
from tilewright.analysis.detectors.correctness.waits import plain_waits
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.rewrites.calls import imports, local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.scope import (
    assignments,
    at_issue,
    block_of,
    is_tl_call,
    kernel_named,
    names_in,
    only_value,
    parameters,
    parents,
    reaching_names,
    same,
    statement_of,
    statements,
    uses,
)
from tilewright.source.model import Kernel, Module

_BARRIER = "triton.language.debug_barrier"
_WHERE = "triton.language.where"
_LARGE = 20.0
"""Where torch.nn.functional.softplus gives its argument back: 1 + exp(20) is exp(20) in fp32."""


@rewrite("unstable_tanh", "Write tanh so that it cannot overflow", Numerics.REASSOCIATING)
def stable_tanh(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = kernel_named(module, issue)
    nodes = [n for n in ast.walk(kernel.node) if isinstance(n, ast.BinOp)]
    ratios = [n for n in nodes if isinstance(n.op, ast.Div) and _parts(n) is not None]
    found = at_issue(module, issue, ratios)
    if not found:
        raise RefusedError("there is no tanh written with exponentials here")
    ratio = found[0]
    assert isinstance(ratio, ast.BinOp)
    patch = Patch(module)
    doubled = _doubled_argument(module, kernel, patch, ratio)
    if doubled is None:
        raise RefusedError("this ratio is not shown to be a tanh of values that stay as they are")
    text, call = doubled
    prefix = patch.source(call.func).removesuffix("exp")
    tanh = f"2 * {prefix}sigmoid({text}) - 1"
    statement = statement_of(kernel.node, ratio)
    bare = isinstance(statement, ast.Assign) and statement.value is ratio
    start, end = patch.span(ratio)
    wrapped = patch.text[start - 1 : start] == "(" and patch.text[end : end + 1] == ")"
    patch.replace(ratio, tanh if bare or wrapped else f"({tanh})")
    _drop_unused_exponentials(kernel, patch, ratio)
    return patch.apply()


def _parts(ratio: ast.BinOp) -> tuple[ast.expr, ast.expr] | None:
    """``(p, q)`` of ``(p - q) / (p + q)``, whichever way round the sum stands."""
    match ratio:
        case ast.BinOp(
            left=ast.BinOp(left=p, op=ast.Sub(), right=q),
            right=ast.BinOp(left=a, op=ast.Add(), right=b),
        ) if (same(p, a) and same(q, b)) or (same(p, b) and same(q, a)):
            return p, q
    return None


def _doubled_argument(
    module: Module, kernel: Kernel, patch: Patch, ratio: ast.BinOp
) -> tuple[str, ast.Call] | None:
    """The source of ``2x`` when the ratio is tanh(x), and the call of exp it was found in."""
    parts = _parts(ratio)
    assert parts is not None
    first, second = (_exponential(module, kernel, part) for part in parts)
    if first is not None and _is_one(parts[1]):
        return patch.source(first.args[0]), first
    if second is not None and _is_one(parts[0]):
        inner = _negated(second.args[0])
        return None if inner is None else (patch.source(inner), second)
    if first is not None and second is not None:
        inner = _negated(second.args[0])
        if inner is not None and same(inner, first.args[0]):
            text = patch.source(inner)
            simple = isinstance(inner, ast.Name | ast.Call | ast.Attribute)
            return f"2 * {text if simple else f'({text})'}", first
    return None


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _exponential(module: Module, kernel: Kernel, node: ast.expr) -> ast.Call | None:
    """``exp(v)`` itself, or the one a name was set to once, of values set once as well."""
    if isinstance(node, ast.Name):
        value = only_value(kernel.node, node.id)
        if value is None or not _settled(kernel, value):
            return None
        node = value
    is_exp = isinstance(node, ast.Call) and is_tl_call(module, node, "exp") and len(node.args) == 1
    return node if is_exp and isinstance(node, ast.Call) else None


def _settled(kernel: Kernel, value: ast.expr) -> bool:
    """Whether every name of a value is set once, so that it means the same further down."""
    given = parameters(kernel.node)
    return all(
        len(assignments(kernel.node, name)) <= (0 if name in given else 1)
        for name in names_in(value)
    )


def _negated(node: ast.expr) -> ast.expr | None:
    """``v`` of ``-v`` and the whole of ``-2 * v`` without its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    return None


def _drop_unused_exponentials(kernel: Kernel, patch: Patch, ratio: ast.BinOp) -> None:
    """Remove the statements that set a name which only the ratio read."""
    inside = {id(n) for n in ast.walk(ratio)}
    parts = {part.id for part in _parts(ratio) or () if isinstance(part, ast.Name)}
    for name in sorted(parts):
        sets = assignments(kernel.node, name)
        reads = uses(kernel.node, name)
        if len(sets) == 1 and reads and all(id(n) in inside for n in reads):
            plain = isinstance(sets[0], ast.Assign) and len(sets[0].targets) == 1
            single = plain and isinstance(getattr(sets[0], "targets", [None])[0], ast.Name)
            if single and patch.owns_lines(sets[0]):
                patch.delete_lines(sets[0])


@rewrite("int32_offset_overflow", "Compute the offset in 64 bits", Numerics.EXACT)
def wide_offsets(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """A program id in 64 bits makes every product with it 64 bits wide."""
    kernel = kernel_named(module, issue)
    ids = _ids_behind(module, kernel, issue)
    if not ids:
        raise RefusedError("the offset does not come from a program id that is still 32 bits wide")
    ranges = [n for n in ast.walk(kernel.node) if isinstance(n, ast.For)]
    bounds = ast.Tuple([loop.iter for loop in ranges], ast.Load())
    reaching = reaching_names(kernel.node, bounds)
    for name, _ in ids:
        if name in reaching:
            raise RefusedError(f"{name} also bounds a loop, whose index would change its type")
    patch = Patch(module)
    for _, call in ids:
        prefix = patch.source(call.func).removesuffix("program_id")
        patch.replace(call, f"{patch.source(call)}.to({prefix}int64)")
    return patch.apply()


def _ids_behind(module: Module, kernel: Kernel, issue: Issue) -> list[tuple[str, ast.Call]]:
    touched = at_issue(module, issue, list(statements(kernel.node)))
    simple = [s for s in touched if isinstance(s, ast.Assign | ast.AugAssign | ast.Expr)]
    names = reaching_names(kernel.node, ast.Module(list(simple), []))
    found: list[tuple[str, ast.Call]] = []
    for statement in statements(kernel.node):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                if name in names and is_tl_call(module, call, "program_id"):
                    found.append((name, call))
    return found


@rewrite("method_not_called", "Call the method", Numerics.EXACT)
def call_method(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """``x.is_contiguous()`` where the method itself is asked."""
    nodes = [n for n in ast.walk(module.tree) if isinstance(n, ast.Attribute)]
    asked = [n for n in nodes if module.index.range_of(n) == issue.range]
    called = {id(n.func) for n in ast.walk(module.tree) if isinstance(n, ast.Call)}
    if not asked or id(asked[0]) in called:
        raise RefusedError("there is no method here that is not called")
    patch = Patch(module)
    end = patch.span(asked[0])[1]
    patch.splice(end, end, "()")
    return patch.apply()


@rewrite("call_outside_kernel", "Call the host's function", Numerics.EXACT)
def call_host_cdiv(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """``triton.cdiv`` for ``tl.cdiv`` in host code."""
    nodes = [n for n in ast.walk(module.tree) if isinstance(n, ast.Call)]
    calls = [n for n in nodes if is_tl_call(module, n, "cdiv")]
    found = [call for call in calls if at_issue(module, issue, [call])]
    if not found or not imports(module, "triton"):
        raise RefusedError("only tl.cdiv has a counterpart in triton, and it has to be imported")
    patch = Patch(module)
    patch.replace(found[0].func, local_name(module, "triton.cdiv"))
    return patch.apply()


@rewrite("wait_on_load", "Ask by an atomic", Numerics.EXACT)
def wait_by_atomic(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """``tl.atomic_add(pointer, 0)`` for the load that a loop waits on."""
    kernel = kernel_named(module, issue)
    loops = [node for node in ast.walk(kernel.node) if isinstance(node, ast.While)]
    loads = [load for loop in loops for load in plain_waits(module, kernel, loop)]
    found = at_issue(module, issue, loads)
    load = next((load for load in loads if load in found), None)
    if load is None:
        raise RefusedError("the load was not found")
    if len(load.args) != 1 or any(keyword.arg == "mask" for keyword in load.keywords):
        raise RefusedError("a load with a mask has no counterpart")
    patch = Patch(module)
    atomic = local_name(module, "triton.language.atomic_add")
    patch.replace(load, f"{atomic}({patch.source(load.args[0])}, 0)")
    return patch.apply()


@rewrite("method_of_number", "Cast by the function", Numerics.EXACT)
def cast_by_function(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """``tl.cast(n, tl.int64)`` for ``n.to(tl.int64)``, everywhere in the kernel."""
    kernel = kernel_named(module, issue)
    casts = list(methods_of_numbers(kernel, flow_of(module, kernel)))
    found = at_issue(module, issue, [call for call, _ in casts])
    named = next((parameter for call, parameter in casts if call in found), None)
    if named is None:
        raise RefusedError("the call was not found")
    patch = Patch(module)
    for call, parameter in casts:
        if parameter is named:
            start = patch.source(call.func)
            rest = patch.source(call).removeprefix(start).lstrip().removeprefix("(")
            function = local_name(module, "triton.language.cast")
            patch.replace(call, f"{function}({named.name}, {rest}")
    return patch.apply()


@rewrite("mask_of_first_block", "Compare with what is left of the extent", Numerics.EXACT)
def move_mask(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """``offs < K - k * B`` for ``offs < K``, in every access of the loop that asks so."""
    kernel = kernel_named(module, issue)
    masks = list(fixed_masks(flow_of(module, kernel)))
    found = at_issue(module, issue, [mask.access.node for mask in masks])
    named = next((mask for mask in masks if mask.access.node in found), None)
    if named is None:
        raise RefusedError("the access was not found")
    patch = Patch(module)
    for mask in masks:
        if mask.loop is named.loop:
            rest = mask.rest()
            ends = _asked_ends(mask)
            if rest is None or len(ends) != 1:
                raise RefusedError(
                    "the mask is made outside of the access, or the loop's index has no name"
                )
            patch.replace(ends[0], rest)
    return patch.apply()


def _asked_ends(mask: FixedMask) -> list[ast.expr]:
    """The extent in ``offs < K``, in the text of an access itself."""
    given = [k.value for k in mask.access.node.keywords if k.arg == "mask"]
    given += mask.access.node.args[1:2]
    return [
        compare.comparators[0]
        for node in given
        for compare in ast.walk(node)
        if isinstance(compare, ast.Compare)
        and len(compare.ops) == 1
        and isinstance(compare.ops[0], ast.Lt)
        and isinstance(compare.comparators[0], ast.Name)
        and compare.comparators[0].id == mask.extent.detail
    ]


@rewrite("missing_barrier", "Wait for the other threads before the load", Numerics.EXACT)
def add_barrier(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """A barrier in front of the statement that reads back what other threads stored."""
    kernel = kernel_named(module, issue)
    loads = {access.node: access for access in flow_of(module, kernel).loads}
    found = at_issue(module, issue, list(loads))
    statement = statement_of(kernel.node, found[0]) if found else None
    if statement is None:
        raise RefusedError("the statement that reads the value back was not found")
    (pointer,) = (load.pointer for node, load in loads.items() if node is found[0])
    if "program_id" not in pointer.operations:
        raise RefusedError("all programs read this place, and none waits for another at a barrier")
    patch = Patch(module)
    if not patch.owns_lines(statement) or isinstance(statement, ast.While):
        raise RefusedError("there is no place for a statement of its own in front of the load")
    if _waits_before(module, kernel, statement):
        raise RefusedError("there is a barrier in front of the load")
    start = patch.line_start(statement.lineno)
    barrier = f"{local_name(module, _BARRIER)}()"
    patch.splice(start, start, f"{patch.indent(statement)}{barrier}{patch.newline}")
    return patch.apply()


def _waits_before(module: Module, kernel: Kernel, statement: ast.stmt) -> bool:
    """Whether the statement in front of one is a barrier."""
    block = block_of(kernel.node, statement)
    before = block[block.index(statement) - 1] if block.index(statement) else None
    return isinstance(before, ast.Expr) and is_tl_call(module, before.value, "debug_barrier")


@rewrite("unstable_softplus", "Take the argument itself where it is large", Numerics.REASSOCIATING)
def guard_softplus(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """The argument itself where the exponential would overflow, as torch's softplus has it."""
    kernel = kernel_named(module, issue)
    calls = [n for n in ast.walk(kernel.node) if isinstance(n, ast.Call)]
    found = [
        (call, argument)
        for call in calls
        if (argument := softplus_argument(module, call)) is not None
    ]
    at = at_issue(module, issue, [call for call, _ in found])
    if not at:
        raise RefusedError("the logarithm is not one of 1 + exp(x), with x spelled out in it")
    call, argument = next(pair for pair in found if pair[0] is at[0])
    around = parents(kernel.node, call)
    if any(is_tl_call(module, node, "where") for node in around):
        raise RefusedError("a condition chooses between this logarithm and something else")
    patch = Patch(module)
    x = patch.source(argument)
    compared = x if isinstance(argument, ast.Name | ast.Call | ast.Attribute) else f"({x})"
    where = local_name(module, _WHERE)
    patch.replace(call, f"{where}({compared} > {_LARGE}, {x}, {patch.source(call)})")
    return patch.apply()


def softplus_argument(module: Module, call: ast.Call) -> ast.expr | None:
    """``x`` of ``log(1 + exp(x))``, either way round, in one base."""
    for log, exp in (("log", "exp"), ("log2", "exp2")):
        if not is_tl_call(module, call, log) or len(call.args) != 1 or call.keywords:
            continue
        match call.args[0]:
            case ast.BinOp(left=one, op=ast.Add(), right=power) if _is_one(one):
                pass
            case ast.BinOp(left=power, op=ast.Add(), right=one) if _is_one(one):
                pass
            case _:
                return None
        if isinstance(power, ast.Call) and is_tl_call(module, power, exp):
            return power.args[0] if len(power.args) == 1 and not power.keywords else None
    return None
