"""The judge's side of timing: asks a performer for blocks until the samples say enough."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import fresh, sequential, walls
from .clocks import DELAY_FACTOR

Ask = Callable[[dict[str, Any], float], dict[str, Any]]
Verify = Callable[[int, list[dict[str, Any]]], str | None]

BUDGET_S = 3.0
_WARM_LIMIT_S = 0.15
_PREPARE_TIMEOUT_S = 120.0
_TIMEOUT_S = 60.0
_VERIFIED = 2
_LARGE_BYTES = 64 << 20
_LATER_EVERY = 30
_PAIR_US = 5000.0
_DOUBLE_US = 300.0
_BATCH_US = 6000.0
_MOST_CALLS = 128
_LONGEST_DELAY_US = 10_000.0
_TRIES = 4
_DEFAULT_FLOOR = 0.02
_CLEAN_MARGIN = 0.10
_HOST_BOUND = 1.5


@dataclass
class _Session:
    """One contest as it goes: what the performer said and what the judge's clock did."""

    ask: Ask
    spec: Mapping[str, Any]
    draw: random.Random
    said: dict[str, Any] = field(default_factory=dict)
    blocks: list[dict[str, Any]] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    walls_us: list[float] = field(default_factory=list)
    checked: int = 0
    noise: float | None = None
    phases: dict[str, float] = field(default_factory=dict)

    def lap(self, phase: str, began: float) -> None:
        """Note the seconds since the phase before."""
        self.phases[phase] = time.perf_counter() - began - sum(self.phases.values())

    @property
    def floor(self) -> float:
        """The noise floor, or what stands in for one that was not measured when to stop."""
        return _DEFAULT_FLOOR if self.noise is None else self.noise

    def times(self, letter: str) -> list[float]:
        """Microseconds a call of one version, its median in each block."""
        return [_median(block["us"], order, letter) for block, order in self._ordered()]

    def logs(self) -> list[float]:
        """Each block's log ratio of original over candidate."""
        return [
            math.log(first / second)
            for first, second in zip(self.times("A"), self.times("B"), strict=True)
        ]

    def raw(self) -> list[tuple[str, list[float]]]:
        """Each block's order, and microseconds for each of its letters."""
        return [(order, block["us"]) for block, order in self._ordered()]

    def _ordered(self) -> list[tuple[dict[str, Any], str]]:
        return list(zip(self.blocks, self.orders, strict=True))


def conduct(
    ask: Ask,
    spec: Mapping[str, Any],
    verify: Verify | None,
    clean: Callable[[], float] | None = None,
    survey: Callable[[], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Time a candidate against its original; the answer is JSON.

    ``ask`` sends a message to the performer that holds both, and waits. ``verify`` gets the turn
    of a timed call (``fresh.refreshed(inputs, turn, plan)`` are its inputs) and the manifest of its
    outputs, and says what is wrong with them. ``clean`` measures the original by itself again; it
    is asked where the original seems slow in the candidate's company, for the device itself may
    have changed. ``survey`` (``noise.survey``) measures the noise floor; it is asked where
    ``spec`` has none for calls of this duration and this driver.

    All of ``spec`` is optional: seed (secret without), budget_s, noise (the floor: a number, or
    ``{class: survey}``), original_us (the original's time without the candidate), out (a folder
    for outputs), plan, graphs, flush_bytes, reload, blocks (exactly so many, without stopping
    early), verified (calls to check: 2, or 1 with large outputs), batches (true), raw (all single
    times as well), again (the same performer is asked for another contest, so it does not end).

    Returns: noise (the floor that was used; None: not measured), survey (where it was measured
    now), duration (class), driver, blocks ``[[original_us, candidate_us]]``, logs, verdict
    ("faster", "slower", "alike"; None: undecided within the budget), value/low/high (of the ratio,
    at the confidence of the look), looks, original_us, candidate_us, host_us, host_bound,
    clean_original_us, wall (figures of the cross-check), faults (sentences; any makes the times
    worthless), wrong (what ``verify`` said), checked (calls), in_place, not_refreshed, repeats,
    sets, device, clock_note, seconds, phases (seconds of each).

    Raises:
        ValueError, KeyError, TypeError: the performer's answers make no sense.
    """
    began = time.perf_counter()
    session = _Session(ask, spec, random.Random(spec.get("seed") or random.SystemRandom().random()))
    asked = {key: spec[key] for key in ("plan", "graphs", "flush_bytes", "reload") if key in spec}
    session.said = ask({"do": "time.prepare", **asked}, _PREPARE_TIMEOUT_S)
    session.lap("prepare", began)
    session.noise, surveyed = _noise(session, survey)
    # In blocks as they will be, so that memory for as many outputs is there afterwards.
    warm = {"limit_s": spec.get("warm_s", _WARM_LIMIT_S), "order": _order(session)}
    ask({"do": "time.warm", **warm}, _TIMEOUT_S)
    ask({"do": "time.fresh", "turn": _turn(session)}, _TIMEOUT_S)
    session.lap("warm", began)
    verdict, wrong = _blocks(session, verify)
    session.lap("blocks", began)
    faults = walls.block_faults(session.blocks, session.walls_us, int(session.said["repeats"]))
    wall: dict[str, Any] = {}
    if wrong is None and spec.get("batches", True):
        wall, more = _cross_check(session)
        faults += more + _slowed(session, clean)
        session.lap("cross_check", began)
    if not spec.get("again"):
        ask({"do": "time.end"}, _TIMEOUT_S)
    return {
        **_figures(session, verdict),
        "noise": session.noise,
        "survey": surveyed,
        "phases": session.phases,
        "wall": wall,
        "faults": faults,
        "wrong": wrong,
        "seconds": time.perf_counter() - began,
    }


def _blocks(session: _Session, verify: Verify | None) -> tuple[str | None, str | None]:
    """Blocks up to a verdict or the end of the budget: (verdict, what was wrong with outputs)."""
    spec = session.spec
    end = time.perf_counter() + float(spec.get("budget_s", BUDGET_S))
    fixed = spec.get("blocks")
    looks = (int(fixed),) if fixed else sequential.LOOKS
    drawn = _drawn_checks(session, looks[-1]) if verify is not None else set()
    due = 0
    for look in looks:
        while len(session.blocks) < look:
            if len(session.blocks) >= looks[0] and time.perf_counter() > end:
                return None, None
            due += len(session.blocks) in drawn
            turn = _one_block(session)
            if due and verify is not None and _can_check(session):
                due -= 1
                wrong = _checked(session, turn, verify)
                if wrong is not None:
                    return None, wrong
        if not fixed:
            verdict = sequential.decide(session.logs(), session.floor)
            if verdict is not None:
                return verdict, None
    return None, None


def _drawn_checks(session: _Session, most: int) -> set[int]:
    """Which blocks have a call's outputs checked: some of the first look's, few of those after."""
    first = sequential.LOOKS[0]
    usual = 1 if float(session.said.get("output_bytes", 0)) > _LARGE_BYTES else _VERIFIED
    drawn = set(session.draw.sample(range(first), int(session.spec.get("verified", usual))))
    later = range(first, most, _LATER_EVERY)
    return drawn | {session.draw.randrange(at, at + _LATER_EVERY) for at in later}


def _one_block(session: _Session) -> int:
    """Fresh inputs and one block in an order drawn for it; its turn."""
    turn, order = _turn(session), _order(session)
    session.ask({"do": "time.fresh", "turn": turn}, _TIMEOUT_S)
    began = time.perf_counter()
    reply = session.ask({"do": "time.block", "order": order}, _TIMEOUT_S)
    session.walls_us.append((time.perf_counter() - began) * 1e6)
    if len(reply["us"]) != len(order) or not all(map(_is_time, [*reply["us"], reply["span_us"]])):
        raise ValueError("the performer answered with times that are none")
    session.blocks.append(reply)
    session.orders.append(order)
    return turn


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value > 0


def _can_check(session: _Session) -> bool:
    """Inputs changed in place are put back for the next call, so the last one's are there."""
    return not session.said["in_place"] or session.orders[-1].endswith("B")


def _checked(session: _Session, turn: int, verify: Verify) -> str | None:
    """What is wrong with the outputs of one call of the block that was just timed."""
    said = session.said
    calls = session.orders[-1].count("B") * int(said["repeats"])
    last = int(said["repeats"]) if said["in_place"] else calls
    call = session.draw.randrange(calls - min(last, int(said["keeps"])), calls)
    folder = f"{session.spec['out']}/{session.checked}"
    reply = session.ask({"do": "time.retained", "call": call, "out": folder}, _TIMEOUT_S)
    session.checked += 1
    return verify(fresh.turn_of(turn, call % int(said["sets"])), reply["outputs"])


def _cross_check(session: _Session) -> tuple[dict[str, Any], list[str]]:
    """The candidate's clocks against the judge's; the original's where it has no clean time."""
    wall: dict[str, Any] = {}
    faults: list[str] = []
    for letter in "B" if session.spec.get("original_us") else "AB":
        median = statistics.median(session.times(letter))
        batch = _batch(session, letter, median)
        found = walls.batch_faults(batch, median)
        for _ in range(_TRIES):
            if not found:
                break
            batch = walls.quietest(batch, _batch(session, letter, median))
            found = walls.batch_faults(batch, median)
        name = {"A": "original", "B": "candidate"}[letter]
        faults += [f"the {name}'s clocks disagree: {told}" for told in found]
        wall[name] = {"calls": batch.calls, "judged_us": batch.judged_us} | {
            "event_us": batch.delayed_event_us / batch.calls
        }
    return wall, faults


def _slowed(session: _Session, clean: Callable[[], float] | None) -> list[str]:
    """Whether the original takes longer beside the candidate than by itself."""
    alone = session.spec.get("original_us")
    beside = statistics.median(session.times("A"))
    most = 1 + _CLEAN_MARGIN + session.floor
    if alone is not None and beside > alone * most and clean is not None:
        alone = clean()
    if alone is None or beside <= alone * most:
        return []
    return [
        f"the original takes {beside:.1f} us beside the candidate and {alone:.1f} us by itself: "
        "the candidate slows it, or something else uses the device"
    ]


def _noise(
    session: _Session, survey: Callable[[], dict[str, Any]] | None
) -> tuple[float | None, dict[str, Any] | None]:
    """(the noise floor, the survey that has just found it)."""
    known, said = session.spec.get("noise"), session.said
    if isinstance(known, int | float):
        return float(known), None
    here = duration_class(said["rough_us"]["A"])
    found = (known or {}).get(here)
    if found is not None and found.get("driver") == said["driver"]:
        return float(found["floor"]), None
    if survey is None:
        return None, None
    # Under the class it was asked for: near a border the survey's own readings may say the next.
    surveyed = {**survey(), "duration": here}
    return float(surveyed["floor"]), surveyed


def duration_class(us: float) -> str:
    """Calls that take about as long stray alike: half a decade, named by its lower bound."""
    return f"{10 ** (math.floor(2 * math.log10(max(us, 1.0))) / 2):.0f} us and up"


def _batch(session: _Session, letter: str, median_us: float) -> walls.Batch:
    host_us = max(session.said["host_us"].values())
    most = min(_MOST_CALLS, int(_LONGEST_DELAY_US / (DELAY_FACTOR * host_us + 1)))
    calls = max(2, min(most, math.ceil(_BATCH_US / median_us)))

    def timed(count: int, delayed: bool) -> tuple[float, float]:
        message = {"do": "time.batch", "which": letter, "calls": count}
        if delayed:
            message |= {"delayed": True, "as_for": calls}
        began = time.perf_counter()
        reply = session.ask(message, _TIMEOUT_S)
        return float(reply["event_us"]), (time.perf_counter() - began) * 1e6

    idle_wall = timed(0, False)[1]
    plain_event, plain_wall = timed(calls, False)
    delay_wall = timed(0, True)[1]
    delayed_event, delayed_wall = timed(calls, True)
    return walls.Batch(
        calls, plain_event, plain_wall, idle_wall, delayed_event, delayed_wall, delay_wall
    )


def _figures(session: _Session, verdict: str | None) -> dict[str, Any]:
    logs = session.logs()
    said = session.said
    times = {letter: session.times(letter) for letter in "AB"}
    medians = {letter: statistics.median(found) for letter, found in times.items()}
    host = said["host_us"]
    interval = sequential.interval_of(logs) if len(logs) >= sequential.LOOKS[0] else None
    kept = (
        "repeats",
        "sets",
        "in_place",
        "not_refreshed",
        "device",
        "driver",
        "clock_note",
        "host_us",
    )
    return {
        "blocks": [list(pair) for pair in zip(times["A"], times["B"], strict=True)],
        "logs": logs,
        "verdict": verdict,
        "value": math.exp(interval.value) if interval else None,
        "low": math.exp(interval.low) if interval else None,
        "high": math.exp(interval.high) if interval else None,
        "looks": sum(look <= len(logs) for look in sequential.LOOKS),
        "original_us": medians["A"],
        "candidate_us": medians["B"],
        "host_bound": {name: host[name] > _HOST_BOUND * medians[name] for name in "AB"},
        "clean_original_us": session.spec.get("original_us"),
        "duration": duration_class(said["rough_us"]["A"]),
        "checked": session.checked,
        **({"raw": session.raw()} if session.spec.get("raw") else {}),
        **{key: said[key] for key in kept},
    }


def _order(session: _Session) -> str:
    """A B B A or B A A B; twice over for short calls, A B or B A for long ones."""
    rough = max(session.said["rough_us"].values())
    if rough > _PAIR_US:
        return session.draw.choice(("AB", "BA"))
    times = 2 if rough < _DOUBLE_US else 1
    order = "ABBA" * times
    return order if session.draw.random() < 0.5 else order.translate(_SWAPPED)


_SWAPPED = str.maketrans("AB", "BA")


def _turn(session: _Session) -> int:
    return session.draw.getrandbits(48)


def _median(us: list[float], order: str, letter: str) -> float:
    """Of two, their mean: A B B A then cancels drift. Of more, what one late call does not move."""
    return statistics.median(
        taken for taken, which in zip(us, order, strict=True) if which == letter
    )
