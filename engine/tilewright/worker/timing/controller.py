"""The coordinator's side of timing: request blocks of a runner until the samples decide."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from . import clock_check, resampled_inputs, stopping_rule
from .clocks import DELAY_FACTOR
from .session import TIMEOUT_S, Session, duration_class, figures
from .session import Ask as Ask

Verify = Callable[[int, list[dict[str, Any]]], str | None]
BUDGET_S = 3.0
_WARM_LIMIT_S = 0.15
_PREPARE_TIMEOUT_S = 120.0
_VERIFIED = 2
_LARGE_BYTES = 64 << 20
_LATER_EVERY = 30
_PAIR_US = 5000.0
_DOUBLE_US = 300.0
_BATCH_US = 6000.0
_MOST_CALLS = 128
_LONGEST_DELAY_US = 10_000.0
_TRIES = 4
_CLEAN_MARGIN = 0.10


def conduct(
    ask: Ask,
    spec: Mapping[str, Any],
    verify: Verify | None,
    clean: Callable[[], float] | None = None,
    survey: Callable[[], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Time a candidate against its original; the answer is JSON.

    ``ask`` sends a message to the runner that holds both, and waits. ``verify`` gets the turn
    of a timed call (``fresh.refreshed(inputs, turn, plan)`` are its inputs) and the manifest of its
    outputs, and says what is wrong with them. ``clean`` measures the original by itself again; it
    is asked where the original seems slow in the candidate's company, for the device itself may
    have changed. ``survey`` (``noise.survey``) measures the noise floor; it is asked where
    ``spec`` has none for calls of this duration and this driver.

    All of ``spec`` is optional: seed (secret without), budget_s, noise (the floor: a number, or
    ``{class: survey}``), original_us (the original's time without the candidate), out (a folder
    for outputs), plan, graphs, flush_bytes, reload, blocks (exactly so many, without stopping
    early), verified (calls to check: 2, or 1 with large outputs), batches (true: the cross-check;
    "gains": not of what is not faster, which nobody will believe to be), raw (all single times as
    well), again (the same runner is asked for another contest, so it does not end).

    Returns: noise (the floor that was used; None: not measured), survey (where it was measured
    now), duration (class), driver, blocks ``[[original_us, candidate_us]]``, logs, verdict
    ("faster", "slower", "alike"; None: undecided within the budget), value/low/high (of the ratio,
    at the confidence of the look), looks, original_us, candidate_us, host_us, host_bound,
    clean_original_us, wall (figures of the cross-check), faults (sentences; any makes the times
    worthless), wrong (what ``verify`` said), checked (calls), in_place, not_refreshed, repeats,
    sets, device, clock_note, seconds, phases (seconds of each).

    Raises:
        ValueError, KeyError, TypeError: the runner's answers are invalid.
    """
    began = time.perf_counter()
    session = Session(ask, spec, random.Random(spec.get("seed") or random.SystemRandom().random()))
    surveyed = _opened(session, survey, began)
    verdict, wrong = _blocks(session, verify)
    session.lap("blocks", began)
    faults = clock_check.block_faults(
        session.blocks, session.walls_us, int(session.said["repeats"])
    )
    wall: dict[str, Any] = {}
    if wrong is None and _is_worth_checking(spec, verdict):
        wall, more = cross_check(session)
        faults += more + slowed(session, clean)
        session.lap("cross_check", began)
    if not spec.get("again"):
        ask({"do": "time.end"}, TIMEOUT_S)
    return {
        **figures(session, verdict),
        "noise": session.noise,
        "survey": surveyed,
        "phases": session.phases,
        "wall": wall,
        "faults": faults,
        "wrong": wrong,
        "seconds": time.perf_counter() - began,
    }


def _is_worth_checking(spec: Mapping[str, Any], verdict: str | None) -> bool:
    wanted = spec.get("batches", True)
    lost = verdict in (stopping_rule.SLOWER, stopping_rule.ALIKE)
    return not lost if wanted == "gains" else bool(wanted)


def _opened(
    session: Session, survey: Callable[[], dict[str, Any]] | None, began: float
) -> dict[str, Any] | None:
    """Have both prepared and warm; the survey, where it took one to know the noise floor."""
    ask, spec = session.ask, session.spec
    asked = {key: spec[key] for key in ("plan", "graphs", "flush_bytes", "reload") if key in spec}
    session.said = ask({"do": "time.prepare", **asked}, _PREPARE_TIMEOUT_S)
    session.lap("prepare", began)
    session.noise, surveyed = _noise(session, survey)
    # In blocks as they will be, so that memory for as many outputs is there afterwards.
    warm = {"limit_s": spec.get("warm_s", _WARM_LIMIT_S), "order": _order(session)}
    ask({"do": "time.warm", **warm}, TIMEOUT_S)
    ask({"do": "time.fresh", "turn": _turn(session)}, TIMEOUT_S)
    session.lap("warm", began)
    return surveyed


def _blocks(session: Session, verify: Verify | None) -> tuple[str | None, str | None]:
    """Blocks up to a verdict or the end of the budget: (verdict, what was wrong with outputs)."""
    spec = session.spec
    end = time.perf_counter() + float(spec.get("budget_s", BUDGET_S))
    fixed = spec.get("blocks")
    looks = (int(fixed),) if fixed else stopping_rule.LOOKS
    drawn = _drawn_checks(session, looks[-1]) if verify is not None else set()
    due = 0
    for look in looks:
        while len(session.blocks) < look:
            # The budget is not looked at before the first look: a verdict needs that many blocks,
            # and a slow kernel would otherwise never have one.
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
            verdict = stopping_rule.decide(session.logs(), session.floor)
            if verdict is not None:
                return verdict, None
    return None, None


def _drawn_checks(session: Session, most: int) -> set[int]:
    """Which blocks have a call's outputs checked: some of the first look's, few of those after."""
    first = stopping_rule.LOOKS[0]
    usual = 1 if float(session.said.get("output_bytes", 0)) > _LARGE_BYTES else _VERIFIED
    drawn = set(session.draw.sample(range(first), int(session.spec.get("verified", usual))))
    later = range(first, most, _LATER_EVERY)
    return drawn | {session.draw.randrange(at, at + _LATER_EVERY) for at in later}


def _one_block(session: Session) -> int:
    """Fresh inputs and one block in an order drawn for it; its turn."""
    turn, order = _turn(session), _order(session)
    session.ask({"do": "time.fresh", "turn": turn}, TIMEOUT_S)
    # The runner runs code under test and reports its own event times. The coordinator measures the
    # same block by its own clock, which bounds what the events can claim.
    began = time.perf_counter()
    reply = session.ask({"do": "time.block", "order": order}, TIMEOUT_S)
    session.walls_us.append((time.perf_counter() - began) * 1e6)
    if len(reply["us"]) != len(order) or not all(map(_is_time, [*reply["us"], reply["span_us"]])):
        raise ValueError("the runner's answer has invalid times")
    session.blocks.append(reply)
    session.orders.append(order)
    return turn


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value > 0


def _can_check(session: Session) -> bool:
    """Inputs changed in place are put back for the next call, so the last one's are there."""
    return not session.said["in_place"] or session.orders[-1].endswith("B")


def _checked(session: Session, turn: int, verify: Verify) -> str | None:
    """What is wrong with the outputs of one call of the block that was just timed."""
    said = session.said
    calls = session.orders[-1].count("B") * int(said["repeats"])
    last = int(said["repeats"]) if said["in_place"] else calls
    call = session.draw.randrange(calls - min(last, int(said["keeps"])), calls)
    folder = f"{session.spec['out']}/{session.checked}"
    reply = session.ask({"do": "time.retained", "call": call, "out": folder}, TIMEOUT_S)
    session.checked += 1
    return verify(resampled_inputs.turn_of(turn, call % int(said["sets"])), reply["outputs"])


def _noise(
    session: Session, survey: Callable[[], dict[str, Any]] | None
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


def _order(session: Session) -> str:
    """A B B A or B A A B; twice over for short calls, A B or B A for long ones."""
    rough = max(session.said["rough_us"].values())
    if rough > _PAIR_US:
        return session.draw.choice(("AB", "BA"))
    times = 2 if rough < _DOUBLE_US else 1
    order = "ABBA" * times
    return order if session.draw.random() < 0.5 else order.translate(_SWAPPED)


_SWAPPED = str.maketrans("AB", "BA")


def _turn(session: Session) -> int:
    return session.draw.getrandbits(48)


def cross_check(session: Session) -> tuple[dict[str, Any], list[str]]:
    """Compare the candidate's clocks with the coordinator's, else the original's clocks."""
    wall: dict[str, Any] = {}
    faults: list[str] = []
    for letter in "B" if session.spec.get("original_us") else "AB":
        median = statistics.median(session.times(letter))
        batch = _batch(session, letter, median)
        found = clock_check.batch_faults(batch, median)
        for _ in range(_TRIES):
            if not found:
                break
            batch = clock_check.quietest(batch, _batch(session, letter, median))
            found = clock_check.batch_faults(batch, median)
        name = {"A": "original", "B": "candidate"}[letter]
        faults += [f"the {name}'s clocks disagree: {told}" for told in found]
        wall[name] = {"calls": batch.calls, "judged_us": batch.judged_us} | {
            "event_us": batch.delayed_event_us / batch.calls
        }
    return wall, faults


def slowed(session: Session, clean: Callable[[], float] | None) -> list[str]:
    """Whether the original takes longer next to the candidate than alone."""
    alone = session.spec.get("original_us")
    beside = statistics.median(session.times("A"))
    most = 1 + _CLEAN_MARGIN + session.floor
    if alone is not None and beside > alone * most and clean is not None:
        alone = clean()
    if alone is None or beside <= alone * most:
        return []
    return [
        f"the original takes {beside:.1f} us next to the candidate and {alone:.1f} us by itself: "
        "the candidate slows it, or something else uses the device"
    ]


def _batch(session: Session, letter: str, median_us: float) -> clock_check.Batch:
    host_us = max(session.said["host_us"].values())
    most = min(_MOST_CALLS, int(_LONGEST_DELAY_US / (DELAY_FACTOR * host_us + 1)))
    calls = max(2, min(most, math.ceil(_BATCH_US / median_us)))

    def timed(count: int, delayed: bool) -> tuple[float, float]:
        message = {"do": "time.batch", "which": letter, "calls": count}
        if delayed:
            message |= {"delayed": True, "as_for": calls}
        began = time.perf_counter()
        reply = session.ask(message, TIMEOUT_S)
        return float(reply["event_us"]), (time.perf_counter() - began) * 1e6

    idle_wall = timed(0, False)[1]
    plain_event, plain_wall = timed(calls, False)
    delay_wall = timed(0, True)[1]
    delayed_event, delayed_wall = timed(calls, True)
    return clock_check.Batch(
        calls, plain_event, plain_wall, idle_wall, delayed_event, delayed_wall, delay_wall
    )
