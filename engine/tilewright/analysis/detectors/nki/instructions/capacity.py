"""More live bytes in a partition than SBUF or PSUM has."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import finding_at
from tilewright.analysis.detectors.nki.kernels import interpreted, see
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nki import Flow, Memory
from tilewright.analysis.nki.footprint import lives, peak
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
        yield from _capacity_findings(module, kernel, flow, Memory.SBUF, limit, whose)


@detector("nki_psum_over_capacity")
def psum_over_capacity(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        yield from _capacity_findings(module, kernel, flow, Memory.PSUM, _PSUM, "each chip")


def _capacity_findings(
    module: Module, kernel: Kernel, flow: Flow, memory: Memory, limit: int, whose: str
) -> Iterator[Finding]:
    # A tile of unknown type takes an unknown number of bytes, and counts for nothing here.
    known = [life for life in lives(flow, memory) if life.storage.dtype is not None]
    most, live = peak(known)
    if most <= limit:
        return
    largest = sorted(live, key=lambda life: -life.size)
    nodes = [life.storage.node for life in largest]
    node = nodes[0]
    if not isinstance(node, ast.expr):
        return
    names = ", ".join(f"{life.storage.name} {_kib(life.size)}" for life in largest[:3])
    text = (
        f"As written, {_kib(most)} of {memory} are live at once in each partition ({names}), and "
        f"{whose} has {_kib(limit)}{_consequence(flow, memory)}."
    )
    related = [r for n in nodes[1:3] for r in see(module, "live at the same time", n)]
    yield finding_at(module, kernel, node, text, related)


def _consequence(flow: Flow, memory: Memory) -> str:
    """What the older package's compiler does; the newer one places what is written."""
    spills = memory is Memory.SBUF and flow.is_older
    return ": the compiler spills the rest to HBM and loads it again" if spills else ""


def _kib(size: int) -> str:
    return f"{size / 1024:.4g} KiB"
