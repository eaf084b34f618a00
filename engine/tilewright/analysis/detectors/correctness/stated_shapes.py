"""Accesses against the shapes that the file itself gives their tensors, launch by launch."""

import ast
from collections.abc import Callable, Iterator

from tilewright.analysis.detectors.correctness.allocations import (
    Walked,
    axis_of,
    is_beyond,
    spelled,
    walked,
)
from tilewright.analysis.detectors.correctness.divisibility import states_divisibility
from tilewright.analysis.detectors.correctness.index_steps import Step
from tilewright.analysis.host_sizes import is_unread, is_unrounded, quotients
from tilewright.analysis.model import Finding, Related
from tilewright.analysis.tiles import ONE, Polynomial
from tilewright.analysis.values import Flow
from tilewright.analysis.values import walk as walk_values
from tilewright.knowledge.model import ADVICE
from tilewright.source.model import Kernel, Launch, Module

_INDICES = ("arange", "program_id", "loop_index")


def past_stated_end(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """An index whose values go past the end of the axis it moves along."""
    for asks_callers in (False, True):
        for walk in walked(module, kernel, flow, asks_callers=asks_callers):
            if walk.access.branches:
                continue
            for step in walk.steps:
                axis = axis_of(walk, step)
                if axis is None or step.extent is None or walk.offset.number != 0:
                    continue
                if not _has_own_axes(walk):
                    continue
                host, room = walk.sizes.host, _room(walk, axis)
                if not is_beyond(host, step.extent, room):
                    continue
                yield Finding(
                    module.index.range_of(walk.access.node),
                    f"This {walk.access.kind} takes indices below {spelled(host, step.extent)} "
                    f"along axis {axis} of {walk.access.base}, and the host code gives it "
                    f"{spelled(host, room)} elements there"
                    f"{_where(walk)}: it leaves the tensor, or enters the next row.",
                    kernel.name,
                    related=_launched(walk),
                )
                return


def _has_own_axes(walk: Walked) -> bool:
    """Whether each index of an address moves along an axis of its own, from the start on."""
    axes = [axis_of(walk, step) for step in walk.steps]
    return None not in axes and len(set(axes)) == len(axes) and walk.offset.number == 0


def _room(walk: Walked, axis: int) -> Polynomial:
    """How far an index may go along an axis: through outer axes too that no other index has."""
    room = walk.shape[axis]
    moved = {axis_of(walk, step) for step in walk.steps}
    while axis > 0 and axis - 1 not in moved:
        axis -= 1
        room = room * walk.shape[axis]
    return room


def past_rounded_end(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """An access of blocks that cover more than the axis that was allocated, and no mask ends."""
    found: Walked | None = None
    for walk in walked(module, kernel, flow):
        access = walk.access
        if access.branches or access.base is None:
            continue
        for step in walk.steps:
            axis = axis_of(walk, step)
            if axis is None or not _covers_more(walk, step, _room(walk, axis)):
                continue
            asked = set() if access.mask is None else set(walk_values(access.mask))
            if not asked.isdisjoint(v for v in walk_values(step.index) if v.op in _INDICES):
                continue
            if states_divisibility(module, kernel):
                return
            found = found or walk
            yield Finding(
                module.index.range_of(access.node),
                f"Its blocks of {spelled(walk.sizes.host, step.block)} cover more than the "
                f"{spelled(walk.sizes.host, walk.shape[axis])} elements that {access.base} has "
                f"along axis {axis}{_where(walk)}, nothing in this file makes them whole, and "
                f"{'this' if access.mask is None else 'the mask of this'} {access.kind} "
                f"{'has no mask' if access.mask is None else 'does not end them'}.",
                kernel.name,
                related=_launched(walk),
            )
            return


def _covers_more(walk: Walked, step: Step, extent: Polynomial) -> bool:
    """Whether the blocks of an index, rounded up, are laid over just this extent."""
    if step.is_masked or step.extent is None or step.block == ONE:
        return False
    if not is_unrounded(walk.sizes.host, extent, step.block):
        return False
    if step.is_rounded:
        one, two = extent.number, step.block.number
        is_whole = one is not None and two is not None and one % two == 0
        return step.extent == extent and not is_whole
    return any(
        name == "next_power_of_2" and one == extent
        for name, one, _ in quotients(walk.sizes.host, step.extent)
    )


def unlike_allocation(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """An index over one axis of an allocation, times something else than that axis's stride."""
    for walk in walked(module, kernel, flow):
        if not walk.is_stated or _reaches_end(walk):
            continue
        for step in walk.steps:
            axes = [a for a, extent in enumerate(walk.shape) if extent == step.extent]
            if len(axes) != 1 or step.extent is None or step.extent.number is not None:
                continue
            axis = axes[0]
            if step.stride in walk.strides or not _is_comparable(walk, step.stride):
                continue
            host = walk.sizes.host
            passed = _passed_stride(walk, step)
            yield Finding(
                module.index.range_of(passed or walk.access.node),
                f"The {walk.access.kind} on line {walk.access.node.lineno} multiplies an index "
                f"over axis {axis} of {walk.access.base} by {spelled(host, step.stride)}, and the "
                f"stride of that axis is {spelled(host, walk.strides[axis])}{_where(walk)}.",
                kernel.name,
                related=_launched(walk),
                severity=ADVICE,
            )
            return


def _passed_stride(walk: Walked, step: Step) -> ast.expr | None:
    """The launch's argument for the one parameter by whose name it should be the stride."""
    factors = {part.detail for part in walk_values(walk.access.pointer) if part.op == "param"}
    names = [n for n in map(str, factors) if "stride" in n.lower() and n in walk.launch.arguments]
    known = walk.sizes.host
    wrong = [n for n in names if known.size(walk.launch.arguments[n]) not in (None, *walk.strides)]
    return walk.launch.arguments[wrong[0]] if len(wrong) == 1 else None


def _reaches_end(walk: Walked) -> bool:
    """Whether the access goes through as many elements as there are, in whatever order.

    Also where that is not known.
    """
    total, size = ONE + walk.offset, ONE
    for step in walk.steps:
        if step.extent is None:
            return True
        total = total + (step.extent - ONE) * step.stride
    for extent in walk.shape:
        size = size * extent
    return total == size


def _is_comparable(walk: Walked, stride: Polynomial) -> bool:
    """Whether a stride that is spelled otherwise than an allocation's is another number.

    Numbers, and quotients that may be exact, may be what the sizes are; so may a stride of a
    tensor of the same shape.
    """
    roundings = walk.sizes.host.rounding
    known = {value for size in (stride, *walk.strides) for value in size.values}
    if stride.number is not None or any(
        roundings[value][0] != "cdiv" for value in known if value in roundings
    ):
        return False
    if any(map(is_unread, known)):
        return False
    texts = [str(value.detail) for value in stride.values]
    owners = {text.partition(".stride ")[0] for text in texts if ".stride " in text}
    shapes = [str(value.detail) for extent in walk.shape for value in extent.values]
    like = {shape.partition(".shape ")[0] for shape in shapes if ".shape " in shape}
    # Shaped like one tensor and walked like another; more than one makes no claim.
    return not owners or (len(like) == 1 and not like & owners)


def rounded_down(
    module: Module, kernel: Kernel, flow: Flow, may_be_written: Callable[[Launch, str], bool]
) -> Iterator[Finding]:
    """A fresh buffer of which the blocks, rounded down, leave the end unwritten.

    Args:
        may_be_written: whether other code may write what a launch passes for a parameter.
    """
    if flow.may_write_unknown or len(module.launches_of(kernel.name)) != 1:
        return
    stores: dict[str, list[Walked]] = {}
    for walk in walked(module, kernel, flow):
        if walk.access.kind != "load" and walk.access.base is not None:
            stores.setdefault(walk.access.base, []).append(walk)
    for base, walks in stores.items():
        if len(walks) != 1 or len([a for a in flow.writes if a.base in (base, None)]) != 1:
            continue
        walk = walks[0]
        if not walk.is_stated or not _has_own_axes(walk) or may_be_written(walk.launch, base):
            continue
        for step in walk.steps:
            axis = axis_of(walk, step)
            if axis is None or step.extent is None or step.is_masked:
                continue
            if _falls_short(walk, step.extent, _room(walk, axis)) and not states_divisibility(
                module, kernel
            ):
                host = walk.sizes.host
                yield Finding(
                    module.index.range_of(walk.access.node),
                    f"This store covers {spelled(host, step.extent)} of the "
                    f"{spelled(host, walk.shape[axis])} elements that {base} has along axis "
                    f"{axis}{_where(walk)}: the rest stays as it was in memory.",
                    kernel.name,
                    related=_launched(walk),
                )
                return


def _falls_short(walk: Walked, extent: Polynomial, whole: Polynomial) -> bool:
    difference = (whole - extent).number
    if difference is not None:
        return difference > 0
    for value in extent.values:
        name, one, two = walk.sizes.host.rounding.get(value, ("", ONE, ONE))
        if name == "floordiv" and one == whole and extent == Polynomial.from_value(value) * two:
            return is_unrounded(walk.sizes.host, whole, two)
    return False


def _where(walk: Walked) -> str:
    """The allocation, which is the fact a statement rests on."""
    return f" ({walk.allocated})" if walk.allocated else ""


def _launched(walk: Walked) -> tuple[Related, ...]:
    return (Related("launched here", walk.launch.range),)
