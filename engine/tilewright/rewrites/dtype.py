"""Rewrites of the dtype_fix stage: types wider than the data or the answer needs."""

import ast
from contextlib import suppress
from dataclasses import dataclass

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.pointers import base_pointer
from tilewright.rewrites.scope import (
    argument_facts,
    assignments,
    at_issue,
    block_of,
    facts_of,
    is_tl_call,
    kernel_named,
    keyword,
    statements,
    tl_name,
    uses,
    value_in,
)
from tilewright.rewrites.tiles import dots
from tilewright.source.model import Kernel, Module

_HALVES = ("*fp16", "*bf16")


@dataclass(frozen=True)
class _Cast:
    """An up-cast that can go: the ``.to(...)`` call, and the load it casts.

    ``statement`` is set where the whole statement is ``x = x.to(tl.float32)``.
    """

    call: ast.Call
    load: ast.Call
    statement: ast.stmt | None = None


@rewrite(
    "dtype_precision",
    "Multiply in the operands' own 16-bit type",
    Numerics.REASSOCIATING,
    needs_launch=True,
)
def drop_dot_upcasts(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """Products of two 16-bit floats are exact in fp32 (11 + 11 <= 24 bits of significand).

    The tensor unit multiplies them exactly and sums in fp32, so dropping the casts changes the
    order of the sum alone; the tf32 path that fp32 operands take would round them first.
    """
    kernel = kernel_named(module, issue)
    dot = _dot_at(module, kernel, issue)
    if dot is None:
        raise RefusedError("there is no tl.dot of up-cast operands here")
    out = keyword(dot, "out_dtype")
    if out is not None and tl_name(module, out.value) != "float32":
        raise RefusedError("the dot's out_dtype is not tl.float32")
    casts = [_cast_of(module, kernel, operand, dot) for operand in dot.args[:2]]
    _check_types(kernel, context, casts)
    patch = Patch(module)
    for cast in {id(c.call): c for c in casts}.values():
        if not _remove(patch, cast):
            raise RefusedError("a cast shares its line with another statement")
    return patch.apply()


def _dot_at(module: Module, kernel: Kernel, issue: Issue) -> ast.Call | None:
    """The dot the issue underlines, or whose operand's cast it underlines."""
    candidates = [d for d in dots(module, kernel) if len(d.args) >= 2]
    touched = at_issue(module, issue, candidates)
    if touched and isinstance(touched[0], ast.Call):
        return touched[0]
    for dot in candidates:
        for operand in dot.args[:2]:
            with suppress(RefusedError):
                cast = _cast_of(module, kernel, operand, dot)
                if at_issue(module, issue, [cast.call]):
                    return dot
    return None


def _cast_of(module: Module, kernel: Kernel, operand: ast.expr, dot: ast.Call) -> _Cast:
    operand = _untransposed(module, operand)
    if isinstance(operand, ast.Name):
        return _named_cast(module, kernel, operand.id)
    inner = _upcast(module, operand)
    if inner is None or not isinstance(operand, ast.Call):
        raise RefusedError("an operand of the dot is not cast to fp32 right before it")
    load = _load_of(module, kernel, inner)
    if load is None:
        raise RefusedError("a cast operand is not a plain tl.load")
    return _Cast(operand, load)


def _untransposed(module: Module, node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return node.value
    if isinstance(node, ast.Call) and is_tl_call(module, node, "trans") and len(node.args) == 1:
        return node.args[0]
    return node


def _named_cast(module: Module, kernel: Kernel, name: str) -> _Cast:
    """The cast behind a name that only the dot reads."""
    sets = assignments(kernel.node, name)
    values = [value_in(s, name) for s in sets]
    last = values[-1] if values else None
    inner = _upcast(module, last) if last is not None else None
    if inner is None or not isinstance(last, ast.Call):
        raise RefusedError(f"{name} is not cast to fp32")
    own = isinstance(inner, ast.Name) and inner.id == name
    if len(sets) != (2 if own else 1):
        raise RefusedError(f"{name} is set more than once")
    if len(uses(kernel.node, name)) != (2 if own else 1):
        raise RefusedError(f"{name} is also used outside the dot, where fp32 may be intended")
    if own:
        same_block = any(s is sets[0] for s in block_of(kernel.node, sets[1]))
        first = values[0]
        if not same_block or first is None or not is_tl_call(module, first, "load"):
            raise RefusedError(f"{name} is not a plain tl.load before its cast")
        assert isinstance(first, ast.Call)
        return _Cast(last, first, sets[1])
    load = _load_of(module, kernel, inner)
    if load is None:
        raise RefusedError(f"{name} is not a cast of a plain tl.load")
    return _Cast(last, load)


def _upcast(module: Module, node: ast.expr) -> ast.expr | None:
    """What ``x.to(tl.float32)`` casts."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="to"), args=[dtype], keywords=[]):
            return inner if tl_name(module, dtype) == "float32" else None
    return None


def _load_of(module: Module, kernel: Kernel, node: ast.expr) -> ast.Call | None:
    node = _untransposed(module, node)
    if isinstance(node, ast.Name):
        sets = assignments(kernel.node, node.id)
        value = value_in(sets[0], node.id) if len(sets) == 1 else None
        if value is None:
            return None
        node = _untransposed(module, value)
    return node if isinstance(node, ast.Call) and is_tl_call(module, node, "load") else None


def _check_types(kernel: Kernel, context: AnalysisContext, casts: list[_Cast]) -> None:
    found: set[str] = set()
    for cast in casts:
        pointer = base_pointer(kernel, cast.load.args[0]) if cast.load.args else None
        if pointer is None:
            raise RefusedError("the pointer of a cast operand is unknown")
        types = {facts.type for facts in argument_facts(context, kernel.name, pointer)}
        if not types:
            raise RefusedError(f"the type of {pointer} is not known: no launch was captured")
        found |= types
    if len(found) != 1 or not found <= set(_HALVES):
        raise RefusedError(
            f"the operands are {', '.join(sorted(found))}, not one 16-bit float type"
        )


def _remove(patch: Patch, cast: _Cast) -> bool:
    if cast.statement is not None:
        if not patch.owns_lines(cast.statement):
            return False
        patch.delete_lines(cast.statement)
        return True
    function = cast.call.func
    assert isinstance(function, ast.Attribute)
    start, end = patch.span(cast.call)
    inner_start, inner_end = patch.span(function.value)
    # Parentheses around the inner value stand between the two spans and stay.
    dot = patch.text.rindex(".", inner_end, patch.span(cast.call.args[0])[0])
    if patch.text[inner_end:dot].strip(" \t)"):
        dot = patch.text.index(".", inner_end)
    tail = patch.text[inner_end:dot].rstrip()
    patch.splice(start, inner_start, patch.text[start:inner_start])
    patch.splice(inner_end, end, tail)
    return True


@rewrite(
    "dtype_float64",
    "Compute in fp32 instead of fp64",
    Numerics.PRECISION_REDUCING,
    needs_launch=True,
)
def narrow_float64(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = module.kernel(issue.kernel) if issue.kernel else module.kernel_at(issue.range.line)
    if kernel is None or not kernel.range.contains(issue.range.line, issue.range.column):
        raise RefusedError("fp64 in host code may be the caller's choice")
    wide = _float64_names(module, kernel)
    if not wide:
        raise RefusedError("there is no tl.float64 here")
    if not facts_of(context, kernel.name):
        raise RefusedError("the types of the arguments are not known: no launch was captured")
    for launch in facts_of(context, kernel.name):
        for facts in launch.arguments:
            if facts.type in ("*fp64", "fp64", "*i64"):
                raise RefusedError(
                    f"{facts.name} is {facts.type}: fewer bits would lose some of it"
                )
    patch = Patch(module)
    for node in wide:
        source = patch.source(node)
        patch.replace(node, source.replace("float64", "float32"))
    for node in _cancelling_variances(module, kernel):
        _clamp(patch, node)
    return patch.apply()


def _float64_names(module: Module, kernel: Kernel) -> list[ast.expr]:
    return [
        node
        for node in ast.walk(kernel.node)
        if isinstance(node, ast.Attribute | ast.Name) and tl_name(module, node) == "float64"
    ]


def _cancelling_variances(module: Module, kernel: Kernel) -> list[ast.BinOp]:
    """``E[x*x] - mean*mean`` with a sum in it: rounding in fp32 can take it below zero."""
    return [
        value
        for statement in statements(kernel.node)
        if isinstance(statement, ast.Assign)
        and isinstance(value := statement.value, ast.BinOp)
        and isinstance(value.op, ast.Sub)
        and _is_square(value.right)
        and any(is_tl_call(module, n, "sum") for n in ast.walk(value.left))
    ]


def _is_square(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=ast.Name(id=a), op=ast.Mult(), right=ast.Name(id=b)):
            return a == b
        case ast.BinOp(left=ast.Name(), op=ast.Pow(), right=ast.Constant(value=2)):
            return True
    return False


def _clamp(patch: Patch, node: ast.BinOp) -> None:
    """Keep a variance from going negative, which a square root would turn into NaN."""
    start, end = patch.span(node)
    call = next(n for n in ast.walk(node.left) if isinstance(n, ast.Call))
    prefix = patch.source(call.func).rpartition(".")[0]
    patch.splice(start, start, f"{prefix}.maximum(" if prefix else "maximum(")
    patch.splice(end, end, ", 0.0)")
