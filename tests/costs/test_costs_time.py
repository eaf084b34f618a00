"""The time of a demand: what must hold for any, and what bounds a few."""

import math
from dataclasses import replace

import pytest
from costs_cases import COPY, copy_launch
from hypothesis import given
from hypothesis import strategies as st

from tilewright.costs import Bound, estimate
from tilewright.costs.demand import Demand, Phase
from tilewright.costs.estimate import machine_of
from tilewright.costs.timing import launch_time
from tilewright.costs.traffic import Asked
from tilewright.hardware.chips import all_chips, chip
from tilewright.source import parse_module
from tilewright.targets.model import Access, CompileReport, LineReport, Target

HOPPER = machine_of(chip("cuda:90"))
counts = st.floats(0, 1e6)


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    phase = Phase(
        turns=draw(st.floats(1, 1000)),
        depth=draw(st.floats(0, 4)),
        ahead=draw(st.integers(0, 4)),
        instructions=draw(st.floats(1, 1000)),
        tensor_flops=draw(counts),
    )
    return Demand(
        lanes=32,
        programs=draw(st.integers(1, 100_000)),
        warps=draw(st.sampled_from([1, 2, 4, 8])),
        phases=(phase,),
        flops={("mma", "fp16"): phase.turns * phase.tensor_flops},
        shared_bytes=draw(counts),
        asked=Asked(draw(counts), 0.0, draw(counts)),
        spill_bytes=draw(counts),
    )


def _us(asked: Demand, resident: int = 4, moved: float = 1e6) -> float:
    return launch_time(asked, HOPPER, resident, moved).us


@given(demands(), st.floats(1, 8))
def test_more_of_anything_takes_no_less_time(asked: Demand, factor: float) -> None:
    us, moving = _us(asked), asked.asked
    assert _us(asked, moved=1e6 * factor) >= us
    assert _us(replace(asked, spill_bytes=asked.spill_bytes * factor)) >= us
    assert _us(replace(asked, shared_bytes=asked.shared_bytes * factor)) >= us
    longer = replace(asked.phases[0], turns=asked.phases[0].turns * factor)
    moved = Asked(*(factor * count for count in (moving.requested, moving.unique, moving.stored)))
    assert _us(replace(asked, phases=(longer,), asked=moved)) >= us


@given(demands(), st.integers(2, 5))
def test_so_many_times_the_programs_take_no_less_time(asked: Demand, times: int) -> None:
    more = replace(asked, programs=asked.programs * times)
    assert _us(more, moved=1e6 * times) >= _us(asked)


@given(demands())
def test_no_launch_takes_less_than_its_bytes_or_the_launch_itself(asked: Demand) -> None:
    assert _us(asked, moved=1e9) >= max(1e9 / HOPPER.memory, HOPPER.launch_us)


def test_handing_out_programs_costs_nothing_beside_what_takes_longer() -> None:
    many = Demand(lanes=32, programs=100_000, warps=4, phases=(Phase(turns=1, instructions=1),))
    handed_out = many.programs * HOPPER.dispatch / HOPPER.clock
    assert _us(many, moved=0.0) == pytest.approx(handed_out + HOPPER.launch_us, rel=0.01)
    moved = 5 * handed_out * HOPPER.memory
    without = launch_time(many, replace(HOPPER, dispatch=0.0), 4, moved).us
    assert _us(many, moved=moved) == without


LOADS = Phase(turns=100, depth=1, words=16, room=40, instructions=50)


def _waits(phase: Phase) -> float:
    alone = Demand(lanes=32, programs=132, warps=4, phases=(phase,))
    return launch_time(alone, HOPPER, 1, 1.0).parts["latency"]


def test_loads_wait_once_where_registers_hold_them_and_again_where_not() -> None:
    fits, crowded = _waits(LOADS), _waits(replace(LOADS, words=64))
    assert crowded > 2 * fits
    assert _waits(replace(LOADS, words=64, copied=True)) == pytest.approx(fits)
    assert _waits(replace(LOADS, words=64, room=math.inf)) == pytest.approx(fits, rel=0.5)


def test_turns_that_were_written_out_wait_together() -> None:
    assert _waits(replace(LOADS, words=4, together=4)) < 0.6 * _waits(replace(LOADS, words=4))


def test_what_was_loaded_before_is_waited_for_a_shorter_time() -> None:
    assert _waits(replace(LOADS, cold=0.0)) < _waits(LOADS)


def test_copies_that_run_ahead_are_waited_for_only_as_far_as_they_are_late() -> None:
    copies = replace(LOADS, copied=True, instructions=2000)
    assert _waits(replace(copies, ahead=2)) < _waits(copies)


def test_a_product_that_hides_its_loads_is_not_told_as_waiting() -> None:
    product = Phase(
        turns=64, depth=1, words=64, copied=True, ahead=2, instructions=80, tensor_flops=2.0**21
    )
    flops = {("wgmma", "fp16"): 64 * 2.0**21}
    launch = Demand(lanes=32, programs=1024, warps=4, phases=(product,), flops=flops)
    found = launch_time(launch, HOPPER, 1, 1e8)
    assert found.parts["latency"] < 0.1 * found.parts["tensor"] < found.us
    late = replace(launch, phases=(replace(product, ahead=0),))
    assert launch_time(late, HOPPER, 1, 1e8).parts["latency"] > 5 * found.parts["latency"]


def test_a_product_waits_for_factors_that_threads_make_in_its_turn() -> None:
    both = Phase(
        turns=64, depth=1, copied=True, ahead=1, instructions=1500, dots=2, tensor_flops=2.0**22
    )
    flops = {("wgmma", "fp16"): 64 * 2.0**22}
    launch = Demand(lanes=32, programs=132, warps=4, phases=(both,), flops=flops)
    made = replace(launch, phases=(replace(both, made=True),))
    assert _us(made, 1) > 1.1 * _us(launch, 1)


def test_copies_that_run_ahead_keep_memory_busy_while_programs_wait() -> None:
    steps = Phase(turns=64, depth=1, words=8, instructions=300, barriers=4)
    reading = Asked(requested=64 * 8192.0, unique=64 * 8192.0, stored=0.0)
    launch = Demand(lanes=32, programs=512, warps=4, phases=(steps,), asked=reading)
    copies = replace(launch, phases=(replace(steps, copied=True),))
    apart, ahead = (launch_time(one, HOPPER, 4, 512 * reading.unique) for one in (launch, copies))
    most = max(*ahead.parts.values())
    assert most < ahead.us < 0.95 * apart.us


def test_short_stretches_of_memory_take_longer_than_long_ones() -> None:
    launch = Demand(lanes=32, programs=132 * 32, warps=4, phases=(Phase(turns=1, instructions=1),))
    apart = replace(launch, asked=replace(launch.asked, per_run=1 / 64))
    assert 1.2 < _us(apart, moved=1e9) / _us(launch, moved=1e9) < 1.45


def test_reading_again_is_free_of_memory_where_a_round_fits_the_caches() -> None:
    twice = Asked(2 * 2.0**15, 2.0**15, 0.0)
    phase = Phase(turns=1, instructions=1)
    launch = Demand(lanes=32, programs=132 * 32, warps=4, phases=(phase,), asked=twice)
    read = launch.programs * twice.unique
    once = replace(launch, asked=replace(twice, requested=twice.unique))
    few, many = (
        launch_time(launch, HOPPER, r, read).parts["memory"]
        / launch_time(once, HOPPER, r, read).parts["memory"]
        for r in (2, 16)
    )
    assert few == pytest.approx(1.0)
    assert 1.0 < many < 2.0


def test_memory_takes_longer_where_much_is_under_way() -> None:
    moved = Asked(2.0**15, 2.0**15, 0.0)
    phase = Phase(turns=1, instructions=1)
    launch = Demand(lanes=32, programs=132 * 32, warps=4, phases=(phase,), asked=moved)
    few, many = (launch_time(launch, HOPPER, r, 1e8).parts["memory"] for r in (2, 16))
    assert 1e8 / HOPPER.memory < few < many < 1.5 * few
    in_turns = replace(launch, phases=(replace(phase, turns=1000),))
    assert launch_time(in_turns, HOPPER, 16, 1e8).parts["memory"] < few


def test_waiting_counts_for_less_where_many_rounds_of_programs_follow_each_other() -> None:
    phase = Phase(turns=1, depth=1, words=4, instructions=20)

    def waited(rounds: int) -> float:
        """Microseconds more a round, for the same wait beside the same work."""
        programs, moved = 132 * 8 * rounds, 1e7 * rounds
        launch = Demand(lanes=32, programs=programs, warps=4, phases=(phase,))
        at_once = replace(launch, phases=(replace(phase, depth=0),))
        return (_us(launch, 8, moved) - _us(at_once, 8, moved)) / rounds

    assert waited(2) > 1.3 * waited(64) > 0


def test_neighbours_loaded_one_by_one_are_found_near_where_other_rereading_is_not() -> None:
    reading = Asked(2.0**17, 2.0**17, 0.0)
    phase = Phase(turns=1, instructions=1)
    launch = Demand(lanes=32, programs=10_000, warps=4, phases=(phase,), asked=reading)
    whole, neighbours, twice = (
        launch_time(one, HOPPER, 8, 1.0).parts["l2"]
        for one in (
            launch,
            replace(launch, again=4.0),
            replace(launch, asked=replace(reading, requested=4 * reading.requested)),
        )
    )
    assert whole < neighbours < 0.5 * twice


def test_adding_to_the_same_lines_takes_longer_than_to_many() -> None:
    phase = Phase(turns=1, instructions=1)
    launch = Demand(lanes=32, programs=10_000, warps=4, phases=(phase,), atomic_bytes=512.0)
    few, many = (replace(launch, atomic_lines=lines) for lines in (4.0, 4000.0))
    assert launch_time(few, HOPPER, 8, 1.0).parts["atomics"] == pytest.approx(
        HOPPER.slices / 4 * launch_time(many, HOPPER, 8, 1.0).parts["atomics"]
    )


def test_accesses_take_as_long_as_the_lines_that_they_reach() -> None:
    phase = Phase(turns=1, instructions=1)
    launch = Demand(lanes=32, programs=10_000, warps=4, phases=(phase,), wavefronts=64.0)
    near = launch_time(launch, HOPPER, 8, 1.0).parts["near"]
    far = launch_time(replace(launch, wavefronts=1024.0), HOPPER, 8, 1.0).parts["near"]
    assert far == pytest.approx(16 * near)


def test_a_loop_that_is_not_kept_near_takes_longer_to_issue() -> None:
    short = Phase(turns=50, instructions=1000, code_bytes=4000)
    launch = Demand(lanes=32, programs=10_000, warps=4, phases=(short,), code_bytes=4000)
    long = replace(launch, phases=(replace(short, code_bytes=40_000),))
    assert _us(long) > 1.3 * _us(launch)


def test_code_that_is_run_once_is_fetched_ahead() -> None:
    once = Phase(turns=1, instructions=1000, code_bytes=4000)
    launch = Demand(lanes=32, programs=100_000, warps=4, phases=(once,), code_bytes=4000)
    long = replace(launch, phases=(replace(once, code_bytes=40_000),), code_bytes=40_000)
    assert _us(long) == pytest.approx(_us(launch), rel=0.01)


def _copied(n: int, block: int, warps: int = 4, registers: int = 32) -> CompileReport:
    access = Access("load", "global", 128, max(1, block // (warps * 32 * 4)))
    store = replace(access, kind="store")
    return CompileReport(
        target=Target("cuda", "90"),
        kernel="copy",
        launch=copy_launch(n, block, warps),
        ok=True,
        registers=registers,
        spill_bytes=0,
        shared_bytes=0,
        details={"warps": warps},
        lines=(LineReport(8, 12, (access,)), LineReport(9, 12, (store,))),
    )


def test_a_large_copy_is_bound_by_memory_near_its_roofline() -> None:
    found = estimate(parse_module(COPY), _copied(1 << 26, 1024))
    assert found is not None
    assert found.bound is Bound.MEMORY
    assert 75 < found.roofline_percent < 95
    assert found.us > 2 * 4 * (1 << 26) / 4.8e6


def test_a_small_copy_is_bound_by_latency() -> None:
    found = estimate(parse_module(COPY), _copied(1 << 10, 1024))
    assert found is not None
    assert found.bound is Bound.LATENCY
    assert found.us < 10


def test_tiny_programs_are_bound_by_starting_them() -> None:
    found = estimate(parse_module(COPY), _copied(1 << 26, 32, warps=1))
    assert found is not None
    assert found.bound is Bound.DISPATCH


def test_what_was_refused_or_has_no_grid_has_no_estimate() -> None:
    module, report = parse_module(COPY), _copied(1 << 20, 1024)
    assert estimate(module, replace(report, ok=False)) is None
    assert estimate(module, replace(report, launch=replace(report.launch, grid=()))) is None
    assert estimate(parse_module("x = 1"), report) is None


def test_every_chip_has_figures_to_reckon_with() -> None:
    for one in all_chips():
        machine = machine_of(one)
        assert machine.l2 > machine.memory > 0, one.id
        assert machine.clock > 500, one.id
        assert any(rate > 0 for rate in machine.tensor.values()), one.id
