"""Detector of atomics with which all programs add to the same addresses."""

from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.program_counts import grows_with_the_problem
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles.infer import Tiles, tiles_of
from tilewright.analysis.values import Access, Flow, walk
from tilewright.source.model import Kernel, Launch, Module

_REDUCTIONS = tuple(TL + name for name in ("sum", "max", "min", "histogram", "reduce"))
_ADDITIONS = frozenset(TL + f"atomic_{name}" for name in ("add", "max", "min"))


@detector("contended_atomics")
def contended_atomics(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A tile of atomics whose addresses are the same along an axis that grows with the problem."""
    for kernel, flow in triton_kernels(module):
        atomics = [a for a in flow.accesses if a.kind == "atomic"]
        launches = module.launches_of(kernel.name)
        if not atomics or not launches or _shares_tiles(flow):
            continue
        tiles = tiles_of(module, kernel, context)
        for access in atomics:
            if module.names.resolve(access.node.func) not in _ADDITIONS:
                continue
            axis = _contended_axis(module, kernel, flow, tiles, access)
            if axis is None:
                continue
            yield Finding(
                module.index.range_of(access.node),
                f"Every program along axis {axis} of the grid adds to the same addresses of "
                f"{access.base or 'memory'}, one program after another; a partial result for each "
                "of a fixed number of programs, summed afterwards, waits for none.",
                kernel.name,
                related=_grids(launches),
                # One addition a program, of what it has reduced, waits little.
                severity=1 if _is_reduced(access) else None,
            )


def _is_reduced(access: Access) -> bool:
    """Whether a program adds what it has reduced over a tile before."""
    return access.result is not None and any(
        part.is_call(*_REDUCTIONS) for part in walk(access.result)
    )


def _shares_tiles(flow: Flow) -> bool:
    """Whether a fixed number of programs walks over all tiles: then few add at a time."""
    return any(True for _ in flow.calls(TL + "num_programs"))


def _contended_axis(
    module: Module, kernel: Kernel, flow: Flow, tiles: Tiles, access: Access
) -> int | None:
    """An axis over which neither address nor mask differs, and whose extent has no bound."""
    facts = tiles.of(access.pointer)
    if not facts.shape or all(side == 1 for side in facts.shape):
        return None
    if facts.programs is None or access.branches:
        return None
    differing = set(facts.programs)
    if access.mask is not None:
        masked = tiles.of(access.mask).programs
        if masked is None:
            return None
        differing |= masked
    used = {v.detail for v in flow.values.values() if v.op == "program_id"}
    for axis in sorted(axis for axis in used if isinstance(axis, int)):
        if axis not in differing and all(
            grows_with_the_problem(module, kernel, launch, axis)
            for launch in module.launches_of(kernel.name)
        ):
            return axis
    return None


def _grids(launches: tuple[Launch, ...] | list[Launch]) -> tuple[Related, ...]:
    return tuple(Related("launched here", launch.range) for launch in launches[:3])
