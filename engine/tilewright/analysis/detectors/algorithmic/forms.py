"""Detectors of expressions that have a better or safer spelling."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import Reports, detector, kernel_detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.tiles import Tiles, tiles_of
from tilewright.analysis.values import Flow, Value, walk
from tilewright.python_syntax import descendants, is_name
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import Target

_EXP = (TL + "exp", TL + "math.exp")
_LOGS = tuple(f"{TL}{name}" for name in ("log", "math.log", "math.log1p"))
_SMALL = tuple(f"{TL}{name}" for name in ("sigmoid", "sin", "cos", "erf", "math.tanh"))
_STATED = {"acc", "out_dtype", "max_num_imprecise_acc", None}
_BOUNDED = (TL + "abs", TL + "math.abs", TL + "minimum", TL + "maximum", TL + "clamp")


@detector("dot_accumulator")
def dot_accumulator(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``acc += tl.dot(a, b)`` of fp8 tiles in a loop, on the chip where that sum stays apart."""
    if context.target is None or not _leaves_fp8_sums_apart(context.target):
        return
    for kernel, flow in triton_kernels(module):
        if not any(True for _ in flow.calls(TL + "dot")):
            continue
        tiles = tiles_of(module, kernel, context)
        for name, definitions in flow.definitions.items():
            for definition in definitions:
                dot = _added_dot(module, definition.statement, name)
                if dot is None or not definition.loops:
                    continue
                product = flow.values.get(dot)
                before = _other_addend(definition.value, product)
                if product is None or before is None or before.op != "phi":
                    continue
                if tiles.facts_of(before).dtype in (None, "fp32") and _multiplies_fp8(
                    tiles, product
                ):
                    yield Finding(
                        module.index.range_of(definition.statement),
                        f"The fp8 products are added to {name} outside the tensor core, an "
                        f"addition for each element in every iteration; tl.dot(..., {name}) saves "
                        "it, if the fewer bits of this core's fp8 accumulator are enough.",
                        kernel.name,
                    )


def _leaves_fp8_sums_apart(target: Target) -> bool:
    """Hopper alone: Triton hands every other sum of a product to the matrix instruction."""
    digits = "".join(c for c in target.arch if c.isdigit())
    return target.backend == "cuda" and digits == "90"


def _multiplies_fp8(tiles: Tiles, product: Value) -> bool:
    return all((tiles.facts_of(o).dtype or "").startswith("fp8") for o in product.positional[:2])


def _added_dot(module: Module, statement: ast.stmt, name: str) -> ast.Call | None:
    """The bare dot in ``name += dot`` or ``name = name + dot``."""
    candidates: list[ast.expr] = []
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        candidates = [statement.value]
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        sum_ = statement.value
        if isinstance(sum_.op, ast.Add):
            if is_name(sum_.left, name):
                candidates = [sum_.right]
            elif is_name(sum_.right, name):
                candidates = [sum_.left]
    for node in candidates:
        if isinstance(node, ast.Call) and module.names.is_call(node, TL + "dot"):
            keywords = {k.arg for k in node.keywords}
            if len(node.args) == 2 and not keywords & _STATED:
                return node
    return None


def _other_addend(total: Value, dot: Value | None) -> Value | None:
    if dot is None or not total.is_binary("Add") or dot not in total.operands:
        return None
    one, two = total.operands
    return two if one is dot else one


@kernel_detector("sigmoid_slow_exp", triton_kernels)
def sigmoid_slow_exp(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """``1 / (1 + tl.exp(-x))`` written out."""
    if not any(True for _ in flow.calls(*_EXP)):
        return
    for node in nodes_like(kernel.node, ast.BinOp):
        if _is_sigmoid(module, node):
            text = (
                "The sigmoid is spelled with a division and tl.exp; tl.sigmoid says the same "
                "and leaves the form to the backend."
            )
            yield node, text


def _is_sigmoid(module: Module, node: ast.BinOp) -> bool:
    """``1 / (1 + exp(-x))``."""
    total = node.right
    if not isinstance(node.op, ast.Div) or not _is_one(node.left):
        return False
    if not isinstance(total, ast.BinOp) or not isinstance(total.op, ast.Add):
        return False
    power = total.right if _is_one(total.left) else total.left if _is_one(total.right) else None
    if not isinstance(power, ast.Call) or not module.names.is_call(power, *_EXP):
        return False
    return len(power.args) == 1 and not power.keywords and _is_negated(power.args[0])


def _is_negated(node: ast.expr) -> bool:
    """``-x``, also ``-a * b``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        node = node.left
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == 1


@kernel_detector("unstable_tanh", triton_kernels)
def unstable_tanh(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """tanh as a quotient of exponentials that overflow together."""
    if not any(True for _ in flow.calls(*_EXP)) or _is_chosen_by_callers(module, kernel):
        return
    for node in nodes_like(kernel.node, ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        value = flow.values.get(node)
        if value is None or not _is_tanh(value):
            continue
        text = (
            "tanh as a quotient of exponentials gives infinity over infinity, NaN, for an "
            "argument that makes tl.exp overflow (above about 88 in fp32)."
        )
        yield node, text


def _is_chosen_by_callers(module: Module, kernel: Kernel) -> bool:
    """Whether each call of a function of kernels stands in a choice by its argument."""
    calls, chosen = set[int](), set[int]()
    for caller in module.callers_of(kernel):
        for call in nodes_like(caller.node, ast.Call):
            if isinstance(call.func, ast.Name) and call.func.id == kernel.name:
                calls.add(id(call))
            elif module.names.is_call(call, f"{TL}where"):
                chosen |= {id(node) for part in call.args[1:] for node in descendants(part)}
    return bool(calls) and calls <= chosen


def _is_tanh(value: Value) -> bool:
    """``(exp(a) - exp(-a)) / (exp(a) + exp(-a))``, or with ``exp(2a)`` and 1."""
    if not value.is_binary("Div"):
        return False
    above, below = value.operands
    if above.is_binary("Mult"):
        # ``cap * (exp(a) - exp(-a)) / (exp(a) + exp(-a))`` is a product over a sum.
        above = next((part for part in above.operands if part.is_binary("Sub")), above)
    if not above.is_binary("Sub") or not below.is_binary("Add"):
        return False
    one, two = above.operands
    if set(below.operands) != {one, two}:
        return False
    if _unbounded_exp(one) and _unbounded_exp(two):
        return _opposite(one.operands[0], two.operands[0])
    return (_is_one_value(two) and _unbounded_exp(one)) or (
        _is_one_value(one) and _unbounded_exp(two)
    )


@kernel_detector("unstable_softplus", triton_kernels)
def unstable_softplus(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """``log(1 + exp(x))`` of values that nothing keeps from growing.

    Of a helper that stores nothing the callers may choose the argument where it is large, unless a
    decorator of the project's own makes the kernel that stores its result.
    """
    is_helper = not flow.writes and not kernel.other_decorators
    if is_helper or not any(True for _ in flow.calls(*_EXP)):
        return
    chosen: set[Value] | None = None
    for node, value, _ in flow.calls(*_LOGS):
        power = _added_to_one(value)
        if power is None or not _unbounded_exp(power) or any(map(_is_small, walk(power))):
            continue
        chosen = _choices(flow) if chosen is None else chosen
        if value in chosen:
            continue
        text = (
            "The logarithm of one plus an exponential is infinite for an argument that makes "
            "tl.exp overflow (above about 88 in fp32), where the result is the argument."
        )
        yield node, text


def _is_small(part: Value) -> bool:
    """Whether a part of an exponent may keep it from growing.

    A difference is one from the greatest value, in most cases.
    """
    is_square = part.is_binary("Mult") and part.operands[0] is part.operands[1]
    is_chosen = part.op == "select" or part.is_call(TL + "where")
    return part.is_binary("Sub") or is_square or is_chosen or part.is_call(*_SMALL)


def _added_to_one(value: Value) -> Value | None:
    """The exponential in ``log(1 + exp(x))`` or ``log1p(exp(x))``."""
    inner = value.positional[0] if value.positional else value
    if str(value.detail).endswith("log1p"):
        return inner
    if inner.is_binary("Add"):
        for one, two in (inner.operands, inner.operands[::-1]):
            if _is_one_value(one):
                return two
    return None


def _choices(flow: Flow) -> set[Value]:
    """What a condition chooses between: there the large values may take the other side."""
    found = set[Value]()
    pending = [
        part
        for value in flow.values.values()
        if (value.op == "select" or value.is_call(TL + "where")) and not _fills(value)
        for part in value.operands
    ]
    while pending:
        part = pending.pop()
        if part not in found:
            found.add(part)
            pending.extend(part.operands)
    return found


def _fills(value: Value) -> bool:
    """Whether a choice puts a number where a mask of lanes leaves them out: it bounds no value."""
    if len(value.operands) != 3 or value.operands[2].op != "const":
        return False
    return not value.operands[0].operations & {"load", "opaque", "call", "phi"}


def _is_one_value(value: Value) -> bool:
    return value.op == "const" and type(value.detail) in (int, float) and value.detail == 1


def _unbounded_exp(value: Value) -> bool:
    """exp of something that no abs, minimum, clamp or choice of a number keeps from growing."""
    if not value.is_call(*_EXP):
        return False
    return not any(
        part.is_call(*_BOUNDED) or part.op == "opaque" or _chooses_number(part)
        for part in walk(value)
    )


def _chooses_number(part: Value) -> bool:
    """``tl.where(x > 10.0, 10.0, x)``, or a magnitude: ``tl.where(x >= 0, x, -x)``."""
    if not part.is_call(TL + "where") or len(part.positional) != 3:
        return False
    _, one, two = part.positional
    is_magnitude = _opposite(one, two) or _opposite(two, one)
    return is_magnitude or any(value.op == "const" for value in (one, two))


def _opposite(one: Value, two: Value) -> bool:
    return two.op == "unary" and two.detail == "USub" and two.operands[0] is one
