"""Rewrites of the device_specific stage that stay inside one statement."""

import ast
from collections.abc import Iterator

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.rewrites.calls import add_after
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.pointers import pointer_of
from tilewright.rewrites.scope import (
    argument,
    argument_facts,
    assignments,
    at_issue,
    is_tl_call,
    kernel_named,
    keyword,
    names_in,
    statements,
    tl_name,
    value_in,
)
from tilewright.source.model import Kernel, Module

_NARROW_ACCUMULATION = ("*i8", "*u8", "*fp64")


# Hopper sums fp8 products with fewer bits than fp32.
@rewrite("dot_accumulator", "Accumulate inside tl.dot", Numerics.PRECISION_REDUCING)
def dot_accumulator(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = kernel_named(module, issue)
    found = [s for s in _accumulations(module, kernel) if at_issue(module, issue, [s[0]])]
    if not found:
        raise RefusedError("there is no `acc += tl.dot(...)` here")
    statement, accumulator, dot = found[0]
    _check_accumulator(module, kernel, context, accumulator, dot)
    patch = Patch(module)
    start, end = patch.span(statement)
    dot_start, dot_end = patch.span(dot)
    if "#" in patch.text[start:dot_start] + patch.text[dot_end:end]:
        raise RefusedError("there is a comment between the sum and the dot")
    patch.splice(start, dot_start, f"{accumulator} = ")
    add_after(patch, dot.args[1], dot_end - 1, [accumulator])
    patch.splice(dot_end, end, "")
    return patch.apply()


def _accumulations(module: Module, kernel: Kernel) -> Iterator[tuple[ast.stmt, str, ast.Call]]:
    """``acc += dot``, ``acc = acc + dot`` and ``acc = dot + acc``."""
    for statement in statements(kernel.node):
        match statement:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.Call() as dot):
                pass
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.BinOp(left=ast.Name(id=left), op=ast.Add(), right=ast.Call() as dot),
            ) if left == name:
                pass
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.BinOp(left=ast.Call() as dot, op=ast.Add(), right=ast.Name(id=right)),
            ) if right == name:
                pass
            case _:
                continue
        if is_tl_call(module, dot, "dot"):
            yield statement, name, dot


def _check_accumulator(
    module: Module, kernel: Kernel, context: AnalysisContext, name: str, dot: ast.Call
) -> None:
    if len(dot.args) != 2 or keyword(dot, "acc") is not None:
        raise RefusedError("the dot has an accumulator or keyword operands already")
    if any(name in names_in(part) for part in dot.args):
        raise RefusedError(f"{name} is an operand of the dot as well")
    out = keyword(dot, "out_dtype")
    if out is not None and tl_name(module, out.value) != "float32":
        raise RefusedError("the dot's out_dtype is not tl.float32")
    if not _starts_as_float32(module, kernel, name):
        raise RefusedError(f"{name} is not shown to be a tl.float32 tile before the loop")
    for operand in dot.args:
        pointer = pointer_of(module, kernel, operand)
        for facts in argument_facts(context, kernel.name, pointer) if pointer else ():
            if facts.type.startswith(_NARROW_ACCUMULATION):
                raise RefusedError(
                    f"{pointer} is {facts.type}: its products are not summed in fp32"
                )


def _starts_as_float32(module: Module, kernel: Kernel, name: str) -> bool:
    """Every plain assignment of the accumulator is an fp32 tile or a sum that keeps it so."""
    plain = [s for s in assignments(kernel.node, name) if not isinstance(s, ast.AugAssign)]
    values = [value_in(s, name) for s in plain]
    starts = [v for v in values if v is not None and name not in names_in(v)]
    return bool(starts) and all(_is_float32_tile(module, v) for v in starts) and None not in values


def _is_float32_tile(module: Module, value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and is_tl_call(module, value, "zeros", "full"):
        place = 1 if tl_name(module, value.func) == "zeros" else 2
        dtype = argument(value, place, "dtype")
        return dtype is not None and tl_name(module, dtype) == "float32"
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        to = value.func.attr == "to" and len(value.args) == 1
        return to and tl_name(module, value.args[0]) == "float32"
    return False


@rewrite("sigmoid_slow_exp", "Use tl.sigmoid", Numerics.EXACT)
def sigmoid(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = kernel_named(module, issue)
    nodes = [n for n in ast.walk(kernel.node) if _sigmoid_argument(module, n) is not None]
    found = at_issue(module, issue, nodes)
    if not found:
        raise RefusedError("there is no 1 / (1 + tl.exp(-x)) here")
    node = found[0]
    exponent = _sigmoid_argument(module, node)
    assert isinstance(node, ast.expr)
    assert exponent is not None
    patch = Patch(module)
    prefix = tl_prefix(patch, node)
    if prefix is None:
        raise RefusedError("the file has no name for triton.language")
    start, end = _with_parentheses(patch.text, *patch.span(node))
    patch.splice(start, end, f"{prefix}sigmoid({_negated(patch, exponent)})")
    return patch.apply()


def _with_parentheses(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch with the parentheses right around it, where they are no call's own."""
    before = text[: start - 1].rstrip(" \t") if start else ""
    wrapped = text[start - 1 : start] == "(" and text[end : end + 1] == ")"
    grouping = before[-1:] in set("+-*/%=<>&|,([{:")
    return (start - 1, end + 1) if wrapped and grouping else (start, end)


def tl_prefix(patch: Patch, node: ast.AST) -> str | None:
    """``"tl."`` as some call inside the node spells it, so that the new call is spelled alike."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            return patch.source(part.func.value).split(".")[0] + "."
    return None


def _sigmoid_argument(module: Module, node: ast.AST) -> ast.expr | None:
    """The exponent of ``1 / (1 + exp(-x))``, whichever way round the sum stands."""
    match node:
        case ast.BinOp(
            left=ast.Constant(value=1 | 1.0), op=ast.Div(), right=ast.BinOp(op=ast.Add()) as total
        ):
            for one, call in ((total.left, total.right), (total.right, total.left)):
                if isinstance(one, ast.Constant) and one.value == 1:
                    return _exponent(module, call)
    return None


def _exponent(module: Module, call: ast.expr) -> ast.expr | None:
    if isinstance(call, ast.Call) and is_tl_call(module, call, "exp") and len(call.args) == 1:
        return call.args[0]
    return None


def _negated(patch: Patch, exponent: ast.expr) -> str:
    """Source of minus the exponent: a minus in front of a product goes, else one is added."""
    source = patch.source(exponent)
    match exponent:
        case ast.BinOp(
            left=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1 | 1.0)),
            op=ast.Mult(),
            right=operand,
        ):
            return patch.source(operand)
    first = exponent
    while isinstance(first, ast.BinOp) and isinstance(first.op, ast.Mult | ast.Div):
        first = first.left
    bare = patch.span(first)[0] == patch.span(exponent)[0]
    if isinstance(first, ast.UnaryOp) and isinstance(first.op, ast.USub) and bare:
        return source[1:].lstrip()
    return f"-({source})"
