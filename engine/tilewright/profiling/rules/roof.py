"""How far from the roof, and what bounds."""

from collections.abc import Iterator

from tilewright import figures as q
from tilewright.profiling.bounds import Bottleneck, Verdict, verdict_of
from tilewright.profiling.model import Finding, Source
from tilewright.profiling.observed import Observed

_FIRST = 2.0
_BY = {
    Source.COUNTER: "by counters",
    Source.COUNTED: "at least, by the bytes its accesses touch",
    Source.SPEC: "at least, by the spec's formula",
}


def reached(seen: Observed) -> Iterator[Finding]:
    """The first sentence: the bottleneck, with its source."""
    verdict = verdict_of(seen)
    if verdict is None or verdict.bottleneck is Bottleneck.HOST:
        return
    text = f"{_bound(seen, verdict)}{_to_the_roof(seen)}"
    facts = tuple(name for name, known in (
        ("bandwidth.percent", seen.memory_share), ("rate.percent", seen.arithmetic_share),
        ("roof.percent", seen.roof and seen.roof.us),
    ) if known)  # fmt: skip
    yield Finding("roof", text, _FIRST, facts=("time", *facts))


def _bound(seen: Observed, verdict: Verdict) -> str:
    parts = [part for part in (_memory(seen), _arithmetic(seen)) if part]
    if verdict.bottleneck is Bottleneck.ARITHMETIC:
        parts.reverse()
    said = "; ".join(parts)
    match verdict.bottleneck:
        case Bottleneck.MEMORY:
            return f"memory-bound: {said}"
        case Bottleneck.ARITHMETIC:
            return f"compute-bound: {said}"
        case Bottleneck.LATENCY:
            busiest = q.percent(verdict.share or 0.0)
            return f"latency-bound: nothing is busier than {busiest}, by counters; {said}"
        case Bottleneck.UNKNOWN:
            hint = f" (the static estimate: {seen.estimate.bound})" if seen.estimate else ""
            return f"neither memory nor arithmetic need fill the time{hint}: {said}"
        case other:
            return f"{other}-bound: {q.percent(verdict.share or 0.0)} busy, by counters; {said}"


def _memory(seen: Observed) -> str:
    if seen.memory_share is None or seen.time is None or seen.roof is None:
        return ""
    share, source = seen.memory_share
    peak = seen.roof.peak_bytes or 0.0
    return f"{q.rate(share * peak)} of {q.rate(peak)} ({q.percent(share)}, {_BY[source]})"


def _arithmetic(seen: Observed) -> str:
    if seen.arithmetic_share is None or seen.roof is None:
        return ""
    share, _ = seen.arithmetic_share
    peak = seen.roof.peak_flop or 0.0
    return f"{q.speed(share * peak)} of {q.speed(peak)} {seen.roof.rate} ({q.percent(share)})"


def _to_the_roof(seen: Observed) -> str:
    if seen.roof is None or seen.roof.us is None or seen.time is None:
        return ""
    times = seen.time.median_us / seen.roof.us
    if times < 1.0:
        return (
            f"; {q.time(seen.time.median_us)} is less than the {q.time(seen.roof.us)} that the "
            "data sheet's peaks allow: the counted work is wrong, or a cache serves it"
        )
    roof = "bandwidth" if seen.roof.is_memory else seen.roof.rate
    return (
        f"; the {roof} roof for this work is {q.time(seen.roof.us)}, "
        f"{times:.2g}x faster than {q.time(seen.time.median_us)}"
    )


def estimated(seen: Observed) -> Iterator[Finding]:
    """Where nothing was timed: the static cost, called what it is."""
    found = seen.estimate
    if seen.is_measured or found is None or seen.chip is None:
        return
    text = (
        f"not measured; estimated for {seen.chip.id} ({seen.chip.chip}): {q.time(found.us)}, bound "
        f"by {found.bound}, {found.roofline_percent:.0f} % of the roofline"
    )
    yield Finding("estimate", text, _FIRST, facts=("estimate.time",), measured=False)


def disagreement(seen: Observed) -> Iterator[Finding]:
    """The spec's formula and the count differ: one of them is wrong, and it matters which."""
    for what, spec, counted in seen.disagreement():
        if what == "flop":
            if counted < spec:
                continue  # products alone were counted
            said = (
                f"{q.scaled(spec, 'flop')} and its products alone take {q.scaled(counted, 'flop')}"
            )
        else:
            said = f"{q.size(spec)} and the accesses touch {q.size(counted)}"
        text = f"the spec's {what} is {said}; the count is used"
        yield Finding("spec", text, 0.05, facts=("bytes.spec", "bytes.touched"), measured=False)
