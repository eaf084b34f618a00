"""The detector of second passes over data that has left the cache by then."""

from collections.abc import Iterator
from itertools import combinations
from math import prod

from tilewright.analysis.detectors.chips import chip_of
from tilewright.analysis.detectors.common import triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.detectors.sizes import BYTES
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.values import Access, Flow, Loop, same_form, walk
from tilewright.hardware.model import Chip
from tilewright.source.model import Module
from tilewright.targets.model import LaunchFacts


@detector("cache_eviction_risk")
def cache_eviction_risk(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Rows read in two loops that, over all units at once, are more than the cache holds."""
    chip = chip_of(context)
    if chip is None or chip.l2_bytes is None:
        return
    for kernel, flow in triton_kernels(module):
        launches = [x for x in context.launches if x.kernel == kernel.name]
        if not launches or len(flow.loops) < 2:
            continue
        for first, again in _second_passes(flow):
            loop = flow.loops[again.loops[-1]]
            sizes = [_bytes_at_once(again, loop, launch, chip) for launch in launches]
            known = [size for size in sizes if size is not None]
            if not known or len(known) < len(sizes) or min(known) <= chip.l2_bytes:
                continue
            yield Finding(
                module.index.range_of(again.node),
                f"One row of {again.base} for each of {chip.compute_units} compute units is "
                f"{min(known) >> 20} MiB, more than the {chip.l2_bytes >> 20} MiB of last-level "
                "cache, so this second pass reads them from memory again.",
                kernel.name,
                related=(Related("first read here", module.index.range_of(first.node)),),
            )
            break


def _second_passes(flow: Flow) -> Iterator[tuple[Access, Access]]:
    """Loads of the same addresses in two loops that stand side by side."""
    inner = [a for a in flow.loads if a.loops and _walks(flow, a) and not _keeps(a)]
    for first, again in combinations(inner, 2):
        one, two = first.loops[-1], again.loops[-1]
        if one == two or first.base is None or first.base != again.base:
            continue
        if flow.loops[one].parent == flow.loops[two].parent and same_form(
            first.pointer, again.pointer, {one: two}
        ):
            yield first, again


def _walks(flow: Flow, access: Access) -> bool:
    """Whether an address moves on with the innermost loop."""
    number = access.loops[-1]
    parts = list(walk(access.pointer))
    return flow.loops[number].bounds is not None and (
        any(v.op == "loop_index" and v.detail == number for v in parts)
        and any(v.op == "arange" for v in parts)
        and not any(v.op == "load" for v in parts)
    )


def _keeps(access: Access) -> bool:
    """Whether the load says already what the cache should do with it."""
    return any(k.arg in ("eviction_policy", "cache_modifier") for k in access.node.keywords)


def _bytes_at_once(access: Access, loop: Loop, launch: LaunchFacts, chip: Chip) -> int | None:
    """Bytes that one program on each unit reads in a whole loop; None if not known."""
    programs = prod(launch.grid)
    argument = launch.argument(access.base or "")
    width = BYTES.get(argument.type.removeprefix("*")) if argument is not None else None
    if loop.bounds is None or width is None or programs < chip.compute_units:
        return None
    start, stop = (number_of(bound, Numbers.of_launch(launch)) for bound in loop.bounds[:2])
    if start is None or stop is None or loop.bounds[2].op == "const":
        return None
    return (stop - start) * width * chip.compute_units
