"""What an instruction keeps busy: seconds on each engine that may run it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.costs.nki.cycles import (
    COPIES,
    ELEMENTWISE,
    FILLS,
    cycles_of,
    element_bytes,
    short_name,
)
from tilewright.costs.nki.merges import merges_of, place_of
from tilewright.costs.nki.model import Engine
from tilewright.hardware.neuron import NeuronChip
from tilewright.worker.messages.nki import InstructionRecord, TilePart

_TRANSFERS = frozenset(
    (
        *("load", "store", "load_transpose2d", "atomic_rmw", "gather_flattened", "dma_copy"),
        *("dma_transpose", "dma_compute"),
    )
)
_HOISTED = _TRANSFERS | COPIES | FILLS | {"broadcast_to"}


@dataclass(frozen=True)
class Work:
    """One instruction of a record, on each engine that may run it.

    Attributes:
        seconds: by engine; the compiler chooses one of them.
        runs: how often it runs.
        distinct: how often if nothing is repeated whose result could be kept.
        kept_bytes: of a partition, that results take which are kept for that.
        documented: its price follows a documented cost.
    """

    record: InstructionRecord
    seconds: Mapping[Engine, float]
    runs: int
    distinct: int
    kept_bytes: int = 0
    documented: bool = True


def works(records: Sequence[InstructionRecord], chip: NeuronChip) -> Iterator[Work]:
    """What records keep busy: several instructions where a function of NKI stands for several."""
    merges = merges_of(records)
    for record in records:
        place = place_of(record)
        for one in _expanded(record):
            work = _work(one, chip, place in merges.of_one_tile)
            yield replace(work, runs=0, distinct=0) if place in merges.left_out else work


def is_transfer(record: InstructionRecord) -> bool:
    """Whether it moves data by DMA."""
    return short_name(record) in _TRANSFERS


def is_product(record: InstructionRecord) -> bool:
    """Whether it runs on the tensor engine, with k, m and n."""
    return "k" in record and record["engine"] != "vector"


def is_broadcast(record: InstructionRecord) -> bool:
    """Whether a product with ones copies one partition to all."""
    return short_name(record) == "broadcast_to" and is_product(record)


def flops_factor(record: InstructionRecord) -> int:
    """What the profiler counts a product's operations times: 2 for fp32, 1 for a broadcast."""
    return 1 if is_broadcast(record) or not is_fp32(record) else 2


def _expanded(record: InstructionRecord) -> Iterator[InstructionRecord]:
    name = short_name(record)
    if name == "broadcast_to":
        yield from _broadcasts(record, record["reads"], record["partitions"])
        return
    if name == "matmul" and not record.get("transpose_x", True):
        yield from _transposed(record)
    elif name in ELEMENTWISE or name == "where":
        yield from _broadcasts(record, record["reads"], record["partitions"])
    if name == "softmax":
        yield from _softmax(record)
        return
    yield record


def _broadcasts(
    record: InstructionRecord, tiles: list[TilePart], partitions: int
) -> Iterator[InstructionRecord]:
    """A product with ones for each tile of one partition that is needed on all."""
    for tile in tiles:
        if tile["partitions"] == 1 < partitions and tile["free"] > 1:
            yield {
                **record, "op": "nki.language.broadcast_to", "engine": "", "reads": [tile],
                "k": 1, "m": partitions, "n": tile["free"], "free": tile["free"],
            }  # fmt: skip


def _transposed(record: InstructionRecord) -> Iterator[InstructionRecord]:
    """What ``nl.matmul`` does to an operand whose rows lie on partitions: transpose, copy."""
    tile = record["reads"][0]
    k, m = tile["free"], tile["partitions"]
    held: TilePart = {**tile, "memory": "PSUM", "partitions": k, "free": m}
    yield {
        **record, "reads": [tile], "writes": [held], "k": m, "m": k, "n": m, "transpose": True,
        "partitions": k, "free": m, "op": "nki.language.transpose",
    }  # fmt: skip
    yield _plain(record, "nki.language.copy", [held], k, m)


def _softmax(record: InstructionRecord) -> Iterator[InstructionRecord]:
    partitions, free = record["partitions"], record["free"]
    for op in ("max", "subtract", "exp", "sum", "reciprocal", "multiply"):
        size = 1 if op == "reciprocal" else free
        yield _plain(record, f"nki.language.{op}", record["reads"][:1], partitions, size)


def _plain(
    record: InstructionRecord, op: str, reads: list[TilePart], partitions: int, free: int
) -> InstructionRecord:
    made: InstructionRecord = {
        "op": op, "engine": "", "count": record["count"], "line": record["line"], "reads": reads,
        "writes": [], "partitions": partitions, "free": free,
    }  # fmt: skip
    if "distinct" in record:
        made["distinct"] = record["distinct"]
    return made


def _work(record: InstructionRecord, chip: NeuronChip, of_one_tile: bool) -> Work:
    name = short_name(record)
    count = record["count"]
    repeats = name in _HOISTED or (record.get("transpose", False) and name != "transpose")
    distinct = record.get("distinct", count) if repeats else count
    made = Work(record, {}, count, distinct, _kept_bytes(record))
    if name in _TRANSFERS:
        return replace(made, seconds={Engine.DMA: _transfer_seconds(record, chip)})
    if is_product(record):
        cycles = _product_cycles(record, chip)
        return replace(made, seconds={Engine.TENSOR: cycles * chip.cycle_seconds("tensor")})
    found = cycles_of(record, chip, of_one_tile=of_one_tile)
    seconds = {
        engine: _with_overhead(number, engine, chip) * chip.cycle_seconds(engine)
        for engine, number in found.by_engine.items()
    }
    return replace(made, seconds=seconds, documented=found.documented)


def _kept_bytes(record: InstructionRecord) -> int:
    """Of a partition: results that are kept so that they are not made again."""
    made = [tile for tile in record["writes"] if tile["memory"] != "HBM"]
    size = max((tile["free"] * element_bytes(tile) for tile in made), default=0)
    return record.get("kept", 1) * size


def _with_overhead(cycles: float, engine: Engine, chip: NeuronChip) -> float:
    return max(cycles, chip.issue_cycles) + chip.calibration.overhead_cycles[engine]


def _product_cycles(record: InstructionRecord, chip: NeuronChip) -> float:
    m, n = record["m"], record["n"]
    passes = 1
    if is_fp32(record):
        # One operand of ones takes half the passes.
        passes = chip.fp32_passes // 2 if is_broadcast(record) else chip.fp32_passes
    least = max(min(chip.issue_cycles, m), n)
    return passes * least + chip.calibration.overhead_cycles["tensor"]


def is_fp32(record: InstructionRecord) -> bool:
    """Whether a product multiplies fp32, or what may be."""
    return all(tile["dtype"] in ("float32", "") for tile in record["reads"])


def _transfer_seconds(record: InstructionRecord, chip: NeuronChip) -> float:
    """Bytes over the rate of all queues, more where a partition's row is short."""
    size = record.get("bytes", 0)
    row = size / max(1, record["partitions"])
    rate = min(chip.dma_gbs, chip.bandwidth_gbs) * 1e9
    return size / rate * (1 + chip.calibration.short_row_bytes / row) if row else 0.0
