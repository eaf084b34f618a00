"""Detectors of faults: what gives wrong results, or does not compile or launch at all."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import (
    TL,
    all_numbers,
    nodes_of,
    source_of,
    triton_kernels,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.dtypes import dtype_of, element_types
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.numbers import Numbers, interval_of, number_of
from tilewright.analysis.shapes import Shape, shape_of
from tilewright.analysis.values import Access, Flow, Value, walk
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import ArgumentFacts, LaunchFacts

_REMOVED = {
    TL + "make_block_ptr": (3, 8, "tl.make_tensor_descriptor"),
    TL + "advance": (3, 8, "offsets of a tensor descriptor"),
    TL + "math.tanh": (3, 0, "2 * tl.sigmoid(2 * x) - 1, or libdevice"),
    TL + "libdevice.tanh": (3, 0, "triton.language.extra.libdevice"),
}
_INT32_LIMIT = 2**31
_REDUCTIONS = tuple(TL + name for name in ("sum", "max", "min", "argmax", "argmin"))
_NOT_EXACT = ("FloorDiv", "Mod", "Sub")


@detector("removed_api")
def removed_api(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Calls of functions that the user's Triton no longer has."""
    if context.triton_version is None:
        return
    for kernel, _ in triton_kernels(module):
        for node in nodes_of(kernel.node):
            dotted = module.names.resolve(node.func) if isinstance(node, ast.Call) else None
            if dotted not in _REMOVED or not isinstance(node, ast.Call):
                continue
            major, minor, instead = _REMOVED[dotted]
            if context.triton_version >= (major, minor):
                here = ".".join(map(str, context.triton_version))
                yield Finding(
                    module.index.range_of(node),
                    f"{dotted.removeprefix('triton.language.')} is gone since Triton "
                    f"{major}.{minor} (here {here}); use {instead}.",
                    kernel.name,
                    data={"name": dotted},
                )


@detector("non_power_of_two_arange")
def non_power_of_two_arange(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``tl.arange`` over a count that is no power of two: it does not compile."""
    for kernel, flow in triton_kernels(module):
        numbers = all_numbers(module, context, kernel) or [Numbers()]
        for node, value in _aranges(module, kernel, flow):
            bad = {_length(value, known) for known in numbers}
            wrong = sorted(n for n in bad if n is not None and (n <= 0 or n & (n - 1)))
            if wrong:
                yield Finding(
                    module.index.range_of(node),
                    f"tl.arange over {wrong[0]} elements does not compile: the count has to be "
                    "a power of two.",
                    kernel.name,
                    data={"count": str(wrong[0])},
                )


def _aranges(module: Module, kernel: Kernel, flow: Flow) -> Iterator[tuple[ast.Call, Value]]:
    for node in nodes_of(kernel.node):
        if isinstance(node, ast.Call) and module.names.is_call(node, TL + "arange"):
            value = flow.values.get(node)
            if value is not None and value.op == "arange":
                yield node, value


def _length(arange: Value, numbers: Numbers) -> int | None:
    start, end = (number_of(v, numbers) for v in arange.operands)
    return None if start is None or end is None else end - start


@detector("int32_offset_overflow")
def int32_offset_overflow(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Offsets computed in 32 bits into a tensor with 2**31 elements of extent or more."""
    for kernel, flow in triton_kernels(module):
        reported: set[ast.expr] = set()
        for launch in context.launches:
            if launch.kernel != kernel.name:
                continue
            types = element_types(context, kernel.name)
            numbers = Numbers.of_launch(launch)
            for access in flow.accesses:
                tensor = _large_tensor(launch, access)
                if tensor is None:
                    continue
                for node, reach in _overflowing(kernel, flow, access, types, numbers):
                    if node not in reported:
                        reported.add(node)
                        yield _overflow_finding(module, kernel, flow, node, reach, tensor)


def _large_tensor(launch: LaunchFacts, access: Access) -> ArgumentFacts | None:
    tensor = None if access.base is None else launch.argument(access.base)
    if tensor is None or (_greatest_offset(tensor) or 0) < _INT32_LIMIT:
        return None
    return tensor


def _greatest_offset(tensor: ArgumentFacts) -> int | None:
    """Offset of a tensor's last element in elements; None if shape or strides are unknown."""
    if tensor.shape is None or tensor.strides is None or 0 in tensor.shape:
        return None
    return sum((n - 1) * s for n, s in zip(tensor.shape, tensor.strides, strict=True) if s > 0)


def _overflowing(
    kernel: Kernel, flow: Flow, access: Access, types: dict[str, str], numbers: Numbers
) -> Iterator[tuple[ast.expr, int]]:
    """The innermost products and sums below an address that leave 32 bits."""
    parts = {v for v in walk(access.pointer) if v.is_binary("Mult", "Add")}
    for node in nodes_of(kernel.node):
        value = flow.values.get(node) if isinstance(node, ast.BinOp) else None
        if value not in parts or value is None or not isinstance(node, ast.BinOp):
            continue
        if not _leaves_int32(value, types, numbers):
            continue
        if any(_leaves_int32(operand, types, numbers) for operand in value.operands):
            continue
        reach = interval_of(value, numbers)
        if reach is not None:
            yield node, reach[1]


def _leaves_int32(value: Value, types: dict[str, str], numbers: Numbers) -> bool:
    if not value.is_binary("Mult", "Add") or dtype_of(value, types) != "i32":
        return False
    reach = interval_of(value, numbers)
    return reach is not None and reach[1] >= _INT32_LIMIT


def _overflow_finding(
    module: Module,
    kernel: Kernel,
    flow: Flow,
    node: ast.expr,
    reach: int,
    tensor: ArgumentFacts,
) -> Finding:
    operand = _operand_to_widen(flow, node)
    return Finding(
        module.index.range_of(node),
        f"This offset into {tensor.name} reaches {reach:,} and is computed in 32 bits, which "
        f"end at {_INT32_LIMIT - 1:,}: it wraps to a wrong address.",
        kernel.name,
        data={
            "operand": "" if operand is None else source_of(module, operand),
            "tensor": tensor.name,
        },
    )


def _operand_to_widen(flow: Flow, node: ast.expr) -> ast.expr | None:
    """The side of a product or sum that comes from the program id, a range or a loop."""
    if not isinstance(node, ast.BinOp):
        return None
    for side in (node.left, node.right):
        value = flow.values.get(side)
        if value is not None and any(
            v.op in ("program_id", "arange", "loop_index") for v in walk(value)
        ):
            return side
    return None


@detector("missing_boundary_check")
def missing_boundary_check(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Unmasked accesses that leave their tensor, or a store without the mask of its load."""
    for kernel, flow in triton_kernels(module):
        if _returns_early(kernel):
            continue
        launches = [launch for launch in context.launches if launch.kernel == kernel.name]
        for access in flow.accesses:
            if access.mask is not None or access.branches or _is_descriptor(access):
                continue
            if launches:
                found = next(filter(None, (_outside(access, launch) for launch in launches)), None)
                if found is not None:
                    yield _outside_finding(module, kernel, access, *found)
            elif access.kind == "store":
                yield from _unlike_load(module, kernel, flow, access)


def _returns_early(kernel: Kernel) -> bool:
    body = kernel.node.body
    return any(isinstance(n, ast.Return) and n is not body[-1] for s in body for n in ast.walk(s))


def _is_descriptor(access: Access) -> bool:
    return any(k.arg == "boundary_check" for k in access.node.keywords)


def _outside(access: Access, launch: LaunchFacts) -> tuple[str, int, int] | None:
    """(tensor, reached offset, last offset) of an access that leaves its tensor for sure."""
    tensor = None if access.base is None else launch.argument(access.base)
    last = None if tensor is None else _greatest_offset(tensor)
    if tensor is None or last is None:
        return None
    offsets = _offsets(access.pointer, tensor.name)
    if offsets is None or any(_is_inexact(v) for o in offsets for v in walk(o)):
        return None
    numbers = Numbers.of_launch(launch)
    reaches = [interval_of(offset, numbers) for offset in offsets]
    total = 0
    for reach in reaches:
        if reach is None:
            return None
        total += reach[1]
    return (tensor.name, total, last) if total > last else None


def _is_inexact(value: Value) -> bool:
    """Whether the upper end of an interval through this value may never be taken."""
    return value.op in ("phi", "after", "select", "load", "opaque", "item", "call") or (
        value.is_binary(*_NOT_EXACT)
    )


def _offsets(pointer: Value, base: str) -> list[Value] | None:
    """The addends of an address beside its base, None if it is not a plain sum."""
    if pointer.op == "param" and pointer.detail == base:
        return []
    if not pointer.is_binary("Add"):
        return None
    left, right = pointer.operands
    inner = _offsets(left, base)
    if inner is not None:
        return [*inner, right]
    inner = _offsets(right, base)
    return None if inner is None else [*inner, left]


def _outside_finding(
    module: Module, kernel: Kernel, access: Access, tensor: str, reached: int, last: int
) -> Finding:
    return Finding(
        module.index.range_of(access.node),
        f"Without a mask this {access.kind} reaches offset {reached:,} of {tensor}, whose last "
        f"element is at {last:,}.",
        kernel.name,
        data={"kind": "outside", "tensor": tensor},
    )


def _unlike_load(module: Module, kernel: Kernel, flow: Flow, store: Access) -> Iterator[Finding]:
    """A load with the same offsets is masked by a bound on just these offsets."""
    if store.base is None or store.pointer.op != "binary":
        return
    offset = store.pointer.operands[1]
    if not any(v.op == "arange" for v in walk(offset)):
        return
    for load in flow.loads:
        mask = load.mask
        if mask is None or load.base is None or not load.pointer.is_binary("Add"):
            continue
        same = load.pointer.operands[1] is offset and load.loops == store.loops
        if same and mask.op == "compare" and mask.detail == "Lt" and mask.operands[0] is offset:
            text = next(
                (source_of(module, k.value) for k in load.node.keywords if k.arg == "mask"), ""
            )
            yield Finding(
                module.index.range_of(store.node),
                f"The load on line {load.node.lineno} masks these offsets and this store does "
                "not: it writes past the end.",
                kernel.name,
                data={"kind": "unlike_load", "mask": text, "tensor": store.base},
            )
            return


@detector("undefined_other")
def undefined_other(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Masked lanes of a load without ``other`` that enter a reduction or a dot."""
    for kernel, flow in triton_kernels(module):
        used: dict[Value, str] = {}
        for node, value, _ in flow.placed:
            for load in _undefined_sources(value):
                used.setdefault(load, f"{source_of(module, node.func)} on line {node.lineno}")
        by_result = {a.result: a for a in flow.loads if a.result is not None}
        for load, where in used.items():
            access = by_result.get(load)
            if access is not None and access.mask is not None and access.other is None:
                yield Finding(
                    module.index.range_of(access.node),
                    "Lanes that the mask leaves out hold undefined values, and they enter "
                    f"{where}; give other=.",
                    kernel.name,
                )


def _undefined_sources(value: Value) -> Iterator[Value]:
    """Loads whose masked lanes take part in this dot or reduction."""
    if value.op == "dot":
        for operand, axis in zip(value.positional[:2], (1, 0), strict=False):
            yield from (x for x in _lanes_through(operand) if _masks_axis(x, axis, 2))
    elif value.is_call(*_REDUCTIONS) and value.positional:
        operand = value.positional[0]
        shape = shape_of(operand)
        reduced = _reduced_axis(value, shape)
        if shape is not None and reduced is not None:
            yield from (x for x in _lanes_through(operand) if _masks_axis(x, reduced, len(shape)))


def _reduced_axis(value: Value, shape: Shape | None) -> int | None:
    """The axis a reduction runs over; None if it is not known or not just one."""
    given = value.keyword("axis") or (value.positional[1] if len(value.positional) > 1 else None)
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
    while value.op in ("cast", "expand"):
        value = value.operands[0]
    return value.op in ("compare", "bool", "select") or value.is_call(TL + "where")


def _masks_axis(load: Value, axis: int, rank: int) -> bool:
    """Whether some term of a load's mask differs along an axis of the tile."""
    mask = load.keyword("mask")
    shape = shape_of(load.operands[0])
    if mask is None or shape is None or len(shape) != rank:
        return False
    for term in _terms(mask):
        sides = shape_of(term) if term.op in ("compare", "expand") else None
        if sides is not None and len(sides) == rank and sides[axis] != 1:
            return True
    return False


def _terms(mask: Value) -> Iterator[Value]:
    pending = [mask]
    while pending:
        value = pending.pop()
        if value.is_binary("BitAnd"):
            pending.extend(value.operands)
        else:
            yield value
