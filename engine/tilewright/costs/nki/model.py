"""Estimates of NKI kernels: busy time of each engine, a bound, a range, the profiler's terms."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Engine(StrEnum):
    """What works in parallel on a NeuronCore."""

    TENSOR = "tensor"
    VECTOR = "vector"
    SCALAR = "scalar"
    GPSIMD = "gpsimd"
    DMA = "dma"


@dataclass(frozen=True)
class Footprint:
    """On-chip memory that is alive at a time, at most. Bytes of one partition.

    Attributes:
        sbuf, psum: alive at once, if each loop keeps only what its iterations pass on.
        sbuf_limit, psum_limit: of the chip.
        spill: bytes of a partition that do not fit SBUF and go through HBM.
        line: where SBUF is fullest; None where nothing is stored on the chip.
    """

    sbuf: int
    psum: int
    sbuf_limit: int
    psum_limit: int
    spill: int
    line: int | None


@dataclass(frozen=True)
class LineTime:
    """What one line of the user's file (1-based) keeps busy, in seconds by engine."""

    line: int
    busy: Mapping[Engine, float]
    count: int


@dataclass(frozen=True)
class NkiEstimate:
    """An estimate of one launch on one NeuronCore; times in seconds. Nothing of it was measured.

    Attributes:
        target: "neuron:trn2".
        busy: of each engine, all its instructions one after the other.
        bottleneck: the engine that is busy longest.
        bound: its busy time; the kernel takes at least that, as far as the figures are right.
        low, usual, high: the range that measured kernels kept over such a bound, and its middle.
        roofline: the least time of the arithmetic and of the traffic that cannot be avoided.
        roofline_percent: ``roofline`` over ``usual``.
        terms: values under the names that neuron-profile gives them; a value of None is not known.
        lines: by line.
        footprint: None where the stream does not tell lifetimes.
        caveats: what the estimate leaves out or assumes, as sentences.
    """

    target: str
    busy: Mapping[Engine, float]
    bottleneck: Engine
    bound: float
    low: float
    usual: float
    high: float
    roofline: float
    roofline_percent: float
    terms: Mapping[str, float | None]
    lines: tuple[LineTime, ...] = ()
    footprint: Footprint | None = None
    caveats: tuple[str, ...] = ()
