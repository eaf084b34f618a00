"""AWS's NeuronCores: figures with sources, as ``knowledge/hardware/aws.yaml`` states them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from pydantic import ConfigDict

_STRICT = ConfigDict(extra="forbid")
_NAMES = frozenset({"id", "label", "vendor", "chip", "sources", "uncertain", "calibration"})


@dataclass(frozen=True)
class Calibration:
    """Constants of the cost model that no document states, found from published profiles.

    Attributes:
        overhead_cycles: of one instruction beyond its elements, by engine, where instructions
            follow each other: access latency of memories, issue.
        elementwise_cycles: cycles an element of a partition, by function, where the documented ones
            do not fit ("reciprocal").
        short_row_bytes: a transfer whose partitions get rows of this size runs at half the rate.
        vector_share: of the priced work of the vector engine, the least that a compiler left of it
            by merging instructions and giving them to other engines.
        serial_share: of what all other engines are busy, what the busiest one waits for.
        scale: of the estimate that these give, to the measured time.
        low, high: least and greatest measured time over the estimate.
        pair_error: two texts whose estimates differ by a smaller factor are not distinguished.
        ordered_error: the same where no engine has more to do in one text than in the other, so
            that their order follows from the counts and from no fitted constant.
        chip: whose profiles these are; another chip takes them over unchecked.
        source: where the profiles come from.
    """

    __pydantic_config__ = _STRICT

    overhead_cycles: Mapping[str, float]
    elementwise_cycles: Mapping[str, float]
    short_row_bytes: int
    vector_share: float
    serial_share: float
    scale: float
    low: float
    high: float
    pair_error: float
    ordered_error: float
    chip: str
    source: str


class TargetParts:
    """The parts of a chip's target, ``id``."""

    id: str

    @property
    def backend(self) -> str:
        """ "cuda", "hip", "xpu" or "neuron"."""
        return self.id.partition(":")[0]

    @property
    def arch(self) -> str:
        """The compiler's name for the architecture: "90", "gfx942", "bmg-g31", "trn2"."""
        return self.id.partition(":")[2]


@dataclass(frozen=True)
class NeuronChip(TargetParts):
    """One kind of NeuronCore. Figures are of one core unless they say device. None: not known.

    Attributes:
        id: the target, "neuron:trn2".
        chip: the product.
        cores: of one device.
        clock_mhz: by engine: "tensor", "vector", "scalar", "gpsimd".
        partitions: of SBUF and PSUM, and lanes of the vector and scalar engine.
        sbuf_bytes, psum_bytes: of one partition.
        sbuf_reserved_bytes: of a partition's SBUF, what kernels cannot have.
        psum_bank_bytes: of a partition's PSUM, what one accumulation may fill.
        stationary_columns, moving_columns: most that one product on the tensor engine takes.
        tensor_tflops: dense peaks, 10^12 a second, by element type.
        fp32_passes: turns that a product of fp32 operands takes.
        issue_cycles: least cycles of an instruction on the tensor, vector and scalar engine.
        gpsimd_start_cycles: of an instruction on the gpsimd engine.
        vector_speedup: elements a cycle and lane of the vector engine for 2-byte types in SBUF, by
            instruction; a name that is not there has 1.
        memory_gb, device_bandwidth_gbs: HBM of the device, 10^9 bytes (a second).
        bandwidth_gbs: a core's share of the device's.
        dma_engines: that serve one core; dma_engine_gbs: of one of them, 10^9 bytes a second.
        nkibench_peaks: what NKIBench takes percentages of: "bandwidth_gbs", "matmul_tflops",
            "vector_gflops".
        sources: where each figure comes from.
        uncertain: figures on which sources disagree, with what else they say.
    """

    __pydantic_config__ = _STRICT

    id: str
    label: str
    vendor: str
    chip: str
    cores: int
    clock_mhz: Mapping[str, int]
    partitions: int
    sbuf_bytes: int
    sbuf_reserved_bytes: int
    psum_bytes: int
    psum_bank_bytes: int
    stationary_columns: int
    moving_columns: int
    tensor_tflops: Mapping[str, float | None]
    fp32_passes: int
    issue_cycles: int
    gpsimd_start_cycles: int
    vector_speedup: Mapping[str, float]
    memory_gb: float
    device_bandwidth_gbs: float
    bandwidth_gbs: float
    dma_engines: int
    dma_engine_gbs: float
    nkibench_peaks: Mapping[str, float | None]
    calibration: Calibration
    sources: Mapping[str, str]
    uncertain: Mapping[str, str]

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the fields that are figures, so that each owes a source."""
        return tuple(f.name for f in fields(self) if f.name not in _NAMES)

    @property
    def sbuf_usable(self) -> int:
        """Bytes of a partition's SBUF that a kernel can have."""
        return self.sbuf_bytes - self.sbuf_reserved_bytes

    @property
    def dma_gbs(self) -> float:
        """All DMA engines of a core together, 10^9 bytes a second."""
        return self.dma_engines * self.dma_engine_gbs

    def cycle_seconds(self, engine: str) -> float:
        """One cycle of an engine."""
        return 1e-6 / self.clock_mhz[engine]
