"""A chip's figures, each with its source, as ``knowledge/hardware/*.yaml`` states them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from pydantic import ConfigDict

from tilewright.errors import InputError
from tilewright.hardware.neuron import NeuronChip, TargetParts

_STRICT = ConfigDict(extra="forbid")
_NAMES = frozenset({"id", "label", "vendor", "chip", "menu", "sources", "residency", "rates"})


class HardwareError(InputError):
    """A chip that is not in ``knowledge/hardware``."""


@dataclass(frozen=True)
class DotConfig:
    """Tile shape and compiler options of a matrix-product kernel.

    ``register_mode`` is "128" or "256" registers a thread on Intel, None elsewhere; Triton for
    Intel before 3.6 calls them "small" and "large".
    """

    __pydantic_config__ = _STRICT

    block_m: int
    block_n: int
    block_k: int
    num_warps: int
    num_stages: int
    group_m: int
    register_mode: str | None = None


@dataclass(frozen=True)
class RowConfig:
    """Block and warps of a kernel that works on one row a program.

    ``resident`` tells that the block covers the row, so that it is read once; otherwise the
    kernel loops over the row in pieces of ``block``.
    """

    block: int
    num_warps: int
    resident: bool


@dataclass(frozen=True)
class Menu:
    """What the configuration search may choose from on a chip.

    Attributes:
        warps, stages: admissible num_warps and num_stages of a dot kernel; stages best first.
        k_bytes: bytes of one row of an operand tile along K that its loads like best.
        group_m: rows of tiles that grouped program order visits together.
        accumulator_share: most of a warp's registers the fp32 accumulator may take; found by
            compiling a plain product kernel until it did not spill.
        bytes_in_flight: staged operands below this are scored down, where copies run
            asynchronously; 0 turns that off. Chosen from timings on one H200.
        register_mode: of generated configurations, on Intel.
        canonical: configurations the vendor's own kernels use.
    """

    __pydantic_config__ = _STRICT

    warps: tuple[int, ...]
    stages: tuple[int, ...]
    k_bytes: int
    group_m: int
    accumulator_share: float
    bytes_in_flight: int = 0
    register_mode: str | None = None
    canonical: tuple[DotConfig, ...] = ()


@dataclass(frozen=True)
class Residency:
    """What one compute unit keeps of the programs that run on it at a time.

    Attributes:
        unit: what the vendor calls it.
        partitions: schedulers with a register file each: sub-partitions, SIMDs, vector engines.
        warps: that one partition keeps at most.
        registers: a thread's registers that one partition has for all its warps together.
        register_granule: a thread's registers come in multiples of this.
        warp_granule: a program's warps count as a multiple of this where its registers must fit.
        shared_bytes: for all programs of the unit together.
        shared_granule: a program's shared memory comes in multiples of this.
        shared_sizes: a program's shared memory is one of these, if any are given, in order.
        shared_reserved: bytes more that each program takes.
        programs: at most, whatever they take; None: no such bound is known.
        source: where these figures come from.
    """

    __pydantic_config__ = _STRICT

    unit: str
    partitions: int
    warps: int
    registers: int
    register_granule: int
    shared_bytes: int
    shared_granule: int
    source: str
    warp_granule: int = 1
    shared_reserved: int = 0
    programs: int | None = None
    shared_sizes: tuple[int, ...] = ()

    def shared_taken(self, shared_bytes: int) -> int:
        """Bytes of the unit's shared memory that a program takes which asks for so many."""
        asked = shared_bytes + self.shared_reserved
        step = next((size for size in self.shared_sizes if size >= asked), 0) if asked else 0
        return step or -(-asked // self.shared_granule) * self.shared_granule


@dataclass(frozen=True)
class Rates:
    """What a chip does in a time, for estimates of it. None: not known, or not published.

    Attributes:
        clock_mhz: the highest that the vendor states for work on all units (boost, game clock).
        fp32_lanes: fp32 multiply-adds of one compute unit in a cycle.
        special_lanes: transcendental fp32 results (exp2, rsqrt, ...) of one unit in a cycle.
        shared_bytes: read from one unit's shared memory in a cycle.
        tensor_flops: of one unit's tensor instructions in a cycle, dense, a multiply-add being
            two, by element type; a type that is not named is not known.
        l2_bandwidth_gbs: of reads that hit the cache that all units share, 10^9 bytes a second.
        memory_latency_ns: of a load from device memory.
        launch_us: between a launch and its kernel's first instruction.
        sources: where each figure comes from, by its name.
    """

    __pydantic_config__ = _STRICT

    clock_mhz: int | None
    fp32_lanes: int | None
    special_lanes: int | None
    shared_bytes: int | None
    tensor_flops: Mapping[str, int]
    l2_bandwidth_gbs: float | None
    memory_latency_ns: float | None
    launch_us: float | None
    sources: Mapping[str, str]


@dataclass(frozen=True)
class Chip(TargetParts):
    """One compile target and a representative chip of it. None: not known.

    Attributes:
        id: the target, "cuda:90".
        chip: the product the chip-wide figures are of.
        warp_size: threads a warp (sub-group of the matrix instruction on Intel).
        max_warps: warps a program.
        max_registers: registers a thread, as the vendor counts them.
        register_bytes: bytes of registers one warp can hold, in the largest mode.
        register_file_bytes, shared_per_unit: of one compute unit.
        shared_limit: bytes of shared memory a program may take.
        compute_units: multiprocessors, compute units or Xe cores.
        bandwidth_gbs: of device memory, in 10^9 bytes a second.
        peaks: dense 10^12 operations a second, by element type.
        sources: where each figure comes from.
        residency: for occupancy; it has its own source.
        rates: for estimates of time; with their own sources.
    """

    __pydantic_config__ = _STRICT

    id: str
    label: str
    vendor: str
    chip: str
    warp_size: int
    max_warps: int
    max_registers: int
    register_bytes: int
    register_file_bytes: int
    shared_limit: int
    shared_per_unit: int
    compute_units: int
    memory_gb: float | None
    bandwidth_gbs: float | None
    l2_bytes: int | None
    peaks: Mapping[str, float | None]
    menu: Menu
    sources: Mapping[str, str]
    max_warps_large_registers: int | None = None
    residency: Residency | None = None
    rates: Rates | None = None

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the fields that are figures, so that each owes a source."""
        optional = (
            {"max_warps_large_registers"} if self.max_warps_large_registers is None else set()
        )
        return tuple(f.name for f in fields(self) if f.name not in _NAMES | optional)


@dataclass(frozen=True)
class HardwareFile:
    """One file of ``knowledge/hardware``: GPUs, NeuronCores."""

    __pydantic_config__ = _STRICT

    chips: tuple[Chip, ...]
    neuron_chips: tuple[NeuronChip, ...] = ()
