"""More live bytes in a partition than SBUF or PSUM has."""

import ast
from collections.abc import Iterator
from math import prod

from tilewright.analysis.detectors.common import found
from tilewright.analysis.detectors.nki.kernels import (
    interpreted,
    reads_of,
    results_of,
    see,
    writes_of,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nki import Flow, Loop, Memory, Operation, Storage
from tilewright.analysis.nki.catalogue import DTYPE_BYTES
from tilewright.analysis.nki.model import IndexKind
from tilewright.source.model import Kernel, Module, NkiFlavour

_PSUM = 16 * 1024
_SBUF = {"trn1": 192 * 1024, "inf2": 192 * 1024, "trn2": 224 * 1024, "trn3": 256 * 1024}
_LARGEST = {NkiFlavour.NEURONXCC: 224 * 1024, NkiFlavour.NKI: 256 * 1024, None: 256 * 1024}


@detector("nki_sbuf_over_capacity")
def sbuf_over_capacity(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        limit, whose = _LARGEST[flow.flavour], "the largest chip"
        if context.target is not None:
            for name, size in _SBUF.items():
                if context.target.arch.startswith(name):
                    limit, whose = size, name
        yield from _over(module, kernel, flow, Memory.SBUF, limit, whose)


@detector("nki_psum_over_capacity")
def psum_over_capacity(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        yield from _over(module, kernel, flow, Memory.PSUM, _PSUM, "each chip")


def _over(
    module: Module, kernel: Kernel, flow: Flow, memory: Memory, limit: int, whose: str
) -> Iterator[Finding]:
    lives = [life for s in flow.storages if (life := _life(flow, s, memory)) is not None]
    peak, live = _peak(lives)
    if peak <= limit:
        return
    largest = sorted(live, key=lambda life: -life[2])
    nodes = [life[3].node for life in largest]
    node = nodes[0]
    if not isinstance(node, ast.expr):
        return
    names = ", ".join(f"{life[3].name} {_kib(life[2])}" for life in largest[:3])
    text = (
        f"As written, {_kib(peak)} of {memory} are live at once in each partition ({names}), and "
        f"{whose} has {_kib(limit)}{_consequence(flow, memory)}."
    )
    related = [r for n in nodes[1:3] for r in see(module, "live at the same time", n)]
    yield found(module, kernel, node, text, related)


def _consequence(flow: Flow, memory: Memory) -> str:
    """What the older package's compiler does; the newer one places what is written."""
    spills = memory is Memory.SBUF and flow.is_older
    return ": the compiler spills the rest to HBM and loads it again" if spills else ""


def _kib(size: int) -> str:
    return f"{size / 1024:.4g} KiB"


_Life = tuple[int, int, int, Storage]


def _life(flow: Flow, storage: Storage, memory: Memory) -> _Life | None:
    """From the first write to the last read, and the bytes of a partition it takes for sure."""
    if storage.memory is not memory or storage.shape is None or storage.dtype is None:
        return None
    sides = flow.numbers(storage.shape[storage.partition + 1 :])
    known = [side for side in sides or () if side is not None]
    if len(known) != len(storage.shape) - storage.partition - 1:
        return None
    uses = reads_of(flow).get(storage, ())
    writes = list(writes_of(flow).get(storage, ()))
    made = results_of(flow).get(storage)
    writes += [made] if made is not None else []
    if not uses or not writes or all(use.name == "assign" and use.source is made for use in uses):
        return None
    size = prod(known) * DTYPE_BYTES[storage.dtype]
    size *= _blocks(flow, storage, writes, uses)
    first = min(write.order for write in writes)
    return first, max(use.order for use in uses), size, storage


def _blocks(
    flow: Flow, storage: Storage, writes: list[Operation], uses: tuple[Operation, ...]
) -> int:
    """Block instances that are live at once: those of loops left between writing and reading."""
    count = 1
    for axis in range(storage.partition):
        side = flow.number(storage.shape[axis]) if storage.shape is not None else None
        loops = {loop for write in writes for loop in _over_axis(write, storage, axis)}
        left = [loop for loop in loops if any(loop not in use.loops for use in uses)]
        if side is not None and loops and len(left) == len(loops):
            count *= side
    return count


def _over_axis(write: Operation, storage: Storage, axis: int) -> Iterator[Loop]:
    for view in write.writes:
        if view.storage is not storage or view.indices is None or axis >= len(view.indices):
            continue
        index = view.indices[axis]
        if index.kind is IndexKind.POINT and index.base is not None:
            yield from (loop for loop in write.loops if loop.symbol in index.base.symbols)


def _peak(lives: list[_Life]) -> tuple[int, list[_Life]]:
    """The most bytes live at one point, and what they are."""
    best, at = 0, 0
    for start, *_ in lives:
        total = sum(size for first, last, size, _ in lives if first <= start <= last)
        if total > best:
            best, at = total, start
    return best, [life for life in lives if life[0] <= at <= life[1]]
