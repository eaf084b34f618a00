"""Detectors of strides that belong to another tensor, or to another axis than the index."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewright.analysis.detectors.common import triton_kernels
from tilewright.analysis.detectors.correctness.counterexamples import with_other_strides
from tilewright.analysis.detectors.correctness.masks import (
    additive_parts,
    unexpanded,
    upper_bounds,
)
from tilewright.analysis.detectors.correctness.stated_shapes import unlike_allocation
from tilewright.analysis.detectors.launch_sizes import Size, size_passed
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Access, Flow, Value
from tilewright.knowledge.model import ADVICE
from tilewright.python_syntax import is_name
from tilewright.source.host import host_of, is_contiguous, last_assigned, resolve
from tilewright.source.model import Kernel, Launch, Module


@dataclass(frozen=True)
class Walk:
    """An access that multiplies an index by a stride.

    ``bounds`` are the parameters that the index stays below; ``axis`` is the grid's, where the
    index is a program id.
    """

    access: Access
    stride: str
    bounds: tuple[str, ...]
    axis: int | None


@detector("walked_axis_mismatch")
def walked_axis_mismatch(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """An index that runs over the extent of one axis, multiplied by the stride of another."""
    for kernel, flow in triton_kernels(module):
        launches = [x for x in module.launches_of(kernel.name) if x.is_certain]
        walks = list(_walks(flow)) if launches else []
        for launch in launches if walks else ():
            finding = next(_mismatches(module, kernel, launch, walks), None)
            if finding is not None:
                yield finding


def _mismatches(
    module: Module, kernel: Kernel, launch: Launch, walks: list[Walk]
) -> Iterator[Finding]:
    sizes = _sizes(module, launch, frozenset(n for w in walks for n in (w.stride, *w.bounds)))
    pairs: dict[tuple[str, int], set[int]] = {}
    found: list[tuple[Walk, Size, Size]] = []
    for walk in walks:
        stride, tensor = sizes.get(walk.stride), _tensor(launch, walk.access.base)
        if stride is None or stride.kind != "stride" or stride.tensor != tensor:
            continue
        for extent in _extents(module, launch, sizes, walk):
            if extent.kind == "shape" and extent.tensor == tensor:
                pairs.setdefault((tensor, extent.axis), set()).add(stride.axis)
                is_other = stride.is_along(extent) is False
                is_other = is_other and not _drops_extent(module, launch, stride)
                if is_other and not _asserts_equal(module, launch, walk.bounds):
                    found.append((walk, stride, extent))
    for walk, stride, extent in found:
        # An extent that two axes are walked with is that of a square.
        if len(pairs[extent.tensor, extent.axis]) == 1:
            yield Finding(
                module.index.range_of(launch.arguments[walk.stride]),
                f"The {walk.access.kind} on line {walk.access.node.lineno} multiplies an index "
                f"over axis {extent.axis} of {extent.tensor} by {walk.stride}, and that is the "
                f"stride of axis {stride.axis} here.",
                kernel.name,
                related=(Related("walked here", module.index.range_of(walk.access.node)),),
            )


def _drops_extent(module: Module, launch: Launch, stride: Size) -> bool:
    """Whether the host takes a tensor to be square: ``b, n, _ = x.shape`` drops this axis."""
    host = host_of(module, launch)
    for statement in nodes_like(host, ast.Assign) if host is not None else ():
        match statement:
            case ast.Assign(
                targets=[ast.Tuple(elts=names)],
                value=ast.Attribute(value=ast.Name(id=tensor), attr="shape"),
            ) if tensor == stride.tensor and -len(names) <= stride.axis < len(names):
                name = names[stride.axis]
                return isinstance(name, ast.Name) and name.id.startswith("_")
    return False


def _asserts_equal(module: Module, launch: Launch, bounds: tuple[str, ...]) -> bool:
    """Whether the host demands that an extent it passes for a bound is equal to another."""
    host = host_of(module, launch)
    if host is None:
        return False
    given = {ast.unparse(launch.arguments[name]) for name in bounds if name in launch.arguments}
    asserted = ((check.test, ast.Eq) for check in nodes_like(host, ast.Assert))
    refused = (
        (check.test, ast.NotEq)
        for check in nodes_like(host, ast.If)
        if any(isinstance(statement, ast.Raise) for statement in check.body)
    )
    return any(
        ast.unparse(side) in given
        for test, relation in (*asserted, *refused)
        for part in ast.walk(test)
        if isinstance(part, ast.Compare) and isinstance(part.ops[0], relation)
        for side in (part.left, part.comparators[0])
    )


def _extents(
    module: Module, launch: Launch, sizes: Mapping[str, Size], walk: Walk
) -> Iterator[Size]:
    """The sizes that bound the index of a walk."""
    yield from (sizes[bound] for bound in walk.bounds if bound in sizes)
    if walk.axis is not None:
        grid = resolve(module, launch, launch.grid)
        if isinstance(grid, ast.Tuple) and walk.axis < len(grid.elts):
            size = size_passed(module, launch, grid.elts[walk.axis])
            if size is not None:
                yield size


@detector("stride_of_other_tensor")
def stride_of_other_tensor(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """An address made with another tensor's stride, where its own tensor's are passed too."""
    for kernel, flow in triton_kernels(module):
        launches = [x for x in module.launches_of(kernel.name) if x.is_certain]
        walked, is_found = list(_walked(flow)) if launches else [], False
        for launch in launches if walked else ():
            finding = next(_of_original(module, kernel, launch, walked), None)
            finding = finding or next(_foreign(module, kernel, launch, walked), None)
            if finding is not None:
                yield finding
            is_found = is_found or finding is not None
        if launches and not is_found:
            found = list(unlike_allocation(module, kernel, flow))
            yield from found or with_other_strides(module, kernel)


def _foreign(
    module: Module, kernel: Kernel, launch: Launch, walked: list[tuple[Access, str]]
) -> Iterator[Finding]:
    used = frozenset(stride for _, stride in walked)
    sizes = _sizes(module, launch, used)
    for access, stride in walked:
        size, tensor = sizes.get(stride), _tensor(launch, access.base)
        if size is None or size.kind != "stride" or tensor is None or size.tensor == tensor:
            continue
        # Without a stride of its own, the tensor is taken to be laid out like the other.
        known = _sizes(module, launch, frozenset(launch.arguments)).items()
        own = [(n, s) for n, s in known if s.tensor == tensor and s.kind == "stride"]
        if not any(s.is_along(size) or n not in used for n, s in own):
            continue
        if _may_be_alike(module, launch, tensor, size.tensor):
            continue
        # By its name it should be this tensor's: then the kernel is right and the launch is not.
        is_named = stride.lower().startswith(f"stride_{_plain(access.base)}")
        yield Finding(
            module.index.range_of(launch.arguments[stride] if is_named else access.node),
            f"This {access.kind} walks {access.base} with {stride}, which is a stride of "
            f"{size.tensor} at the launch on line {launch.range.line}, and {access.base} is "
            f"{tensor} there: where the two are laid out differently, these are wrong elements.",
            kernel.name,
            related=(Related("passed here", module.index.range_of(launch.arguments[stride])),),
            severity=ADVICE,
        )


def _of_original(
    module: Module, kernel: Kernel, launch: Launch, walked: list[tuple[Access, str]]
) -> Iterator[Finding]:
    """Strides of ``x`` where the pointer is ``x.contiguous()``, which is laid out otherwise."""
    sizes = _sizes(module, launch, frozenset(stride for _, stride in walked))
    for access, stride in walked:
        size, original = sizes.get(stride), _copied(module, launch, access.base)
        if size is None or size.kind != "stride" or size.tensor != original:
            continue
        if is_contiguous(module, launch, ast.Name(id=original, ctx=ast.Load())):
            continue
        yield Finding(
            module.index.range_of(launch.arguments[stride]),
            f"{access.base} of {kernel.name} gets a contiguous copy of {original} and {stride} a "
            f"stride of {original} itself: where {original} is not contiguous, the {access.kind} "
            f"on line {access.node.lineno} goes to wrong elements of the copy, or past its end.",
            kernel.name,
            related=(Related("walked here", module.index.range_of(access.node)),),
        )


def _copied(module: Module, launch: Launch, parameter: str | None) -> str | None:
    """The name of the tensor of which an argument is ``tensor.contiguous()``."""
    node: ast.expr | None = launch.arguments.get(parameter or "")
    given = node.id if isinstance(node, ast.Name) else None
    if given is not None:
        found = last_assigned(module, launch, given)
        node = None if found is None or found.position is not None else found.value
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="contiguous"), args=[]):
            source = last_assigned(module, launch, name)
            # A copy of what is expanded has the same value wherever the stride of 0 leads.
            is_expanded = source is not None and "expand" in ast.unparse(source.value)
            return None if name == given or is_expanded else name
    return None


def _plain(parameter: str | None) -> str:
    """A pointer's name without what only says that it is one."""
    return (parameter or "").lower().removesuffix("_ptr").removesuffix("_pointer")


def _walks(flow: Flow) -> Iterator[Walk]:
    for access in flow.accesses:
        bounds: dict[Value, list[str]] = {}
        for index, bound in upper_bounds(access.mask) if access.mask is not None else ():
            if bound.op == "param":
                bounds.setdefault(index, []).append(str(bound.detail))
        for index, stride in _strided(access.pointer):
            known = bounds.get(index, []) + _loop_bound(index)
            axis = index.detail if index.op == "program_id" else None
            if access.base is not None and (known or axis is not None):
                yield Walk(access, stride, tuple(known), axis if isinstance(axis, int) else None)


def _loop_bound(index: Value) -> list[str]:
    """The parameter that a loop counts up to, one by one from 0."""
    if index.op != "loop_index" or len(index.operands) != 3:
        return []
    start, stop, step = index.operands
    is_plain = start.is_const(0) and step.is_const(1) and stop.op == "param"
    return [str(stop.detail)] if is_plain else []


def _walked(flow: Flow) -> Iterator[tuple[Access, str]]:
    for access in flow.accesses:
        if access.base is not None:
            yield from ((access, stride) for _, stride in _strided(access.pointer))


def _strided(pointer: Value) -> Iterator[tuple[Value, str]]:
    """``index * stride`` of an address, with a stride that is a parameter."""
    for part in additive_parts(pointer):
        if part.is_binary("Mult"):
            for one, two in (part.operands, part.operands[::-1]):
                factor = unexpanded(two)
                if factor.op == "param" and unexpanded(one).op != "param":
                    yield unexpanded(one), str(factor.detail)


def _sizes(module: Module, launch: Launch, names: frozenset[str]) -> dict[str, Size]:
    found = {}
    for name in names & launch.arguments.keys():
        size = size_passed(module, launch, launch.arguments[name])
        if size is not None:
            found[name] = size
    return found


def _tensor(launch: Launch, parameter: str | None) -> str | None:
    node = launch.arguments.get(parameter or "")
    return node.id if isinstance(node, ast.Name) else None


def _may_be_alike(module: Module, launch: Launch, one: str, two: str) -> bool:
    """Whether one tensor is made like the other, or both are contiguous."""
    for name, other in ((one, two), (two, one)):
        found = last_assigned(module, launch, name)
        value = None if found is None else found.value
        if isinstance(value, ast.Call) and any(is_name(part, other) for part in value.args):
            return True
    nodes = [ast.Name(id=name, ctx=ast.Load()) for name in (one, two)]
    return all(is_contiguous(module, launch, node) for node in nodes)
