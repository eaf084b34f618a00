"""What neuron-profile would count, under its own names; bytes of compute are of one partition.

Identities between instructions and the profiler were checked on the baselines of NKIBench; those
that hold exactly where nothing is hoisted or spilled are ``hardware_flops``, ``transpose_flops``,
``hbm_read_bytes`` and ``hbm_write_bytes`` (docs/nki-cost.md has the table).
"""

from collections.abc import Mapping, Sequence

from tilewright.costs.nki.cycles import element_bytes
from tilewright.costs.nki.model import Engine, Footprint
from tilewright.costs.nki.work import Work, flops_factor, is_product
from tilewright.hardware.neuron import NeuronChip
from tilewright.worker.messages.nki import InstructionRecord, TilePart

_FP32 = 2


def profile_terms(
    found: Sequence[Work],
    chip: NeuronChip,
    footprint: Footprint | None,
    seconds: float,
    busy: Mapping[Engine, float],
) -> dict[str, float | None]:
    """The terms of one launch; ``latency`` is in ms, and what is called percent a fraction.

    Args:
        seconds: the estimated time; busy: of each engine.
    """
    products = [work for work in found if is_product(work.record)]
    flops = sum(_flops(work) for work in products)
    transposes = sum(_flops(work) for work in products if work.record.get("transpose"))
    saved = 0 if footprint is None else footprint.spill_saved
    reloaded = 0 if footprint is None else footprint.spill_reloaded
    read = _moved(found, "reads") + reloaded
    written = _moved(found, "writes") + saved
    peak = 2.0 * chip.partitions * chip.stationary_columns * chip.clock_mhz["tensor"] * 1e6
    spills: dict[str, float | None] = {
        "spill_reload_bytes": None if footprint is None else reloaded,
        "spill_save_bytes": None if footprint is None else saved,
    }
    return {
        "latency": seconds * 1e3,
        "hbm_read_bytes": read,
        "hbm_write_bytes": written,
        "psum_read_bytes": sum(_compute(work, "reads", "PSUM") for work in found),
        "psum_write_bytes": sum(_compute(work, "writes", "PSUM") for work in found),
        "sbuf_read_bytes": written + sum(_compute(work, "reads", "SBUF") for work in found),
        "sbuf_write_bytes": read + sum(_compute(work, "writes", "SBUF") for work in found),
        **spills,
        "hardware_flops": flops,
        "transpose_flops": transposes,
        "peak_flops_bandwidth_ratio": peak / (chip.bandwidth_gbs * 1e9),
        "mm_arithmetic_intensity": (flops - transposes) / max(1, read + written),
        "hfu_estimated_percent": flops / (peak * seconds),
        "scalar_engine_active_time_percent": min(1.0, busy[Engine.SCALAR] / seconds),
        "vector_engine_active_time_percent": min(1.0, busy[Engine.VECTOR] / seconds),
        "gpsimd_engine_active_time_percent": min(1.0, busy[Engine.GPSIMD] / seconds),
    }


def _flops(work: Work) -> int:
    record = work.record
    each = 2 * record["k"] * record["m"] * record["n"] * flops_factor(record)
    return each * work.runs


def _moved(found: Sequence[Work], side: str) -> int:
    """Bytes that leave HBM ("reads") or reach it ("writes")."""
    return sum(
        work.record.get("bytes", 0) * work.runs
        for work in found
        if any(tile["memory"] == "HBM" for tile in _side(work.record, side))
    )


def _compute(work: Work, side: str, memory: str) -> int:
    """Bytes of one partition that an engine reads from a memory, or writes to it."""
    record = work.record
    if "bytes" in record:
        return 0
    tiles = [tile for tile in _side(record, side) if tile["memory"] == memory]
    # Products of fp32 were seen to count twice.
    factor = _FP32 if is_product(record) and flops_factor(record) == _FP32 else 1
    return factor * work.runs * sum(tile["free"] * element_bytes(tile) for tile in tiles)


def _side(record: InstructionRecord, side: str) -> list[TilePart]:
    return record["reads"] if side == "reads" else record["writes"]
