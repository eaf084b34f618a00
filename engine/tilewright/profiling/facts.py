"""The numbers of a profile, each with its unit, source and confidence."""

from collections.abc import Iterator

from tilewright.profiling.counters import WANTED
from tilewright.profiling.model import Confidence, Fact, Source
from tilewright.profiling.observed import Observed


def facts_of(seen: Observed) -> tuple[Fact, ...]:
    """Every number that is known, in the order of ``docs/profile.md``."""
    return (
        *_times(seen),
        *_work(seen),
        *_roofline(seen),
        *_achieved(seen),
        *_compiled(seen),
        *_counted(seen),
        *_host(seen),
        *_estimated(seen),
    )


def _times(seen: Observed) -> Iterator[Fact]:
    if seen.time is None:
        return
    source, sure = seen.time_source, Confidence.MEASURED
    yield Fact("time", seen.time.median_us, "us", source, sure, note="median of one call")
    if source is Source.CLOCK:
        yield Fact("time.low", seen.time.low_us, "us", source, sure)
        yield Fact("time.high", seen.time.high_us, "us", source, sure)


def _work(seen: Observed) -> Iterator[Fact]:
    work, sure = seen.work, Confidence.COMPUTED
    if work.spec_bytes is not None:
        yield Fact("bytes.spec", work.spec_bytes, "B", Source.SPEC, sure)
    if work.spec_flop is not None:
        yield Fact("flop.spec", work.spec_flop, "flop", Source.SPEC, sure)
    if work.touched_bytes is not None:
        note = "each byte once: the least that memory must move"
        note += "" if work.is_whole else f"; not all could be counted: {work.notes[0]}"
        yield Fact("bytes.touched", work.touched_bytes, "B", Source.COUNTED, sure, note=note)
    if work.asked_bytes is not None:
        note = "in whole sectors, as often as programs ask"
        yield Fact("bytes.asked", work.asked_bytes, "B", Source.COUNTED, sure, note=note)
    for dtype, flop in sorted(work.dot_flop.items()):
        yield Fact(f"flop.dot.{dtype}", flop, "flop", Source.COUNTED, sure, note="products alone")
    if work.programs is not None:
        yield Fact("programs", work.programs, "count", Source.COUNTED, sure)


def _roofline(seen: Observed) -> Iterator[Fact]:
    roof = seen.roof
    if roof is None or seen.chip is None:
        return
    published = Confidence.PUBLISHED
    sheet = f"of {seen.chip.chip}: {seen.chip.sources.get('bandwidth_gbs', 'source unknown')}"
    if roof.peak_bytes:
        yield Fact(
            "bandwidth.peak", roof.peak_bytes, "B/s", Source.DATASHEET, published, note=sheet
        )
    if roof.peak_flop:
        note = f"dense {roof.rate}"
        yield Fact("rate.peak", roof.peak_flop, "flop/s", Source.DATASHEET, published, note=note)
    if roof.intensity is not None:
        yield Fact("intensity", roof.intensity, "flop/B", Source.COUNTED, Confidence.COMPUTED)
    if roof.ridge is not None:
        yield Fact("ridge", roof.ridge, "flop/B", Source.DATASHEET, published)
    if roof.us is not None:
        note = "the longer of bytes and operations at their peaks"
        yield Fact("roof.time", roof.us, "us", Source.DATASHEET, Confidence.COMPUTED, note=note)


def _achieved(seen: Observed) -> Iterator[Fact]:
    if seen.time is None:
        return
    seconds = seen.time.median_us * 1e-6
    derived = Confidence.DERIVED
    moved = seen.moved_bytes
    if moved is not None:
        yield Fact("bytes.moved", moved, "B", Source.COUNTER, Confidence.MEASURED)
        if seen.bytes and seen.bytes[0]:
            yield Fact("traffic", moved / seen.bytes[0], "ratio", Source.COUNTER, derived,
                       note=f"bytes moved over the least, {seen.bytes[1]}")  # fmt: skip
    found = (moved, Source.COUNTER) if moved is not None else seen.bytes
    if found is not None:
        yield Fact("bandwidth.achieved", found[0] / seconds, "B/s", found[1], derived)
    if seen.memory_share is not None:
        share, source = seen.memory_share
        note = "" if source is Source.COUNTER else "at least: counted by the bytes it must move"
        yield Fact("bandwidth.percent", 100 * share, "%", source, derived, note=note)
    if seen.flop is not None:
        yield Fact("rate.achieved", seen.flop[0] / seconds, "flop/s", seen.flop[1], derived)
    if seen.arithmetic_share is not None:
        share, source = seen.arithmetic_share
        yield Fact("rate.percent", 100 * share, "%", source, derived)
    if seen.roof is not None and seen.roof.us is not None:
        percent = 100 * seen.roof.us / seen.time.median_us
        yield Fact("roof.percent", percent, "%", Source.DATASHEET, derived)


def _compiled(seen: Observed) -> Iterator[Fact]:
    report = seen.report
    if report is None or not report.ok:
        return
    source, sure = Source.COMPILER, Confidence.COMPUTED
    for name, value, unit in (
        ("registers", report.registers, "count"),
        ("spill", report.spill_bytes, "B"),
        ("shared", report.shared_bytes, "B"),
    ):
        if value is not None:
            yield Fact(f"{name}.compiled", value, unit, source, sure)
    if seen.occupancy is not None:
        note = f"limited by {', '.join(seen.occupancy.limited_by)}"
        percent = 100 * seen.occupancy.share
        yield Fact("occupancy.compiled", percent, "%", source, sure, note=note)


def _counted(seen: Observed) -> Iterator[Fact]:
    if seen.counters is None:
        return
    source, sure, note = Source.COUNTER, Confidence.MEASURED, seen.counters.tool
    for name, value in seen.counters.values.items():
        yield Fact(f"counter.{name}", value, WANTED[name].unit, source, sure, note=note)
    for kind in ("load", "store"):
        requests, sectors = seen.counter(f"{kind}.requests"), seen.counter(f"{kind}.sectors")
        if requests and sectors is not None:
            ratio = sectors / requests
            yield Fact(f"{kind}.sectors_per_request", ratio, "ratio", source, sure)
    for reason, share in sorted(seen.counters.stalls.items(), key=lambda one: -one[1]):
        yield Fact(f"stall.{reason}", 100 * share, "%", source, sure,
                   note="of a warp's time between two of its instructions")  # fmt: skip
    for line, samples in sorted(seen.counters.line_stalls.items()):
        total = sum(samples.values())
        yield Fact("stall.samples", total, "count", source, sure, line=line)


def _host(seen: Observed) -> Iterator[Fact]:
    sure = Confidence.MEASURED
    if seen.host is not None:
        yield Fact("host", seen.host.host_us, "us", Source.CLOCK, sure, note="to hand over a call")
        if seen.host.call_us is not None:
            note = "of many in a row, by the wall clock"
            yield Fact("call", seen.host.call_us, "us", Source.CLOCK, sure, note=note)
        if seen.host.busy_us is not None:
            yield Fact("device.busy", seen.host.busy_us, "us", Source.TRACE, sure, note="a call")
    for share in seen.shares:
        note = f"{share.name}, {share.count:g} a call"
        yield Fact("share", share.us, "us", Source.TRACE, sure, note=note)


def _estimated(seen: Observed) -> Iterator[Fact]:
    found = seen.estimate
    if found is None:
        return
    source, sure = Source.ESTIMATE, Confidence.ESTIMATED
    yield Fact("estimate.time", found.us, "us", source, sure, note=f"bound by {found.bound}")
    yield Fact("estimate.roof.percent", found.roofline_percent, "%", source, sure)
