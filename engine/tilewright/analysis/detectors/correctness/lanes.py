"""Detectors of undefined lanes: what a mask leaves out and a reduction takes in."""

import ast
from collections.abc import Iterable, Iterator, Mapping

from tilewright.analysis.detectors.block_pointers import is_block_pointer
from tilewright.analysis.detectors.common import TL, choices_of, source_of, triton_kernels
from tilewright.analysis.detectors.correctness.divisibility import is_whole_at_launches
from tilewright.analysis.detectors.correctness.masks import keeps_all, terms, upper_bounds
from tilewright.analysis.detectors.correctness.whole_rows import leaves_out_whole_rows
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.tiles import Shape, Tiles, tiles_of
from tilewright.analysis.values import Access, Flow, Value, values_within, walk
from tilewright.knowledge.model import ADVICE
from tilewright.python_syntax import descendants
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Module

_RIGHT = "zero is right here, and backends happen to write it, but nothing promises that: "
_WRONG = "zero, which backends happen to write, is wrong here too: "
_AT_TIMES = "zero, which backends happen to write, is wrong where all other values are {} it: "
_SIDES = {"max": "below", "argmax": "below", "min": "above", "argmin": "above"}
_REDUCTIONS = tuple(TL + name for name in ("sum", "max", "min", "argmax", "argmin"))


@detector("undefined_other")
def undefined_other(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Masked lanes of a load without ``other`` that enter a reduction or a dot."""
    for kernel, flow in triton_kernels(module):
        by_result = {a.result: a for a in flow.loads if a.result is not None}
        tiles = tiles_of(module, kernel, context)
        used = _reductions(module, kernel, flow, tiles, by_result)
        for load, reductions in used.items():
            access = by_result.get(load)
            if access is None or not _leaves_out_lanes(module, kernel, access, flow):
                continue
            is_right = all(_takes_zeros(flow, value) for _, value in reductions)
            user, value = reductions[0]
            wrong = _wrong_zeros(flow, value)
            yield Finding(
                module.index.range_of(access.node),
                "Lanes that the mask leaves out hold undefined values, and they enter "
                f"{source_of(module, user.func)} on line {user.lineno}; "
                f"{_RIGHT if is_right else wrong}give other=.",
                kernel.name,
                severity=ADVICE if is_right else None,
            )
        for load, addressed in _addressing(module, flow):
            access = by_result.get(load)
            if access is not None and load not in used:
                used[load] = []
                yield Finding(
                    module.index.range_of(access.node),
                    "Lanes that the mask leaves out hold undefined values, and the "
                    f"{addressed.kind} on line {addressed.node.lineno} takes them for addresses; "
                    "give other=, or mask that access too.",
                    kernel.name,
                    severity=ADVICE if _adds_nothing(flow, addressed) else None,
                )


def _adds_nothing(flow: Flow, access: Access) -> bool:
    """Whether lanes of wrong addresses change nothing where masked loads give zeros."""
    added = flow.values.get(access.node.args[1]) if len(access.node.args) > 1 else None
    is_sum = access.kind == "atomic" and ast.unparse(access.node.func).endswith("atomic_add")
    return access.kind == "load" or (is_sum and added is not None and _is_zero(flow, added))


def _reductions(
    module: Module,
    kernel: Kernel,
    flow: Flow,
    tiles: Tiles,
    by_result: Mapping[Value, Access],
) -> dict[Value, list[tuple[ast.Call, Value]]]:
    """The reductions and products that take in masked lanes of each load."""
    found: dict[Value, list[tuple[ast.Call, Value]]] = {}
    for node, value, _ in flow.placed:
        axis = _reduced(value, tiles)
        for load in _undefined_sources(value, tiles):
            access = by_result.get(load)
            if access is not None and only_later_trips_use(kernel, node, access.node):
                continue
            if axis is None or not leaves_out_whole_rows(module, kernel, flow, load, value, axis):
                found.setdefault(load, []).append((node, value))
    return found


def _takes_zeros(flow: Flow, value: Value) -> bool:
    """Whether a reduction or a dot is right where the lanes that loads leave out hold zeros.

    Nothing promises zeros, but Triton's backends for NVIDIA, AMD and Intel write them.
    """
    if value.op == "dot":
        return any(_is_zero(flow, operand) for operand in value.positional[:2])
    operand = value.positional[0]
    if value.is_call(TL + "sum"):
        return _is_zero(flow, operand)
    return value.is_call(TL + "max") and operand.is_call(TL + "abs") and _is_zero(flow, operand)


def _wrong_zeros(flow: Flow, value: Value) -> str:
    """What zeros in lanes that a mask leaves out do to a reduction that does not take them."""
    side = next((at for name, at in _SIDES.items() if value.is_call(TL + name)), None)
    if side is None or not _is_zero(flow, value.positional[0]):
        return _WRONG
    return _AT_TIMES.format(side)


def _is_zero(flow: Flow, value: Value, carried: frozenset[Value] = frozenset()) -> bool:
    """Whether a value is zero in lanes for which every masked load gives zero.

    What a loop carries is, where it starts so and each turn keeps it so.
    """
    if value in carried:
        return True
    if value.op == "phi" and value.operands and value in flow.back_edges:
        own = carried | {value}
        starts, turns = value.operands[0], flow.back_edges[value]
        return _is_zero(flow, starts, own) and _is_zero(flow, turns, own)
    if value.is_call(TL + "zeros", TL + "zeros_like"):
        return True
    if value.op == "load":
        other = value.keyword("other")
        return value.keyword("mask") is not None and (other is None or other.is_const(0))
    if value.op in ("cast", "expand", "unary") or value.is_call(TL + "abs", TL + "sqrt"):
        return _is_zero(flow, value.operands[0], carried)
    if value.is_binary("Mult"):
        return any(_is_zero(flow, operand, carried) for operand in value.operands)
    if value.is_binary("Div", "Pow"):
        return _is_zero(flow, value.operands[0], carried)
    if value.is_binary("Add", "Sub"):
        return all(_is_zero(flow, operand, carried) for operand in value.operands)
    return value.is_const(0)


def _bare(value: Value) -> Value:
    while value.op in ("cast", "expand") and value.operands:
        value = value.operands[0]
    return value


def _leaves_out_lanes(module: Module, kernel: Kernel, access: Access, flow: Flow) -> bool:
    """Whether a load has a mask that may leave out lanes, and nothing to fill them with."""
    if is_block_pointer(access.pointer):  # which takes neither
        return False
    return (
        access.mask is not None
        and access.other is None
        and not _is_full(module, kernel, access.mask, flow)
    )


def _is_full(module: Module, kernel: Kernel, mask: Value, flow: Flow) -> bool:
    """Whether no condition of a mask leaves out a lane."""
    return all(
        keeps_all(term) or _ends_with_loop(term, flow) or _is_length(module, kernel, term)
        for term in terms(mask)
    )


def _is_length(module: Module, kernel: Kernel, mask: Value) -> bool:
    """Whether a mask compares a block's lanes with what launches pass for its length too."""
    return any(
        lanes.op == "arange"
        and lanes.operands[0].is_const(0)
        and is_filled(module, kernel, lanes.operands[1], bound)
        for lanes, bound in upper_bounds(mask)
    )


def is_filled(module: Module, kernel: Kernel, block: Value, bound: Value) -> bool:
    """Whether some launch passes the bound for the block too, or the lesser of it and another.

    So are blocks that divide the bound at each launch of the file.
    """
    if is_whole_at_launches(module, kernel, bound, block):
        return True
    for launch in module.launches_of(kernel.name):
        given = launch.arguments.get(str(block.detail))
        extent = launch.arguments.get(str(bound.detail))
        if given is None or extent is None:
            continue
        least = choices_of(resolve(module, launch, given), "min")
        if ast.dump(extent) in {ast.dump(node) for node in (given, *least)}:
            return True
    return False


def _ends_with_loop(mask: Value, flow: Flow) -> bool:
    """Whether a mask bounds whole blocks of a loop over no more: ``range(n // B)``."""
    mask = _unexpanded(mask)
    if mask.op != "compare" or mask.detail != "Lt":
        return False
    return is_in_whole_blocks(_unexpanded(mask.operands[0]), mask.operands[1], flow)


def is_in_whole_blocks(offset: Value, end: Value, flow: Flow) -> bool:
    """Whether an offset is one of whole blocks below an end: ``turn * B + arange(0, B)``."""
    if not offset.is_binary("Add"):
        return False
    for one, two in (offset.operands, offset.operands[::-1]):
        lanes = _unexpanded(two)
        if lanes.op != "arange" or not one.is_binary("Mult"):
            continue
        length = lanes.operands[1]
        for turn, step in (one.operands, one.operands[::-1]):
            loop = flow.loops.get(int(str(turn.detail))) if turn.op == "loop_index" else None
            bounds = None if loop is None else loop.bounds
            if step is length and bounds is not None and _counts_whole(bounds, end, length):
                return lanes.operands[0].is_const(0)
    return False


def _counts_whole(bounds: tuple[Value, Value, Value], end: Value, length: Value) -> bool:
    """Whether a loop runs once for each whole block of a length."""
    start, stop, step = bounds
    return (
        start.is_const(0)
        and step.is_const(1)
        and stop.is_binary("FloorDiv")
        and stop.operands[0] is end
        and stop.operands[1] is length
    )


def _unexpanded(value: Value) -> Value:
    while value.op == "expand":
        value = value.operands[0]
    return value


def _addressing(module: Module, flow: Flow) -> Iterator[tuple[Value, Access]]:
    """Masked loads whose undefined lanes make the address of an access that runs for them."""
    for access in flow.accesses:
        for part in values_within(access.pointer, _is_index_arithmetic):
            mask = part.keyword("mask") if part.op == "load" else None
            if mask is None or part.keyword("other") is not None:
                continue
            asked = set() if access.mask is None else set(walk(access.mask))
            lanes = {v for v in walk(mask) if v.op == "arange"}
            if lanes and not lanes & asked and part not in asked:
                yield part, access


def _is_index_arithmetic(value: Value) -> bool:
    return value.op in ("cast", "expand") or value.is_binary("Add", "Sub", "Mult")


def _undefined_sources(value: Value, tiles: Tiles) -> Iterator[Value]:
    """Loads whose masked lanes take part in this dot or reduction."""
    if value.op == "dot":
        for operand, axis in zip(value.positional[:2], (1, 0), strict=False):
            yield from (x for x in _lanes_through(operand) if _masks_axis(x, axis, 2, tiles))
    elif value.is_call(*_REDUCTIONS) and value.positional:
        operand = value.positional[0]
        shape = tiles.facts_of(operand).shape
        reduced = reduced_axis(value, shape)
        if shape is not None and reduced is not None:
            rank = len(shape)
            found = _lanes_through(operand)
            yield from (x for x in found if _masks_axis(x, reduced, rank, tiles))


def _reduced(value: Value, tiles: Tiles) -> int | None:
    """The axis that a reduction runs over; None for a product."""
    is_reduction = value.is_call(*_REDUCTIONS) and value.positional
    return reduced_axis(value, tiles.facts_of(value.positional[0]).shape) if is_reduction else None


def reduced_axis(value: Value, shape: Shape | None) -> int | None:
    """The axis a reduction runs over; None if it is not known or not just one."""
    given = value.argument(1, "axis")
    if not shape:
        return None
    if given is None:
        return 0 if len(shape) == 1 else None
    axis = given.detail
    if not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return None
    return axis % len(shape)


def _lanes_through(operand: Value) -> Iterator[Value]:
    """Loads whose lanes reach ``operand`` lane by lane, with no tl.where in between."""
    pending, seen = [operand], set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if value.op == "load":
            yield value
        elif value.op in ("cast", "unary") or value.is_call(TL + "exp", TL + "abs", TL + "sqrt"):
            pending.append(value.operands[0])
        elif _is_arithmetic(value) and not any(_is_mask(v) for v in value.operands):
            pending.extend(value.operands)


def _is_arithmetic(value: Value) -> bool:
    return value.is_binary("Add", "Sub", "Mult", "Div", "Pow")


def _is_mask(value: Value) -> bool:
    value = _bare(value)
    return value.op in ("compare", "bool", "select") or value.is_call(TL + "where")


def _masks_axis(load: Value, axis: int, rank: int, tiles: Tiles) -> bool:
    """Whether some term of a load's mask differs along an axis of the tile."""
    return any(True for _ in masking_terms(load, axis, rank, tiles))


def masking_terms(load: Value, axis: int, rank: int, tiles: Tiles) -> Iterator[Value]:
    """The terms of a load's mask that differ along an axis of the tile."""
    mask = load.keyword("mask")
    shape = tiles.facts_of(load.operands[0]).shape
    if mask is None or shape is None or len(shape) != rank:
        return
    for term in _terms(mask):
        is_bound = term.op in ("compare", "expand") and not keeps_all(term)
        sides = tiles.facts_of(term).shape if is_bound else None
        if sides is not None and len(sides) == rank and sides[axis] != 1:
            yield term


def _terms(mask: Value) -> Iterator[Value]:
    found = values_within(mask, lambda value: value.is_binary("BitAnd"))
    return (value for value in found if not value.is_binary("BitAnd"))


def only_later_trips_use(kernel: Kernel, reduction: ast.expr, load: ast.Call) -> bool:
    """Whether a reduction is only added to a sum that later trips of a loop start from.

    The mask of the load moves with the loop: once it leaves lanes out, later trips have none.
    """
    for loop in kernel.node.body:
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        for place, statement in enumerate(loop.body):
            if not isinstance(statement, ast.AugAssign) or statement.value is not reduction:
                continue
            after = [s for s in kernel.node.body if s.lineno > loop.lineno]
            rest = [*loop.body[place + 1 :], *loop.orelse, *after]
            mask = [k.value for k in load.keywords if k.arg == "mask"] or load.args[1:2]
            return (
                isinstance(statement.target, ast.Name)
                and isinstance(statement.op, ast.Add)
                and statement.target.id not in _read(rest)
                and loop.target.id in _source_names(mask, loop)
            )
    return False


def _source_names(expressions: Iterable[ast.expr], loop: ast.For) -> set[str]:
    """Names that expressions in a loop are made from, in that trip."""
    found = _read(expressions)
    for statement in reversed(loop.body):
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in found for t in statement.targets
        ):
            found |= _read([statement.value])
    return found


def _read(nodes: Iterable[ast.AST]) -> set[str]:
    return {
        name.id
        for node in nodes
        for name in descendants(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)
    }
