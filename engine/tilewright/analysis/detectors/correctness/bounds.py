"""Detectors of accesses that leave their tensor."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import source_of, triton_kernels
from tilewright.analysis.detectors.correctness.reach import greatest_offset
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.numbers import Numbers, interval_of
from tilewright.analysis.values import Access, Flow, Value, walk
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

_NOT_EXACT = ("FloorDiv", "Mod", "Sub")


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
    last = None if tensor is None else greatest_offset(tensor)
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
