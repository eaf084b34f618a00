"""Detector of grids with an axis that the kernel never asks for its program id."""

import ast

from tilewright.analysis.detectors.common import decorators_known, triton_kernels
from tilewright.analysis.detectors.correctness.races import one_along
from tilewright.analysis.detectors.program_counts import stated_axes
from tilewright.analysis.detectors.registry import Reports, kernel_detector
from tilewright.analysis.expressions import PURE_BUILTINS
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import Related
from tilewright.analysis.values import Flow
from tilewright.source.model import Kernel, Launch, Module

_AXES = 3


@kernel_detector("grid_axis_unused", triton_kernels)
def grid_axis_unused(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """Programs along a grid axis that the kernel does not distinguish."""
    launches = module.launches_of(kernel.name)
    if not launches or not decorators_known(module, kernel):
        return
    if not any(access.kind == "store" for access in flow.writes):
        return
    used = _axes_used(module, kernel, set())
    for launch in launches if used is not None and len(used) < _AXES else ():
        found = _unused(module, launch, used or set()) if launch.is_certain else None
        if found is not None and not _is_pruned(kernel, found[1]):
            axis, count = found
            text = (
                f"The grid has {ast.unparse(count)} programs along axis {axis} and "
                f"{kernel.name} never calls tl.program_id({axis}): each of them computes "
                "and stores the same tile."
            )
            yield count, text, (Related("the kernel", kernel.name_range),)


def _is_pruned(kernel: Kernel, count: ast.expr) -> bool:
    """Whether a count is a tuned value, of which a hook may leave the configurations with 1."""
    if kernel.autotune is None or "prune_configs_by" not in kernel.autotune.others:
        return False
    return any(isinstance(node, ast.Subscript) for node in ast.walk(count))


def _axes_used(module: Module, kernel: Kernel, seen: set[str]) -> set[int] | None:
    """Grid axes that a kernel and its helpers ask for; None where code that is not seen may."""
    seen.add(kernel.name)
    flow = flow_of(module, kernel)
    if any(access.kind == "atomic" for access in flow.writes):
        return None
    found = _own_axes(flow)
    for name in _called_names(flow) if found is not None else ():
        helper = module.kernel(name)
        inner = None if helper is None else set[int]()
        if helper is not None and helper.name not in seen:
            inner = _axes_used(module, helper, seen)
        if inner is None or found is None:
            return None
        found |= inner
    return found


def _called_names(flow: Flow) -> set[str]:
    """Names of the functions, none of Triton's, that a kernel calls; "" for those it is given."""
    names: set[str] = set()
    for _, value, _ in flow.placed:
        source = flow.sources.get(value)
        if value.op == "call":
            names.add(str(value.detail))
        elif source is not None and not source.is_method:
            names.add(source.name)
        elif value.op == "opaque" and source is None:
            names.add("")
    return {n for n in names if not n.startswith("triton.") and n not in PURE_BUILTINS}


def _own_axes(flow: Flow) -> set[int] | None:
    """Axes in the kernel's own text; None where an axis is no literal, or assembly is inlined."""
    found: set[int] = set()
    # A helper that gives a wide program id is a cast of it, and the id no expression of its own.
    for value in {part for v in flow.values.values() for part in (v, *v.operands)}:
        if value.op == "program_id":
            if not isinstance(value.detail, int):
                return None
            found.add(value.detail)
        elif value.op in ("call", "opaque") and "inline_asm" in str(value.detail):
            return None
    return found


def _unused(module: Module, launch: Launch, used: set[int]) -> tuple[int, ast.expr] | None:
    """An axis, with its count of programs, that nothing distinguishes."""
    axes = stated_axes(module, launch)
    if axes is None or any(isinstance(part, ast.Starred) for part in axes):
        return None
    for axis, count in enumerate(axes[:_AXES]):
        if axis not in used and not one_along(module, launch, axis):
            return axis, count
    return None
