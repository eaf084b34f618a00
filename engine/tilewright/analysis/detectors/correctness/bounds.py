"""Detectors of accesses that leave their tensor."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import nodes_of, triton_kernels
from tilewright.analysis.detectors.correctness.masks import additive_parts, terms, upper_bounds
from tilewright.analysis.detectors.correctness.reach import (
    exact_offsets,
    greatest_offset,
    reach_of,
)
from tilewright.analysis.detectors.correctness.unmasked import on_rounded_grid, with_unused_mask
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.intervals import Numbers
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.values import Access, Flow, Value
from tilewright.source.host import host_of
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

_MADE = tuple(f"torch.{name}" for name in ("empty", "zeros", "ones", "full"))
_PADS = ("torch.nn.functional.pad", "torch.constant_pad_nd")
_ROUNDS = frozenset(("next_power_of_2", "cdiv", "ceil_div", "ceil", "max", "round_up"))


@detector("missing_boundary_check")
def missing_boundary_check(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Unmasked loads and stores that leave their tensor, or whose offsets others mask."""
    yield from _unmasked(module, context, frozenset(("load", "store")))


@detector("atomic_without_mask")
def atomic_without_mask(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Unmasked atomics that leave their tensor, or whose offsets others mask."""
    yield from _unmasked(module, context, frozenset(("atomic",)))


@detector("param_smaller_than_index_range")
def param_smaller_than_index_range(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A mask that lets through more than the tensor has, at a captured launch."""
    for kernel, flow in triton_kernels(module):
        launches = [launch for launch in context.launches if launch.kernel == kernel.name]
        if not launches or _returns_early(kernel):
            continue
        for access in flow.accesses:
            if access.mask is None or access.branches or not _is_all_bounds(access.mask):
                continue
            found = next(filter(None, (_outside(access, launch) for launch in launches)), None)
            if found is not None:
                tensor, reached, last = found
                yield Finding(
                    module.index.range_of(access.node),
                    f"The mask lets offsets up to {reached:,} through, and the last element of "
                    f"{tensor} is at {last:,}.",
                    kernel.name,
                )


def _is_all_bounds(mask: Value) -> bool:
    """Whether all that a mask asks for is that indices are below bounds."""
    return len(list(upper_bounds(mask))) == len(list(terms(mask)))


def _unmasked(module: Module, context: AnalysisContext, kinds: frozenset[str]) -> Iterator[Finding]:
    for kernel, flow in triton_kernels(module):
        if _returns_early(kernel):
            continue
        launches = [launch for launch in context.launches if launch.kernel == kernel.name]
        bare = [a for a in flow.accesses if a.kind in kinds and _is_bare(a)]
        if not launches:
            yield from _derived(module, kernel, flow, bare)
        for access in bare if launches else ():
            found = next(filter(None, (_outside(access, launch) for launch in launches)), None)
            if found is not None:
                yield _outside_finding(module, kernel, access, *found)


def _derived(
    module: Module, kernel: Kernel, flow: Flow, accesses: list[Access]
) -> Iterator[Finding]:
    """What the text alone says of accesses without a mask, one reason for a kernel.

    A mask that is written as None was left out on purpose.
    """
    found = list(_unlike_any(module, kernel, flow, accesses))
    for reason in (with_unused_mask, on_rounded_grid):
        found = found or list(reason(module, kernel, flow, [a for a in accesses if _omits(a)]))
    yield from found


def _omits(access: Access) -> bool:
    given = [*access.node.args, *(k.value for k in access.node.keywords)]
    return not any(isinstance(node, ast.Constant) and node.value is None for node in given)


def _unlike_any(
    module: Module, kernel: Kernel, flow: Flow, accesses: list[Access]
) -> Iterator[Finding]:
    for access in accesses:
        yield from _unlike_others(module, kernel, flow, access)


def _is_bare(access: Access) -> bool:
    """Whether it always runs, with no mask or check of its own."""
    options = [k.arg for k in access.node.keywords]
    return (
        access.mask is None
        and not access.branches
        and "boundary_check" not in options
        and None not in options
    )


def _returns_early(kernel: Kernel) -> bool:
    body = kernel.node.body
    return any(isinstance(n, ast.Return) and n is not body[-1] for n in nodes_of(kernel.node))


def _outside(access: Access, launch: LaunchFacts) -> tuple[str, int, int] | None:
    """(tensor, reached offset, last offset) of an access that leaves its tensor for sure."""
    tensor = None if access.base is None else launch.argument(access.base)
    last = None if tensor is None else greatest_offset(tensor)
    offsets = None if tensor is None else exact_offsets(access.pointer, tensor.name)
    if tensor is None or last is None or offsets is None:
        return None
    reached = reach_of(offsets, access.mask, Numbers.of_launch(launch))
    return (tensor.name, reached, last) if reached is not None and reached > last else None


def _outside_finding(
    module: Module, kernel: Kernel, access: Access, tensor: str, reached: int, last: int
) -> Finding:
    return Finding(
        module.index.range_of(access.node),
        f"Without a mask this {access.kind} reaches offset {reached:,} of {tensor}, whose last "
        f"element is at {last:,}.",
        kernel.name,
    )


def _unlike_others(module: Module, kernel: Kernel, flow: Flow, access: Access) -> Iterator[Finding]:
    """Another access masks offsets of which this one goes through all."""
    if access.base is None:
        return
    indices = set(additive_parts(access.pointer))
    for other in flow.accesses:
        if other.mask is None or other.base is None or other is access:
            continue
        bounded = next((i for i, _ in upper_bounds(other.mask) if i in indices), None)
        if bounded is not None and bounded in set(additive_parts(other.pointer)):
            if may_be_padded(module, kernel, access.base):
                return
            yield _unlike_finding(module, kernel, access, other)
            return


def _unlike_finding(module: Module, kernel: Kernel, access: Access, other: Access) -> Finding:
    what = {"load": "reads", "store": "writes", "atomic": "updates"}[access.kind]
    return Finding(
        module.index.range_of(access.node),
        f"The {other.kind} on line {other.node.lineno} masks these offsets and this {access.kind} "
        f"does not: it {what} what lies past the end of {access.base}.",
        kernel.name,
    )


def may_be_padded(module: Module, kernel: Kernel, parameter: str) -> bool:
    """Whether some launch of the file passes a buffer of a rounded extent for a parameter.

    What a helper gets is in its callers' texts, on which nothing said of it may depend: there
    any argument of their launches counts.
    """
    given = [
        (launch, launch.arguments.get(parameter)) for launch in module.launches_of(kernel.name)
    ]
    for caller in _callers(module, kernel):
        for launch in module.launches_of(caller.name):
            given += [(launch, node) for node in launch.arguments.values()]
    return any(
        node is not None and _is_padded(module, host, node)
        for launch, node in given
        if (host := host_of(module, launch)) is not None
    )


def _callers(module: Module, kernel: Kernel) -> list[Kernel]:
    """The kernels that call a kernel, or call one that does."""
    found: list[Kernel] = []
    pending = [kernel]
    while pending:
        new = [k for k in module.callers_of(pending.pop()) if k not in found]
        found += new
        pending += new
    return found


def _is_padded(module: Module, host: ast.FunctionDef, argument: ast.expr) -> bool:
    """Whether anything that the argument is made from was given a rounded extent."""
    pending, seen = [argument], set[str]()
    while pending:
        for node in ast.walk(pending.pop()):
            if isinstance(node, ast.Call) and _rounds_up(module, host, node):
                return True
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                pending += _values_of(host, node.id)
    return False


def _rounds_up(module: Module, host: ast.FunctionDef, call: ast.Call) -> bool:
    if module.names.is_call(call, *_PADS):
        return True
    if not module.names.is_call(call, *_MADE) or not call.args:
        return False
    sizes = [call.args[0]]
    names = {n.id for n in ast.walk(sizes[0]) if isinstance(n, ast.Name)}
    sizes += [value for name in names for value in _values_of(host, name)]
    return any(_is_rounded(node) for size in sizes for node in ast.walk(size))


def _is_rounded(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.FloorDiv)
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return (node.func.id if isinstance(node.func, ast.Name) else name) in _ROUNDS


def _values_of(host: ast.FunctionDef, name: str) -> list[ast.expr]:
    """What a function assigns to a name, wherever it does."""
    return [
        statement.value
        for statement in ast.walk(host)
        if isinstance(statement, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name for t in statement.targets)
    ]
