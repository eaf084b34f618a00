"""The time of an NKI kernel on a NeuronCore, from its instructions: a bound, a range, a bottleneck.

Engines work in parallel. The bound is what the busiest is busy for, if the compiler removes what
repeats, merges elementwise work and balances engines as well as it was seen to. The estimate adds
part of what the other engines are busy for, and the traffic of tensors that do not fit SBUF; its
constants come from published profiles (``hardware.neuron.Calibration``).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tilewright.analysis.nki import Flow, Memory
from tilewright.analysis.nki.footprint import lives, peak
from tilewright.costs.nki.cycles import short_name
from tilewright.costs.nki.findings import findings_of
from tilewright.costs.nki.model import Engine, Footprint, LineTime, NkiEstimate
from tilewright.costs.nki.profile_terms import profile_terms
from tilewright.costs.nki.work import Work, works
from tilewright.hardware.neuron import NeuronChip
from tilewright.worker.messages.nki import InstructionRecord

Busy = dict[Engine, float]
_SHORT = 0.5e-3
"""Seconds; the profiles that the constants come from are of longer kernels."""
_CROWDED = 1.05
"""Compilers were seen to keep results although a twentieth more than SBUF was alive."""


def estimate(
    records: Sequence[InstructionRecord], chip: NeuronChip, footprint: Footprint | None = None
) -> NkiEstimate:
    """The estimate of what ``records`` execute on one core.

    Args:
        footprint: of the text (``footprint_of``); without it nothing is known of spills.

    Raises:
        ValueError: there are no records.
    """
    if not records:
        raise ValueError("there are no instructions to estimate")
    fitted = chip.calibration
    found = _settled(list(works(records, chip)), footprint)
    least = busy_time([replace(work, runs=work.distinct) for work in found])
    share = {Engine.VECTOR: fitted.vector_share}
    bounds = {engine: seconds * share.get(engine, 1.0) for engine, seconds in least.items()}
    bottleneck = max(bounds, key=lambda engine: bounds[engine])
    busy = busy_time(found)
    busy[Engine.DMA] += spill_bytes(footprint) / (chip.bandwidth_gbs * 1e9)
    usual = fitted.scale * together(busy, fitted.serial_share)
    bound = bounds[bottleneck]
    roofline = _roofline(records, found, chip)
    usual = max(usual, bound)
    return NkiEstimate(
        target=chip.id,
        busy=busy,
        bottleneck=max(busy, key=lambda engine: busy[engine]),
        bound=bound,
        low=max(bound, usual * fitted.low),
        usual=usual,
        high=usual * fitted.high,
        roofline=roofline,
        roofline_percent=100 * roofline / usual,
        terms=profile_terms(found, chip, footprint, usual, busy),
        lines=_lines(found),
        footprint=footprint,
        findings=findings_of(found, chip, busy, usual, footprint),
        caveats=tuple(_caveats(found, chip, footprint, usual)),
    )


def _settled(found: list[Work], footprint: Footprint | None) -> list[Work]:
    """How often each runs: what repeats is made once if SBUF has room to keep it."""
    if footprint is None:
        return found
    room = left = footprint.sbuf_limit * _CROWDED - footprint.working
    settled = []
    for work in found:
        kept = work.kept_bytes if work.distinct < work.runs else 0
        # A transpose is kept as the copy that is made of it, in the place of what it was made from.
        fits = kept <= (room if work.record.get("transpose") else left)
        left -= kept if fits and not work.record.get("transpose") else 0
        settled.append(replace(work, runs=work.distinct) if fits else work)
    return settled


def footprint_of(flow: Flow, chip: NeuronChip) -> Footprint:
    """What the text keeps in SBUF and PSUM at once, and what of it goes through HBM."""
    alive = lives(flow, Memory.SBUF)
    most, members = peak(alive)
    psum, _ = peak(lives(flow, Memory.PSUM))
    excess = most - chip.sbuf_usable
    saved = reloaded = spilled = 0
    largest = sorted(members, key=lambda life: -life.size)
    for life in largest:
        if excess <= 0:
            break
        # A tensor that HBM holds too was seen to be loaded again as a whole, others in part.
        moved = life.size if life.loaded else min(excess, life.size)
        total = moved * life.partitions * life.fills
        saved += 0 if life.loaded else total
        reloaded += total * max(1, life.rereads)
        excess -= life.size
        spilled += life.size
    return Footprint(
        sbuf=most,
        working=most - spilled,
        psum=psum,
        sbuf_limit=chip.sbuf_usable,
        psum_limit=chip.psum_bytes,
        spill_saved=saved,
        spill_reloaded=reloaded,
        line=largest[0].line if largest else None,
        largest=tuple((life.storage.name, life.size) for life in largest[:3]),
    )


def spill_bytes(footprint: Footprint | None) -> int:
    """Bytes to and from HBM for what does not fit SBUF."""
    return 0 if footprint is None else footprint.spill_saved + footprint.spill_reloaded


def together(busy: Mapping[Engine, float], serial_share: float) -> float:
    """The busiest engine, and the share of the others that it waits for."""
    most = max(busy.values())
    return most + serial_share * (sum(busy.values()) - most)


def busy_time(found: Iterable[Work]) -> Busy:
    """Seconds by engine; work that several engines may do goes where it evens them out."""
    busy: Busy = dict.fromkeys(Engine, 0.0)
    movable: list[tuple[float, float]] = []
    for work in found:
        count = work.runs
        if not count:
            continue
        if len(work.seconds) == 1:
            ((engine, seconds),) = work.seconds.items()
            busy[engine] += seconds * count
        elif Engine.SCALAR in work.seconds and Engine.VECTOR in work.seconds:
            on_vector, on_scalar = work.seconds[Engine.VECTOR], work.seconds[Engine.SCALAR]
            movable.append((on_vector * count, on_scalar * count))
        else:
            engine = min(work.seconds, key=lambda one: work.seconds[one])
            busy[engine] += work.seconds[engine] * count
    busy[Engine.VECTOR] += sum(on_vector for on_vector, _ in movable)
    for on_vector, on_scalar in sorted(movable, key=lambda pair: pair[1] / pair[0]):
        # The part of it that leaves both engines equally busy, if a part does.
        lead = busy[Engine.VECTOR] - busy[Engine.SCALAR]
        part = min(1.0, max(0.0, lead / (on_vector + on_scalar)))
        busy[Engine.VECTOR] -= part * on_vector
        busy[Engine.SCALAR] += part * on_scalar
    return busy


def _roofline(
    records: Sequence[InstructionRecord], found: Sequence[Work], chip: NeuronChip
) -> float:
    """The least time of the products that compute, and of each byte of HBM moved once."""
    products = sum(
        work.seconds[Engine.TENSOR] * work.distinct
        for work in found
        if Engine.TENSOR in work.seconds and not work.record.get("transpose")
    )
    moved = sum(work.record.get("bytes", 0) * work.distinct for work in found)
    return max(products, moved / (chip.bandwidth_gbs * 1e9))


def _lines(found: Sequence[Work]) -> tuple[LineTime, ...]:
    by_line: dict[int, Busy] = defaultdict(lambda: defaultdict(float))
    counts: dict[int, int] = defaultdict(int)
    for work in found:
        engine = min(work.seconds, key=lambda one: work.seconds[one])
        by_line[work.record["line"]][engine] += work.seconds[engine] * work.runs
        counts[work.record["line"]] += work.runs
    return tuple(LineTime(line, dict(busy), counts[line]) for line, busy in sorted(by_line.items()))


def _caveats(
    found: Sequence[Work], chip: NeuronChip, footprint: Footprint | None, seconds: float
) -> Iterable[str]:
    fitted = chip.calibration
    if seconds < _SHORT:
        yield (
            f"kernels below {_SHORT * 1e3:g} ms were seen to take about twice what is estimated: "
            "the cost of a launch and waiting between instructions are not part of it"
        )
    if fitted.chip != chip.arch:
        yield (
            f"the model's constants were fitted to profiles of {fitted.chip}; they are unchecked "
            f"for {chip.arch}"
        )
    unpriced = sorted({short_name(work.record) for work in found if not work.documented})
    if unpriced:
        named = ", ".join(unpriced)
        yield f"no document gives the cost of {named}: one cycle an element is assumed"
    untyped = sorted({work.record["line"] for work in found if _is_untyped(work.record)})
    if untyped:
        yield f"fp32 is assumed where the type is not known, as in line {untyped[0]}"
    if footprint is None:
        yield "spills are not part of it: what is alive in SBUF at once is not known"
    elif footprint.spill_saved + footprint.spill_reloaded:
        yield (
            f"{footprint.sbuf // 1024} KiB of a partition are alive at once and {chip.arch} has "
            f"{footprint.sbuf_limit // 1024} KiB: spills are part of the estimate"
        )


def _is_untyped(record: InstructionRecord) -> bool:
    return any(not tile["dtype"] for tile in (*record["reads"], *record["writes"]))
