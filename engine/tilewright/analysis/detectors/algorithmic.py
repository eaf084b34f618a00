"""Detectors of the algorithmic stage: work done more often, or less safely, than needed."""

import ast
from collections.abc import Iterator
from itertools import combinations

from tilewright.analysis.bases import pointer_base
from tilewright.analysis.detectors.common import (
    TL,
    assigned_name,
    context_numbers,
    first_line,
    is_plain_load,
    loads_in,
    loop_span,
    may_overwrite,
    nodes_of,
    source_of,
    triton_kernels,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.dtypes import dtype_of, element_types
from tilewright.analysis.forms import same_form
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.numbers import number_of
from tilewright.analysis.shapes import shape_of
from tilewright.analysis.values import Access, Flow, Loop, Value, walk
from tilewright.source.model import Kernel, Module
from tilewright.source.text import Range

_EXP = (TL + "exp", TL + "math.exp")
_LONGEST_RESIDENT_ROW = 32768
_BOUNDED = (TL + "abs", TL + "math.abs", TL + "minimum", TL + "maximum", TL + "clamp")


@detector("dot_accumulator")
def dot_accumulator(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``acc += tl.dot(a, b)`` in a loop."""
    for kernel, flow in triton_kernels(module):
        types = element_types(context, kernel.name)
        for name, definitions in flow.definitions.items():
            for definition in definitions:
                dot = _added_dot(module, definition.statement, name)
                if dot is None or not definition.loops:
                    continue
                before = _other_addend(definition.value, flow.values.get(dot))
                known = None if before is None else dtype_of(before, types)
                if before is None or before.op != "phi" or known not in (None, "fp32"):
                    continue
                yield Finding(
                    module.index.range_of(definition.statement),
                    f"The product is added to {name} after tl.dot; handing {name} to tl.dot as "
                    "its accumulator keeps the sum in the tensor core instruction.",
                    kernel.name,
                    data={"accumulator": name},
                )


def _added_dot(module: Module, statement: ast.stmt, name: str) -> ast.Call | None:
    """The bare dot in ``name += dot`` or ``name = name + dot``."""
    candidates: list[ast.expr] = []
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        candidates = [statement.value]
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        sum_ = statement.value
        if isinstance(sum_.op, ast.Add):
            if _is_name(sum_.left, name):
                candidates = [sum_.right]
            elif _is_name(sum_.right, name):
                candidates = [sum_.left]
    for node in candidates:
        if isinstance(node, ast.Call) and module.names.is_call(node, TL + "dot"):
            keywords = {k.arg for k in node.keywords}
            if len(node.args) == 2 and not keywords & {"acc", "out_dtype", None}:
                return node
    return None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _other_addend(total: Value, dot: Value | None) -> Value | None:
    if dot is None or not total.is_binary("Add") or dot not in total.operands:
        return None
    one, two = total.operands
    return two if one is dot else one


@detector("loop_invariant_code")
def loop_invariant_code(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A load in a loop that gives the same tile in every turn."""
    for kernel, flow in triton_kernels(module):
        for access in flow.loads:
            if not access.loops or not is_plain_load(access):
                continue
            loop = flow.loops[access.loops[-1]]
            if isinstance(loop.node, ast.While) or access.branches != loop.branches:
                continue
            if not _is_invariant(access, loop.number):
                continue
            bases = {access.base} | {pointer_base(v.operands[0]) for v in _address_loads(access)}
            if may_overwrite(module, kernel, flow, bases, *loop_span(flow, loop.number)):
                continue
            yield Finding(
                module.index.range_of(access.node),
                "This load reads the same addresses in every turn of the loop; memory may change "
                "in principle, so the compiler repeats it.",
                kernel.name,
                related=(Related("the loop", _head(module, loop)),),
                data={"name": assigned_name(access) or "", "loop_line": str(loop.node.lineno)},
            )


def _is_invariant(access: Access, loop: int) -> bool:
    parts = (access.pointer, access.mask, access.other)
    return all(part is None or part.is_invariant_in(loop) for part in parts)


def _address_loads(access: Access) -> Iterator[Value]:
    return loads_in(access.pointer, access.mask, access.other)


def _head(module: Module, loop: Loop) -> Range:
    return first_line(module, loop.node)


@detector("redundant_computation")
def redundant_computation(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """The same load twice, the first still valid at the second."""
    for kernel, flow in triton_kernels(module):
        seen: set[Access] = set()
        for first, second in combinations(flow.loads, 2):
            if second in seen or not _repeats(first, second):
                continue
            if _loop_between(flow, first.order, second.order):
                continue
            bases = {second.base} | {pointer_base(v.operands[0]) for v in _address_loads(second)}
            if may_overwrite(module, kernel, flow, bases, first.order, second.order):
                continue
            seen.add(second)
            line = first.node.lineno
            yield Finding(
                module.index.range_of(second.node),
                f"The tile loaded here was loaded from the same addresses on line {line}, and "
                "nothing is written between.",
                kernel.name,
                related=(Related("first loaded here", module.index.range_of(first.node)),),
                data={
                    "first": assigned_name(first) or "",
                    "second": assigned_name(second) or "",
                    "first_line": str(line),
                },
            )


def _repeats(first: Access, second: Access) -> bool:
    return (
        first.pointer is second.pointer
        and first.mask is second.mask
        and first.other is second.other
        and first.loops == second.loops
        and second.branches[: len(first.branches)] == first.branches
        and is_plain_load(first)
        and is_plain_load(second)
        and _options(first) == _options(second)
    )


def _options(access: Access) -> set[str | None]:
    return {k.arg for k in access.node.keywords} - {"mask", "other", "eviction_policy"}


def _loop_between(flow: Flow, first: int, second: int) -> bool:
    return any(first < number < second for number in flow.loops)


@detector("multi_pass_row")
def multi_pass_row(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Loops over the same row, one after another, that load the same elements again."""
    for kernel, flow in triton_kernels(module):
        for group in _sibling_loops(flow):
            repeats = [
                (one, two)
                for first, later in combinations(group, 2)
                for one, two in _reloads(module, kernel, flow, first, later)
            ]
            if not repeats:
                continue
            first, again = repeats[0][0], repeats[0][1]
            reading = {a.loops[-1] for pair in repeats for a in pair}
            if _exceeds_a_block(context, kernel, group[0]):
                continue
            yield Finding(
                module.index.range_of(again.node),
                f"The row is read from memory {len(reading)} times, once in each of "
                f"{len(reading)} loops over it; a row that fits one block needs one pass.",
                kernel.name,
                related=(
                    Related("first read here", module.index.range_of(first.node)),
                    *(
                        Related("a pass over the row", _head(module, loop))
                        for loop in group
                        if loop.number in reading
                    ),
                ),
                data=_row_data(group),
            )


def _exceeds_a_block(context: AnalysisContext, kernel: Kernel, loop: Loop) -> bool:
    """Whether a captured launch has rows too long to hold in one program's registers."""
    if loop.bounds is None or loop.bounds[2].op != "param":
        return False
    lengths = (number_of(loop.bounds[1], n) for n in context_numbers(context, kernel.name))
    return any(length is not None and length > _LONGEST_RESIDENT_ROW for length in lengths)


def _row_data(group: list[Loop]) -> dict[str, str]:
    bounds = group[0].bounds
    stop, step = (bounds[1], bounds[2]) if bounds else (None, None)
    return {
        "loops": ",".join(str(loop.node.lineno) for loop in group),
        "bound": str(stop.detail) if stop is not None and stop.op == "param" else "",
        "block": str(step.detail) if step is not None and step.op == "param" else "",
    }


def _sibling_loops(flow: Flow) -> Iterator[list[Loop]]:
    """Loops with equal bounds in the same block, two or more, none of them with a dot."""
    groups: dict[tuple[object, ...], list[Loop]] = {}
    with_dot = {loop for _, _, loops in flow.calls(TL + "dot") for loop in loops}
    for loop in flow.loops.values():
        if loop.bounds is not None and not loop.is_static and loop.number not in with_dot:
            key = (loop.parent, loop.branches, *map(id, loop.bounds))
            groups.setdefault(key, []).append(loop)
    return (group for group in groups.values() if len(group) > 1)


def _reloads(
    module: Module, kernel: Kernel, flow: Flow, first: Loop, later: Loop
) -> Iterator[tuple[Access, Access]]:
    for one in _row_loads(flow, first):
        for two in _row_loads(flow, later):
            if one.base is None or one.base != two.base:
                continue
            if not same_form(one.pointer, two.pointer, {first.number: later.number}):
                continue
            if not may_overwrite(module, kernel, flow, {two.base}, one.order, two.order):
                yield one, two


def _row_loads(flow: Flow, loop: Loop) -> Iterator[Access]:
    """One-dimensional loads directly in a loop that move along with its index."""
    for access in flow.loads:
        if access.loops and access.loops[-1] == loop.number and is_plain_load(access):
            shape = shape_of(access.pointer)
            moves = any(
                v.op == "loop_index" and v.detail == loop.number for v in walk(access.pointer)
            )
            if moves and shape is not None and len(shape) == 1 and not _indirect(access):
                yield access


def _indirect(access: Access) -> bool:
    return any(True for _ in loads_in(access.pointer))


@detector("sigmoid_slow_exp")
def sigmoid_slow_exp(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``1 / (1 + tl.exp(-x))`` written out."""
    for kernel, _ in triton_kernels(module):
        for node in nodes_of(kernel.node):
            argument = _spelled_sigmoid(module, node)
            if argument is not None and isinstance(node, ast.BinOp):
                yield Finding(
                    module.index.range_of(node),
                    "The sigmoid is spelled with a division and tl.exp; tl.sigmoid says the same "
                    "and leaves the form to the backend.",
                    kernel.name,
                    data={"argument": argument},
                )


def _spelled_sigmoid(module: Module, node: ast.AST) -> str | None:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return None
    if not _is_one(node.left) or not isinstance(node.right, ast.BinOp):
        return None
    total = node.right
    if not isinstance(total.op, ast.Add):
        return None
    power = total.right if _is_one(total.left) else total.left if _is_one(total.right) else None
    if power is None or not isinstance(power, ast.Call):
        return None
    if not module.names.is_call(power, *_EXP) or len(power.args) != 1 or power.keywords:
        return None
    return _negated(module, power.args[0])


def _negated(module: Module, node: ast.expr) -> str | None:
    """The text of x in ``-x``; also of ``a * b`` in ``-a * b``."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return source_of(module, node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        left = node.left
        if isinstance(left, ast.UnaryOp) and isinstance(left.op, ast.USub):
            sign = "*" if isinstance(node.op, ast.Mult) else "/"
            return f"{source_of(module, left.operand)} {sign} {source_of(module, node.right)}"
    return None


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == 1


@detector("unstable_tanh")
def unstable_tanh(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """tanh as a quotient of exponentials that overflow together."""
    for kernel, flow in triton_kernels(module):
        for node in nodes_of(kernel.node):
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
                continue
            value = flow.values.get(node)
            found = None if value is None else _tanh_form(value)
            if found is None:
                continue
            form, exponent = found
            yield Finding(
                module.index.range_of(node),
                "tanh as a quotient of exponentials gives infinity over infinity, NaN, for an "
                "argument that makes tl.exp overflow (above about 88 in fp32).",
                kernel.name,
                data={"form": form, "argument": _exponent_text(module, node, flow, exponent)},
            )


def _tanh_form(value: Value) -> tuple[str, Value] | None:
    """Which spelling, and the exponent x of its exp(x)."""
    if not value.is_binary("Div"):
        return None
    above, below = value.operands
    if not above.is_binary("Sub") or not below.is_binary("Add"):
        return None
    one, two = above.operands
    if set(below.operands) != {one, two}:
        return None
    if _is_one_value(two) and _unbounded_exp(one):
        return "exp2x", one.operands[0]
    if _is_one_value(one) and _unbounded_exp(two):
        return "exp-2x", two.operands[0]
    if _unbounded_exp(one) and _unbounded_exp(two) and _opposite(one.operands[0], two.operands[0]):
        return "exp-exp", one.operands[0]
    return None


def _is_one_value(value: Value) -> bool:
    return value.op == "const" and type(value.detail) in (int, float) and value.detail == 1


def _unbounded_exp(value: Value) -> bool:
    """exp of something that no abs, minimum or clamp keeps from growing."""
    if not value.is_call(*_EXP):
        return False
    return not any(part.is_call(*_BOUNDED) or part.op == "opaque" for part in walk(value))


def _opposite(one: Value, two: Value) -> bool:
    return two.op == "unary" and two.detail == "USub" and two.operands[0] is one


def _exponent_text(module: Module, node: ast.BinOp, flow: Flow, exponent: Value) -> str:
    """The exponent as written inside the quotient; "" where the exp has a name of its own."""
    for child in ast.walk(node):
        arguments = child.args if isinstance(child, ast.Call) else []
        if len(arguments) == 1 and flow.values.get(arguments[0]) is exponent:
            return source_of(module, arguments[0])
    return ""
