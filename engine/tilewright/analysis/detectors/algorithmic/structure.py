"""Products in kernels that compute what is zero by construction, or only to sum it."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.algorithmic.sums import operand_counts
from tilewright.analysis.detectors.common import TL, first_line, triton_kernels
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import Shape, tiles_of
from tilewright.analysis.values import Flow, Loop, Value, values_within, walk
from tilewright.knowledge.model import HINT
from tilewright.source.model import Kernel, Module

_COORDINATES = frozenset(
    {"expand", "binary", "program_id", "arange", "const", "param", "loop_index", "cast"}
)
_LIKELY = 2
"""The severity of what is certain to be more work, but a part of the kernel's time."""
_ORDERS = ("Gt", "GtE", "Lt", "LtE")


def triangular_products(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A triangular mask around a product, in a loop that also visits the blocks it zeroes."""
    for kernel, flow in triton_kernels(module):
        dots = list(flow.calls(TL + "dot"))
        if not dots:
            continue
        for loop in flow.loops.values():
            inside = [(n, v) for n, v, loops in dots if loops and loops[-1] == loop.number]
            if not inside or loop.bounds is None or _follows_program(flow, loop):
                continue
            found = _triangular(flow, loop, [value for _, value in inside])
            if found is None or _skips(loop, [call for call, _ in inside]):
                continue
            node, what = found
            yield Finding(
                first_line(module, loop.node),
                f"The mask on line {node.lineno} keeps a triangle of {what}, but this loop visits "
                "every block: those past the diagonal are computed and not used.",
                kernel.name,
                related=(
                    Related("the mask", module.index.range_of(node)),
                    Related("the product", module.index.range_of(inside[0][0])),
                ),
            )


def _follows_program(flow: Flow, loop: Loop) -> bool:
    """Whether the bounds hang on the program, on memory, or on what is not known."""
    assert loop.bounds is not None
    return any(
        part.op in ("program_id", "opaque", "load", "phi", "after", "loop_index")
        for bound in loop.bounds
        for part in walk(bound)
    )


def _skips(loop: Loop, dots: list[ast.Call]) -> bool:
    """Whether the loop may leave products out: by a conditional around one, or a way out."""
    inner = [node for statement in loop.node.body for node in ast.walk(statement)]
    if any(isinstance(node, ast.Continue | ast.Break) for node in inner):
        return True
    return any(
        node.lineno <= dot.lineno <= (node.end_lineno or node.lineno)
        for node in inner
        if isinstance(node, ast.If | ast.IfExp)
        for dot in dots
    )


def _triangular(flow: Flow, loop: Loop, dots: list[Value]) -> tuple[ast.expr, str] | None:
    """A select that zeroes one side of the diagonal between this program's rows and the loop."""
    operands = {part for dot in dots for o in dot.positional[:2] for part in _through(o)}
    for node, value in flow.values.items():
        if not value.is_call(TL + "where") or len(value.positional) != 3:
            continue
        condition, kept, dropped = value.positional
        if not _crosses(condition, loop):
            continue
        if _is_number(dropped, 0) and value in operands and kept.uncast.op == "load":
            return node, "an operand of tl.dot"
        if _is_minus_infinity(dropped) and any(part in dots for part in _scaled(kept)):
            return node, "the scores"
    return None


def _through(value: Value) -> Iterator[Value]:
    while True:
        yield value
        if value.op == "cast" or value.is_call(TL + "trans"):
            value = value.operands[0]
        else:
            return


def _scaled(value: Value) -> Iterator[Value]:
    """A value and what it is a multiple of."""
    return values_within(value, lambda part: part.is_binary("Mult") or part.op == "cast")


def _crosses(condition: Value, loop: Loop) -> bool:
    """``rows[:, None] >= cols[None, :]``: rows of this program, columns of this loop, as such."""
    if condition.is_binary("BitAnd") or (condition.op == "bool" and condition.detail == "And"):
        return any(_crosses(part, loop) for part in condition.operands)
    if condition.op != "compare" or condition.detail not in _ORDERS:
        return False
    one, two = condition.operands
    rows, cols = (one, two) if one.is_invariant_in(loop.number) else (two, one)
    if not rows.is_invariant_in(loop.number) or cols.is_invariant_in(loop.number):
        return False
    plain = all(part.op in _COORDINATES for side in (rows, cols) for part in walk(side))
    return (
        plain
        and any(part.op == "program_id" for part in walk(rows))
        and not any(part.op == "program_id" for part in walk(cols))
        and all(any(part.op == "arange" for part in walk(side)) for side in (rows, cols))
    )


def _is_number(value: Value, number: int) -> bool:
    return value.op == "const" and type(value.detail) in (int, float) and value.detail == number


def _is_minus_infinity(value: Value) -> bool:
    if value.op == "const" and isinstance(value.detail, int | float):
        return value.detail <= -1e4
    if value.op == "unary" and value.detail == "USub":
        value = value.operands[0]
    return value.is_call("float") and "inf" in str(value.operands[0].detail)


def summed_products(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``tl.sum(tl.dot(a, b), axis)`` where the product is used for nothing else."""
    for kernel, flow in triton_kernels(module):
        if not any(True for _ in flow.calls(TL + "dot")):
            continue
        used, tiles = operand_counts(flow), tiles_of(module, kernel, context)
        for node, value, _ in flow.calls(TL + "sum"):
            inner = value.positional[0] if value.positional else None
            while inner is not None and (inner.op == "cast" or _is_scaled(inner)):
                if used.get(inner, 0) > 1:
                    break
                inner = inner.operands[0]
            is_product = inner is not None and inner.op == "dot" and used.get(inner, 0) == 1
            if inner is not None and is_product and _is_matrix(tiles.facts_of(inner).shape):
                yield Finding(
                    module.index.range_of(node),
                    "The tile of products is only summed; summing the operand first turns the "
                    "matrix product into a product with a vector.",
                    kernel.name,
                    # Often one row is padded for the matrix unit, which costs little where memory
                    # is slower.
                    severity=HINT,
                )


def _is_matrix(shape: Shape | None) -> bool:
    """Whether a tile is known to have more than one row, and more than one column."""
    return shape is not None and all(extent != 1 for extent in shape)


def products_of_ones(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A product with a triangle or a tile of ones, off the tensor cores: a sum."""
    for kernel, flow in triton_kernels(module):
        for node, value, _ in flow.calls(TL + "dot"):
            if not _is_exact(value) or _is_narrow(module, kernel, value):
                continue
            for operand in value.positional[:2]:
                what = _ones(operand)
                if what is not None:
                    yield Finding(
                        module.index.range_of(node),
                        f"One operand is {what} of ones, and the product is computed in fp32 "
                        f"without tensor cores: {_SUMS[what]} is the same with one addition for "
                        "each element.",
                        kernel.name,
                        # tl.cumsum took 0.8x to 1.5x the time of the product on an H200.
                        severity=HINT,
                    )


_SUMS = {"a triangle": "tl.cumsum", "a tile": "tl.sum"}


def _is_narrow(module: Module, kernel: Kernel, dot: Value) -> bool:
    """Whether an operand is, or may be, of a type that tensor cores multiply exactly."""
    tiles = tiles_of(module, kernel)
    return any(tiles.facts_of(operand).dtype != "fp32" for operand in dot.positional[:2])


def _is_exact(dot: Value) -> bool:
    """Whether a product is asked for in fp32, which tensor cores do not compute."""
    precision, tf32 = dot.keyword("input_precision"), dot.keyword("allow_tf32")
    return (precision is not None and precision.detail == "ieee") or (
        tf32 is not None and tf32.op == "const" and tf32.detail is False
    )


def _ones(operand: Value) -> str | None:
    """Which tile of ones an operand is: one that an order of indices makes a triangle, or all."""
    *_, inner = _through(operand)
    if (
        inner.is_call(TL + "full")
        and len(inner.positional) > 1
        and _is_number(inner.operands[1], 1)
    ):
        return "a tile"
    if inner.is_call(TL + "where") and len(inner.positional) == 3:
        inner, *sides = inner.positional
        if not (_is_number(sides[0], 1) and _is_number(sides[1], 0)):
            return None
    if inner.op != "compare" or inner.detail not in _ORDERS:
        return None
    plain = all(
        p.op in ("expand", "binary", "arange", "const", "param") for p in walk(inner.operands[0])
    )
    return "a triangle" if plain else None


def products_for_sums(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``sum(s * dot(a, b))`` where ``dot(s, b)`` is computed as well.

    The sums of ``s * (a @ b.T)`` over an axis are those of ``(s @ b) * a`` over the inner one.
    """
    for kernel, flow in triton_kernels(module):
        dots = list(flow.calls(TL + "dot"))
        if len(dots) < 2:
            continue
        users = _users(flow)
        for node, dot, _ in dots:
            factor = _only_summed(dot, users)
            if factor is None:
                continue
            parts = [_bare(o) for o in dot.positional[:2]]
            for _, other, _ in dots:
                given = [_bare(o) for o in other.positional[:2]]
                if other is not dot and factor in given and any(part in given for part in parts):
                    yield Finding(
                        module.index.range_of(node),
                        "This product is only multiplied and summed, and its sums follow from "
                        "another product of this kernel: those of s * (a @ b) over its columns "
                        "are those of (s @ b) * a.",
                        kernel.name,
                        severity=_LIKELY,
                    )
                    break


def _bare(operand: Value) -> Value:
    *_, inner = _through(operand)
    return inner


def _users(flow: Flow) -> dict[Value, list[Value]]:
    """The values that each value is an operand of; one that is stored is also its own."""
    stored = {a.result for a in flow.writes if a.result is not None}
    users: dict[Value, list[Value]] = {value: [value] for value in stored}
    for value in {*flow.values.values(), *stored}:
        for operand in value.operands:
            users.setdefault(operand, []).append(value)
    return users


def _only_summed(dot: Value, users: dict[Value, list[Value]]) -> Value | None:
    """The other factor of a product that is summed, and used for nothing else."""
    using = users.get(dot, [])
    if len(using) != 1 or not using[0].is_binary("Mult"):
        return None
    scaled = using[0]
    sums = users.get(scaled, [])
    if not sums or not all(value.is_call(TL + "sum") for value in sums):
        return None
    one, two = scaled.operands
    return _bare(two if one is dot else one)


def _is_scaled(value: Value) -> bool:
    return value.is_binary("Mult", "Div") and value.operands[1].op in ("const", "param")
