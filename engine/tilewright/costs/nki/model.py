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
    """On-chip memory that is alive at a time, at most.

    Attributes:
        sbuf, psum: bytes of a partition that the text keeps at once.
        working: of the SBUF bytes, those of tensors that are not spilled.
        sbuf_limit, psum_limit: bytes of a partition that the chip has for kernels.
        spill_saved, spill_reloaded: bytes to and from HBM, over the launch, of what does not fit.
        line: that first fills the largest tensor alive where SBUF is fullest, 1-based.
        largest: the largest tensors there, with their bytes of a partition.
    """

    sbuf: int
    working: int
    psum: int
    sbuf_limit: int
    psum_limit: int
    spill_saved: int
    spill_reloaded: int
    line: int | None
    largest: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class LineTime:
    """What one line of the user's file (1-based) keeps busy, in seconds by engine."""

    line: int
    busy: Mapping[Engine, float]
    count: int


@dataclass(frozen=True)
class NkiFinding:
    """A sentence about an estimate.

    Attributes:
        id: of the kind: "busiest", "fp32", "unfilled", "transposes", "short_rows", "again",
            "spills".
        weight: part of the estimated time at stake; it orders findings.
        line: of the file, 1-based, where it is about one.
        suggests: ids of the taxonomy.
    """

    id: str
    text: str
    weight: float
    line: int | None
    suggests: tuple[str, ...] = ()


@dataclass(frozen=True)
class NkiEstimate:
    """An estimate of one launch on one NeuronCore; times in seconds. Nothing of it was measured.

    Attributes:
        target: "neuron:trn2".
        busy: of each engine, all its instructions one after the other, spills with the DMA.
        bottleneck: the engine that is busy longest.
        bound: the busiest engine, without spills, if the compiler merges what it was seen to merge.
        low, usual, high: the estimate and the range that measured kernels kept around theirs.
        roofline: the least time of the products, and of moving each byte of HBM once.
        roofline_percent: ``roofline`` over ``usual``.
        terms: values under the names that neuron-profile gives them; a value of None is not known.
        lines: by line.
        footprint: None where the stream does not tell lifetimes.
        findings: what takes the time, the heaviest first.
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
    findings: tuple[NkiFinding, ...] = ()
    caveats: tuple[str, ...] = ()
