"""Kernels that are compiled or tuned again for each number of rows."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.analysis.detectors.common import DOTS, TL, decorators_known, triton_kernels
from tilewright.analysis.detectors.host_code.facts import is_measuring
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.detectors.varying_sizes import (
    Variety,
    Varying,
    is_number_of_batches,
    is_width,
    varying,
)
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.values import Flow, Value, walk
from tilewright.source.model import Kernel, Launch, Module

_SHAPED = tuple(
    TL + name for name in ("zeros", "full", "reshape", "view", "broadcast_to", "static_range")
)


@detector("recompiled_for_each_size")
def recompiled_for_each_size(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A number of rows as a compile-time constant, or as a key that tells a tuner nothing."""
    for kernel, flow in triton_kernels(module):
        launches = [
            launch
            for launch in module.launches_of(kernel.name)
            if not is_measuring(launch.host_function or "")
        ]
        # What treats weights meets the few shapes that a model has.
        is_of_weights = "weight" in kernel.name.lower()
        if not launches or is_of_weights or not decorators_known(module, kernel):
            continue
        needed = _needed_constants(flow)
        yield from _constants(module, kernel, launches, needed)
        yield from _by_heuristics(module, kernel, launches, needed)
        yield from _keys(module, kernel, flow, launches)


def _followed(
    module: Module, launches: Sequence[Launch], name: str
) -> tuple[Launch, Varying] | None:
    """The first launch whose argument follows what each call is given."""
    if is_width(name):
        return None
    for launch in launches:
        node = launch.arguments.get(name)
        found = None if node is None else varying(module, launch, node)
        if found is not None:
            is_batch = is_number_of_batches(name) and found.variety is Variety.MANY
            return launch, replace(found, variety=Variety.BATCHES) if is_batch else found
    return None


def _constants(
    module: Module, kernel: Kernel, launches: Sequence[Launch], needed: frozenset[str]
) -> Iterator[Finding]:
    followed = {
        parameter: one
        for parameter in kernel.parameters
        if parameter.is_constexpr and parameter.name not in needed
        if (one := _followed(module, launches, parameter.name)) is not None
    }
    if not followed:
        return
    first, (launch, found) = max(followed.items(), key=lambda one: one[1][1].variety)
    for name in needed:
        other = _followed(module, launches, name)
        if other is not None and other[1].variety >= found.variety:
            return  # a tile or an unrolled loop needs the size, and compiles anew for it
    size = "rounded size" if found.variety is Variety.FEW else "size"
    others = [p.name for p in followed if p is not first]
    further = f" So do {', '.join(others)}." if others else ""
    yield Finding(
        first.range,
        f"{first.name} is a compile-time constant and follows {found.what}, which changes from "
        f"call to call: each new {size} compiles {kernel.name} anew, and no tile or unrolled "
        f"loop needs it to be a constant.{further}",
        kernel.name,
        related=(Related("launched here", launch.range),),
    )


def _keys(
    module: Module, kernel: Kernel, flow: Flow, launches: Sequence[Launch]
) -> Iterator[Finding]:
    """Rows that only count programs: which configuration is best does not depend on them."""
    tuned = kernel.autotune
    if tuned is None or len(tuned.configs or ()) < 2 or len(tuned.key or ()) < 2:
        return
    if any(True for _ in flow.calls(*DOTS)):
        return
    bounds = {v for loop in flow.loops.values() for b in loop.bounds or () for v in walk(b)}
    walked = {str(v.detail) for v in bounds if v.op == "param"} | set(kernel.constexprs)
    followers = {name: _followed(module, launches, name) for name in tuned.key or ()}
    for name, followed in followers.items():
        if name in walked or followed is None or followed[1].variety is Variety.FEW:
            continue
        yield Finding(
            tuned.range,
            f"The key has {name}, which follows {followed[1].what}: each new size runs all "
            f"{len(tuned.configs or ())} configurations again, though it only changes how many "
            "programs there are.",
            kernel.name,
            related=(Related("launched here", followed[0].range),),
        )


def _by_heuristics(
    module: Module, kernel: Kernel, launches: Sequence[Launch], needed: frozenset[str]
) -> Iterator[Finding]:
    """``heuristics({"TILES": lambda a: cdiv(a["M"], a["BLOCK"])})`` of rows known at launch."""
    for name, given in kernel.heuristic_values.items():
        if name in needed or not isinstance(given, ast.Lambda):
            continue
        row = _divided(module, given.body)
        if row is None or row in kernel.constexprs:
            continue
        followed = _followed(module, launches, row)
        if followed is not None:
            yield Finding(
                module.index.range_of(given),
                f"{name} is a compile-time constant that a heuristic computes from {row}, which "
                f"follows {followed[1].what}: each new number compiles {kernel.name} anew.",
                kernel.name,
                related=(Related("launched here", followed[0].range),),
            )


def _divided(module: Module, node: ast.expr) -> str | None:
    """The argument that an expression over a heuristic's arguments is a quotient of."""
    match node:
        case ast.Call(args=[above, _]) if (module.names.resolve(node.func) or "").endswith("cdiv"):
            return _divided(module, above)
        case ast.BinOp(op=ast.FloorDiv() | ast.Add() | ast.Sub(), left=above):
            return _divided(module, above)
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str() as name)):
            return name
    return None


def _needed_constants(flow: Flow) -> frozenset[str]:
    """Constexprs that shape tiles or unroll loops, which have to be known when compiled."""
    needed: set[Value] = set()
    for value in flow.values.values():
        if value.op == "arange" or value.is_call(*_SHAPED):
            needed.update(walk(value))
        elif value.op in ("method", "opaque", "tuple"):
            # The extents of a shape, however it is spelled.
            needed.update(value.operands)
    for loop in flow.loops.values():
        if loop.is_static:
            needed.update(part for bound in loop.bounds or () for part in walk(bound))
    return frozenset(str(v.detail) for v in needed if v.op == "param")
