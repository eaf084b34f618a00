"""What takes the estimated time of an NKI kernel: sentences with lines and issues of the taxonomy.

They are about the estimate; nothing in them was measured. ``weight`` is the part of the estimated
time that is at stake if engines did not overlap: it orders findings and promises nothing.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tilewright.costs.nki.cycles import short_name
from tilewright.costs.nki.model import Engine, Footprint, NkiFinding
from tilewright.costs.nki.work import Work, is_broadcast, is_fp32, is_product, is_transfer
from tilewright.hardware.neuron import NeuronChip

_SHARE = 0.1
"""What is below this part of the estimated time is not worth a sentence."""
_LEAST = 0.01
_MUCH_OF_ENGINE = 0.15
_FULL_ROW_BYTES = 4096
_FILLED = 0.6
Cost = tuple[Work, float]
"""Work and its seconds."""


def findings_of(
    found: Sequence[Work],
    chip: NeuronChip,
    busy: Mapping[Engine, float],
    seconds: float,
    footprint: Footprint | None,
) -> tuple[NkiFinding, ...]:
    """Findings, the heaviest first.

    Args:
        busy: of each engine; seconds: the estimate.
    """
    costs = [
        (work, min(work.seconds.values()) * work.runs)
        for work in found
        if work.runs and work.seconds
    ]
    rules = (
        *_busiest(costs, busy, seconds),
        *_passes(costs, seconds, chip),
        *_unfilled(costs, seconds, chip),
        *_transposes(costs, busy, seconds),
        *_short_rows(costs, seconds, chip),
        *_again(costs, seconds),
        *_spilled(footprint, seconds, chip),
    )
    return tuple(sorted(rules, key=lambda finding: -finding.weight))


def _busiest(
    costs: Sequence[Cost], busy: Mapping[Engine, float], seconds: float
) -> Iterator[NkiFinding]:
    engine = max(busy, key=lambda one: busy[one])
    mine = [
        cost for cost in costs if min(cost[0].seconds, key=cost[0].seconds.__getitem__) is engine
    ]
    text = f"the {_named(engine)} is busy for {_ms(busy[engine])} of an estimated {_ms(seconds)}"
    line = None
    if mine:
        work, most = max(mine, key=lambda cost: cost[1])
        line = work.record["line"]
        text += f"; line {line} takes {_ms(most)} of it: {_described(work)}"
    yield NkiFinding("busiest", text, busy[engine] / seconds, line)


def _passes(costs: Sequence[Cost], seconds: float, chip: NeuronChip) -> Iterator[NkiFinding]:
    wide = [cost for cost in _products(costs) if is_fp32(cost[0].record)]
    time = sum(cost[1] for cost in wide)
    if time < _SHARE * seconds:
        return
    line = max(wide, key=lambda cost: cost[1])[0].record["line"]
    yield NkiFinding(
        "fp32",
        f"products of fp32 take {chip.fp32_passes} passes, {_ms(time)} of the tensor engine; "
        f"bfloat16 operands would take {_ms(time / chip.fp32_passes)}, with 8 bits of precision",
        time * (1 - 1 / chip.fp32_passes) / seconds,
        line,
        ("nki_fp32_matmul",),
    )


def _unfilled(costs: Sequence[Cost], seconds: float, chip: NeuronChip) -> Iterator[NkiFinding]:
    """Products that leave part of the array or of their cycles unused."""
    lost: dict[int, float] = defaultdict(float)
    for work, time in _products(costs):
        record = work.record
        filled = record["k"] * record["m"] / (chip.partitions * chip.stationary_columns)
        filled *= min(1.0, record["n"] / chip.issue_cycles)
        if filled < _FILLED:
            lost[record["line"]] += time * (1 - filled)
    if sum(lost.values()) < _SHARE * seconds:
        return
    line = max(lost, key=lambda one: lost[one])
    record = next(work.record for work, _ in costs if work.record["line"] == line)
    yield NkiFinding(
        "unfilled",
        f"line {line} multiplies {record.get('k')} x {record.get('m')} by {record.get('n')} "
        f"columns, where the tensor engine takes {chip.partitions} x {chip.stationary_columns} by "
        f"{chip.moving_columns}; {_ms(lost[line])} of its time is unused",
        lost[line] / seconds,
        line,
        ("nki_small_matmul_tile",),
    )


def _transposes(
    costs: Sequence[Cost], busy: Mapping[Engine, float], seconds: float
) -> Iterator[NkiFinding]:
    turned = [cost for cost in costs if is_product(cost[0].record) and _turns(cost[0])]
    time = sum(cost[1] for cost in turned)
    if time < max(_MUCH_OF_ENGINE * busy[Engine.TENSOR], _SHARE / 2 * seconds):
        return
    line = max(turned, key=lambda cost: cost[1])[0].record["line"]
    yield NkiFinding(
        "transposes",
        f"transposes take {_ms(time)} of the tensor engine, most in line {line}",
        time / seconds,
        line,
        ("nki_matmul_needs_transpose", "nki_repeated_transpose"),
    )


def _short_rows(costs: Sequence[Cost], seconds: float, chip: NeuronChip) -> Iterator[NkiFinding]:
    """Transfers whose partitions get few bytes each."""
    lost: dict[int, tuple[float, float]] = {}
    for work, time in costs:
        record = work.record
        if not is_transfer(record) or not record.get("bytes"):
            continue
        row = record["bytes"] / record["partitions"]
        if row >= _FULL_ROW_BYTES:
            continue
        wasted = time * (1 - 1 / (1 + chip.calibration.short_row_bytes / row))
        before, _ = lost.get(record["line"], (0.0, row))
        lost[record["line"]] = (before + wasted, row)
    total = sum(wasted for wasted, _ in lost.values())
    if total < _SHARE * seconds:
        return
    line = max(lost, key=lambda one: lost[one][0])
    wasted, row = lost[line]
    yield NkiFinding(
        "short_rows",
        f"line {line} moves {row:,.0f} bytes of a partition at a time; about {_ms(total)} of all "
        "transfers is lost to rows that are short",
        total / seconds,
        line,
        ("nki_small_dma",),
    )


def _again(costs: Sequence[Cost], seconds: float) -> Iterator[NkiFinding]:
    """Transfers of what was transferred before, which SBUF has no room to keep."""
    again: dict[int, tuple[float, Work]] = {}
    for work, time in costs:
        if is_transfer(work.record) and work.distinct < work.runs:
            before = again.get(work.record["line"], (0.0, work))[0]
            again[work.record["line"]] = (before + time * (1 - work.distinct / work.runs), work)
    total = sum(time for time, _ in again.values())
    if total < _SHARE * seconds:
        return
    line = max(again, key=lambda one: again[one][0])
    time, work = again[line]
    yield NkiFinding(
        "again",
        f"line {line} moves {work.runs:,} tiles of which {work.distinct:,} differ: SBUF has no "
        f"room for the {work.kept_bytes // 1024:,} KiB of a partition that keeping them takes; "
        f"{_ms(time)} of DMA",
        time / seconds,
        line,
        ("nki_reloaded_block", "nki_loop_invariant_load"),
    )


def _spilled(footprint: Footprint | None, seconds: float, chip: NeuronChip) -> Iterator[NkiFinding]:
    if footprint is None:
        return
    moved = footprint.spill_saved + footprint.spill_reloaded
    time = moved / (chip.bandwidth_gbs * 1e9)
    if time < _LEAST * seconds:
        return
    names = ", ".join(f"{name} {size // 1024:,} KiB" for name, size in footprint.largest)
    yield NkiFinding(
        "spills",
        f"{footprint.sbuf // 1024:,} KiB of a partition are alive at once ({names}) and SBUF has "
        f"{footprint.sbuf_limit // 1024:,}: about {moved / 1e6:,.0f} MB go through HBM, "
        f"{_ms(time)}",
        time / seconds,
        footprint.line,
        ("nki_sbuf_over_capacity",),
    )


def _products(costs: Sequence[Cost]) -> list[Cost]:
    """Those that compute."""
    return [cost for cost in costs if is_product(cost[0].record) and not _moves(cost[0])]


def _moves(work: Work) -> bool:
    return _turns(work) or is_broadcast(work.record)


def _turns(work: Work) -> bool:
    return bool(work.record.get("transpose"))


def _named(engine: Engine) -> str:
    return "DMA" if engine is Engine.DMA else f"{engine} engine"


def _described(work: Work) -> str:
    record = work.record
    return f"{work.runs:,} {short_name(record)} of {record['partitions']} x {record['free']:,}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.3g} ms"
