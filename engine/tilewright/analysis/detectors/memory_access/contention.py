"""Detector of atomics with which all programs add to the same addresses."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, nodes_of, source_numbers, triton_kernels
from tilewright.analysis.detectors.program_counts import (
    grows_with_the_problem,
    multiplies_the_units,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.detectors.sizes import elements_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles.infer import Tiles, tiles_of
from tilewright.analysis.values import Access, Flow, walk
from tilewright.source.model import Kernel, Launch, Module

_REDUCTIONS = tuple(TL + name for name in ("sum", "max", "min", "histogram", "reduce"))
_ADDITIONS = frozenset(TL + f"atomic_{name}" for name in ("add", "max", "min"))

_LONG_READ = 4096
"""Elements, 16 KiB in fp32: they take longer to arrive than one addition at one address."""


@detector("contended_atomics")
def contended_atomics(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Atomics whose addresses are the same along an axis of many programs."""
    for kernel, flow in triton_kernels(module):
        atomics = [a for a in flow.accesses if a.kind == "atomic"]
        launches = module.launches_of(kernel.name)
        if not atomics or not launches:
            continue
        tiles = tiles_of(module, kernel, context)
        is_persistent = _shares_tiles(flow)
        for access in atomics:
            if module.names.resolve(access.node.func) not in _ADDITIONS:
                continue
            if _is_ticket(module, access) or _is_conditional(kernel, flow, access):
                continue
            is_one = not tiles.facts_of(access.pointer).shape
            if is_one and (is_persistent or not _is_reduced(access)):
                # A count that a program adds to now and then, or once for each unit.
                continue
            if is_one and _reads_long(module, kernel, flow, tiles):
                continue
            axis = _contended_axis(module, kernel, flow, tiles, access, is_persistent)
            if axis is None:
                continue
            yield Finding(
                module.index.range_of(access.node),
                f"Every program along axis {axis} of the grid {_atomic_action(access)} the same "
                f"{'address' if is_one else 'addresses'} of {access.base or 'memory'}, one program "
                "after another; a partial result for each of a fixed number of programs, summed "
                "afterwards, waits for none.",
                kernel.name,
                related=_grids(launches),
            )


def _atomic_action(access: Access) -> str:
    """What an atomic does to an address."""
    name = ast.unparse(access.node.func).rpartition("_")[2]
    return {"max": "takes the maximum at", "min": "takes the minimum at"}.get(name, "adds to")


def _reads_long(module: Module, kernel: Kernel, flow: Flow, tiles: Tiles) -> bool:
    """Whether each program is known to read so much that its one addition takes less time."""
    shapes = [tiles.facts_of(access.pointer).shape for access in flow.loads]
    sizes = [
        max((size for shape in shapes if (size := elements_of(shape, numbers))), default=0)
        for _, numbers in source_numbers(module, kernel)
    ]
    return bool(sizes) and min(sizes) >= _LONG_READ


def _is_ticket(module: Module, access: Access) -> bool:
    """Whether what was there before is used: then the atomic hands out numbers, or counts."""
    return not (isinstance(access.statement, ast.Expr) and access.statement.value is access.node)


def _is_conditional(kernel: Kernel, flow: Flow, access: Access) -> bool:
    """Whether it runs under a condition that is not decided when the kernel is compiled."""
    if not access.branches:
        return False
    constant = set(kernel.constexprs)
    for node in nodes_of(kernel.node):
        if isinstance(node, ast.If) and node.lineno < access.node.lineno <= (node.end_lineno or 0):
            test = flow.values.get(node.test)
            parts = () if test is None else walk(test)
            is_known = all(
                part.op in ("const", "compare", "bool", "unary", "binary")
                or (part.op == "param" and part.detail in constant)
                for part in parts
            )
            if test is None or not is_known:
                return True
    return False


def _is_reduced(access: Access) -> bool:
    """Whether a program adds what it has reduced over a tile before."""
    return access.result is not None and any(
        part.is_call(*_REDUCTIONS) for part in walk(access.result)
    )


def _shares_tiles(flow: Flow) -> bool:
    """Whether a fixed number of programs walks over all tiles: then few add at a time."""
    return any(True for _ in flow.calls(TL + "num_programs"))


def _contended_axis(
    module: Module,
    kernel: Kernel,
    flow: Flow,
    tiles: Tiles,
    access: Access,
    is_persistent: bool,
) -> int | None:
    """An axis over which neither address nor mask differs, of very many or of hundreds."""
    facts = tiles.facts_of(access.pointer)
    if facts.programs is None or (facts.shape and all(side == 1 for side in facts.shape)):
        return None
    differing = set(facts.programs)
    if access.mask is not None:
        masked = tiles.facts_of(access.mask).programs
        if masked is None:
            return None
        differing |= masked
    is_many = multiplies_the_units if is_persistent else grows_with_the_problem
    used = {v.detail for v in flow.values.values() if v.op == "program_id"}
    for axis in sorted(axis for axis in used if isinstance(axis, int)):
        if axis not in differing and all(
            is_many(module, kernel, launch, axis) for launch in module.launches_of(kernel.name)
        ):
            return axis
    return None


def _grids(launches: tuple[Launch, ...] | list[Launch]) -> tuple[Related, ...]:
    return tuple(Related("launched here", launch.range) for launch in launches[:3])
