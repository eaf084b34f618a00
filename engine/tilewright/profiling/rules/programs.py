"""How programs and their warps pass the time: stalls, occupancy, rounds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewright import figures as q
from tilewright.profiling.bounds import Bottleneck, verdict_of
from tilewright.profiling.model import Finding
from tilewright.profiling.observed import Observed

_STALLED = 0.25
_HOT = 0.25
_LOW = 0.35
_BELOW = 0.75


@dataclass(frozen=True)
class Reason:
    """Continues "warps spend 40 % of their time ..."; ids of the taxonomy."""

    words: str
    suggests: tuple[str, ...] = ()


IDLE_REASONS = frozenset({"selected", "not_selected"})
"""Warps that issue, or could: no reason to wait."""
MEANING: Mapping[str, Reason] = {
    "long_scoreboard": Reason(
        "waiting for loads from global or local memory", ("low_occupancy", "suboptimal_warps")
    ),
    "short_scoreboard": Reason("waiting for shared memory or for the special-function unit"),
    "barrier": Reason("at barriers, waiting for other warps", ("suboptimal_warps",)),
    "lg_throttle": Reason(
        "with the queue of global accesses full: too many, too small", ("unvectorized_access",)
    ),
    "mio_throttle": Reason(
        "with the queue of shared memory and special functions full",
        ("layout_conversion_in_loop",),
    ),
    "tex_throttle": Reason("with the queue of texture accesses full"),
    "math_pipe_throttle": Reason("waiting for an arithmetic pipe that is busy"),
    "gmma": Reason("waiting for tensor instructions of a warp group to finish"),
    "warpgroup_arrive": Reason("waiting for the other warps of a warp group"),
    "wait": Reason("in the fixed latency of their own last instruction", ("suboptimal_warps",)),
    "dispatch_stall": Reason("with the dispatcher held up"),
    "branch_resolve": Reason("waiting for a branch's target"),
    "no_instruction": Reason("waiting for instructions to be fetched: the code is large"),
    "no_instructions": Reason("waiting for instructions to be fetched: the code is large"),
    "imc_miss": Reason("waiting for constants: kernel arguments among them"),
    "drain": Reason("waiting at their end for stores to leave"),
    "membar": Reason("at memory fences"),
    "sleeping": Reason("asleep"),
    "misc": Reason("waiting for other reasons"),
    "not_selected": Reason("ready while another warp issues"),
    "selected": Reason("issuing"),
}


def stalls(seen: Observed) -> Iterator[Finding]:
    """What warps wait for most."""
    if seen.counters is None:
        return
    waiting = {r: s for r, s in seen.counters.stalls.items() if r not in IDLE_REASONS}
    reason = max(waiting, key=lambda name: waiting[name], default=None)
    if reason is None or waiting[reason] < _STALLED:
        return
    meaning = MEANING[reason]
    text = f"warps spend {q.percent(waiting[reason])} of their time {meaning.words}"
    yield Finding(
        "stall", text, 0.5 * waiting[reason], None, meaning.suggests, (f"stall.{reason}",)
    )


def hot_line(seen: Observed) -> Iterator[Finding]:
    """The line that most samples of waiting warps fall on."""
    if seen.counters is None or not seen.counters.line_stalls:
        return
    samples = seen.counters.line_stalls
    total = sum(sum(reasons.values()) for reasons in samples.values())
    line = max(samples, key=lambda one: sum(samples[one].values()))
    here = sum(samples[line].values())
    if not total or here / total < _HOT:
        return
    waiting = {r: n for r, n in samples[line].items() if r not in IDLE_REASONS} or samples[line]
    reason = max(waiting, key=lambda one: waiting[one])
    words = MEANING[reason].words if reason in MEANING else f"in {reason}"
    text = f"line {line} has {q.percent(here / total)} of all samples, most of them {words}"
    yield Finding("hot_line", text, 0.45 * here / total, line, (), ("stall.samples",))


def occupancy(seen: Observed) -> Iterator[Finding]:
    """Few warps, or fewer than there is room for, where waiting is what takes the time."""
    verdict = verdict_of(seen)
    if verdict is not None and verdict.bottleneck not in (Bottleneck.LATENCY, Bottleneck.UNKNOWN):
        return
    achieved, known = seen.share_of("occupancy.achieved"), seen.occupancy
    possible = seen.share_of("occupancy.possible")
    if possible is None and known is not None:
        possible = known.share
    if possible is None:
        return
    limits = f", limited by {' and '.join(known.limited_by)}" if known is not None else ""
    facts = ("counter.occupancy.achieved", "occupancy.compiled")
    if achieved is not None and achieved < _BELOW * possible:
        text = (
            f"{q.percent(achieved)} of a unit's warps are there on average, {q.percent(possible)} "
            "could be: programs end unevenly, or there are too few"
        )
        yield Finding("occupancy", text, 0.3, None, ("missing_persistent",), facts)
    elif possible < _LOW:
        text = f"{q.percent(possible)} of a unit's warps at most{limits}"
        if known is not None:
            text += f": {known.programs} programs of {known.warps // known.programs} warps"
        measured = achieved is not None
        yield Finding("occupancy", text, 0.2, None, ("low_occupancy",), facts, measured)


def few(seen: Observed) -> Iterator[Finding]:
    """Too few programs for the chip, or a last round that leaves most of it idle."""
    programs, chip = seen.work.programs, seen.chip
    if not programs or chip is None or seen.name is None:
        return
    if programs < chip.compute_units:
        text = (
            f"{programs} programs for {chip.compute_units} units: "
            f"{q.percent(1 - programs / chip.compute_units)} of the chip has nothing to do"
        )
        stake = 0.8 * (1.0 - programs / chip.compute_units)
        yield Finding("few_programs", text, stake, None, ("suboptimal_tile_size",), ("programs",),
                      measured=False)  # fmt: skip
        return
    yield from _last_round(seen, programs)


def _last_round(seen: Observed, programs: int) -> Iterator[Finding]:
    known, chip = seen.occupancy, seen.chip
    if known is None or chip is None or not known.programs:
        return
    slots = chip.compute_units * known.programs
    full, rest = divmod(programs, slots)
    if not rest or not 1 <= full <= 4 or rest > 0.5 * slots:
        return
    text = (
        f"{programs} programs run in {full + 1} rounds of {slots}; the last one has {rest}, so "
        f"{q.percent(1 - rest / slots)} of the chip idles in it"
    )
    stake = 0.5 * (1.0 - rest / slots) / (full + 1)
    yield Finding("last_round", text, stake, None, ("missing_persistent",), ("programs",),
                  measured=False)  # fmt: skip
