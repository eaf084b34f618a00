"""Bytes: moved more often than needed, in pieces too small, spilled, in conflict."""

from collections.abc import Iterator

from tilewright import figures as q
from tilewright.profiling.bounds import Bottleneck, verdict_of
from tilewright.profiling.model import Finding, Source
from tilewright.profiling.observed import Observed
from tilewright.targets.model import Access, LineReport

_MORE = 1.2
_OFTEN = 1.5
_SECTOR = 32
_CONFLICTS = 0.15
_LESS_AT_STAKE = 0.3
_KINDS = {"load": "load", "async_copy": "load", "store": "store"}


def traffic(seen: Observed) -> Iterator[Finding]:
    """Memory moved more than the least, by counters."""
    moved = seen.moved_bytes
    if moved is None or seen.bytes is None:
        return
    least, source = seen.bytes
    if moved < _MORE * least or (source is Source.COUNTED and not seen.work.is_whole):
        return
    hit = seen.counter("l2.hit")
    found = f", {hit:.0f} % of its sectors found in L2" if hit is not None else ""
    known = "the launch touches" if source is Source.COUNTED else "the spec counts"
    text = f"moves {moved / least:.2g}x the least traffic: {q.size(moved)} where {known} "
    text += f"{q.size(least)}{found}"
    suggests: tuple[str, ...] = ("no_swizzling",) if seen.work.dot_flop else ()
    if seen.work.again:
        text += f"; {q.lines(seen.work.again)} read the same tiles again"
        suggests = ("multi_pass_row", "cache_eviction_risk")
    stake = (seen.memory_share or (0.0, source))[0] * (1.0 - least / moved)
    line = seen.work.again[0] if seen.work.again else None
    yield Finding(
        "traffic", text, stake, line, suggests, ("bytes.moved", "bytes.touched", "traffic")
    )


def asked_again(seen: Observed) -> Iterator[Finding]:
    """Programs ask for bytes more than once: whether caches serve that, only counters tell."""
    work = seen.work
    if not work.asked_bytes or not work.touched_bytes or not work.is_whole:
        return
    if seen.moved_bytes is not None:
        return
    times = work.asked_bytes / work.touched_bytes
    if times < _OFTEN:
        return
    where = f" ({q.lines(work.again)} read the same tiles)" if work.again else ""
    text = (
        f"programs load {times:.2g}x the distinct bytes, {q.size(work.asked_bytes)} for "
        f"{q.size(work.touched_bytes)}{where}; only hardware counters show how much of that "
        "the caches serve"
    )
    suggests = ("multi_pass_row",) if work.again else ()
    if work.dot_flop:
        suggests = (*suggests, "suboptimal_tile_size", "no_swizzling")
    stake = _LESS_AT_STAKE * (1.0 - 1.0 / times)
    line = work.again[0] if work.again else None
    facts = ("bytes.asked", "bytes.touched")
    yield Finding("asked", text, stake, line, suggests, facts, measured=False)


def narrow(seen: Observed) -> Iterator[Finding]:
    """Accesses narrower than their tile allows."""
    lines = _narrow_lines(seen)
    if not lines:
        return
    line, access = lines[0]
    kind = _KINDS[access.kind]
    more = f", and {len(lines) - 1} more lines like it" if len(lines) > 1 else ""
    text = (
        f"the {kind} on line {line.line} moves {(access.bits or 0) // 8} bytes a thread where its "
        f"tile allows {(access.best_bits or 0) // 8}{more}"
    )
    suggests = ("unvectorized_access",)
    yield Finding(
        "narrow", text, _stake(seen, 0.4), line.line, suggests, measured=seen.counters is not None
    )


def _narrow_lines(seen: Observed) -> list[tuple[LineReport, Access]]:
    if seen.report is None or not seen.report.ok:
        return []
    found = [
        (line, access)
        for line in seen.report.lines
        for access in line.accesses
        if access.space == "global"
        and access.kind in _KINDS
        and access.bits
        and access.best_bits
        and access.bits < access.best_bits
    ]
    return sorted(found, key=lambda one: (-one[0].loop_depth, -one[1].count))


def scattered(seen: Observed) -> Iterator[Finding]:
    """Warps' accesses reach more sectors than the bytes they are for."""
    for kind in ("load", "store"):
        requests, sectors = seen.counter(f"{kind}.requests"), seen.counter(f"{kind}.sectors")
        best = _sectors_at_best(seen, kind)
        if not requests or sectors is None or best is None:
            continue
        ratio = sectors / requests
        if ratio <= _OFTEN * best:
            continue
        text = (
            f"a warp's {kind} reaches {ratio:.3g} sectors of {_SECTOR} bytes where {best:.3g} "
            "would hold what it asks for: neighbouring threads touch distant addresses"
        )
        facts = (f"{kind}.sectors_per_request",)
        stake = _stake(seen, 1.0 - best / ratio)
        yield Finding("scattered", text, stake, None, ("uncoalesced_access",), facts)


def _sectors_at_best(seen: Observed, kind: str) -> float | None:
    """Sectors of a warp's widest access of this kind, were they all used."""
    if seen.report is None or seen.chip is None:
        return None
    bits = [
        access.bits
        for line in seen.report.lines
        for access in line.accesses
        if access.space == "global" and access.kind == kind and access.bits
    ]
    return max(1.0, max(bits) * seen.chip.warp_size / 8 / _SECTOR) if bits else None


def spills(seen: Observed) -> Iterator[Finding]:
    """Registers that travel to local memory and back."""
    report = seen.report
    if report is None or not report.ok or not report.spill_bytes:
        return
    loads, stores = seen.counter("local.loads"), seen.counter("local.stores")
    ran = ""
    if loads is not None and stores is not None:
        ran = f": {q.scaled(loads + stores, 'warp accesses')} of local memory in a launch"
    text = f"spills {report.spill_bytes} bytes a thread at {report.registers} registers{ran}"
    facts = ("spill.compiled", "counter.local.loads")
    yield Finding("spill", text, 0.3, None, ("register_spill",), facts, measured=bool(ran))


def conflicts(seen: Observed) -> Iterator[Finding]:
    """Threads of a warp that want the same bank of shared memory."""
    extra, passes = seen.counter("shared.conflicts"), seen.counter("shared.passes")
    if not extra or not passes or extra / passes < _CONFLICTS:
        return
    text = (
        f"{q.percent(extra / passes)} of the passes through shared memory are there because "
        "threads of a warp want the same bank"
    )
    yield Finding("conflicts", text, 0.3 * extra / passes, None, ("layout_conversion_in_loop",),
                  ("counter.shared.conflicts", "counter.shared.passes"))  # fmt: skip


def _stake(seen: Observed, share: float) -> float:
    """A share of the time at stake; less where memory does not bound, or if that is unknown."""
    verdict = verdict_of(seen)
    near = (Bottleneck.MEMORY, Bottleneck.L2, Bottleneck.NEAR)
    return share if verdict is not None and verdict.bottleneck in near else share / 2
