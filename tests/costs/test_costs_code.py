"""What a report's lines say of how a program runs: copies of loops, lines of memory."""

import pytest
from costs_cases import constant, number, tensor, work_of

from tilewright.costs.demand import Demand, atomic_lines, demand
from tilewright.targets.model import Access, CompileReport, LaunchFacts, LineReport, Target

SUMS = """
import triton
import triton.language as tl

@triton.jit
def sums(x_ptr, out_ptr, N, SPAN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, SPAN, BM):
        rows = tl.program_id(0) * SPAN + start + tl.arange(0, BM)
        total += tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    tl.atomic_add(out_ptr + columns, tl.sum(total, 0))
"""

TURNED = """
import triton
import triton.language as tl

@triton.jit
def turned(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    tl.store(y_ptr + columns[:, None] * M + rows[None, :], tl.trans(x))
"""


def _sums(span: int, bm: int, bn: int = 128) -> LaunchFacts:
    rows, columns = 8192, 1024
    sizes = (constant("SPAN", span), constant("BM", bm), constant("BN", bn))
    given = (tensor("x_ptr", "fp32", rows, columns), tensor("out_ptr", "fp32", columns))
    grid = (rows // span, columns // bn)
    return LaunchFacts("sums", grid, (*given, number("N", columns), *sizes), {"num_warps": 4})


def _report(launch: LaunchFacts, *lines: LineReport) -> CompileReport:
    return CompileReport(
        target=Target("cuda", "90"),
        kernel=launch.kernel,
        launch=launch,
        ok=True,
        registers=40,
        spill_bytes=0,
        shared_bytes=0,
        details={"warps": 4},
        lines=lines,
    )


def _sums_demand(loads: int) -> Demand:
    """Eight turns of 8 x 128 numbers by 128 threads, each with two loads of 16 bytes."""
    launch = _sums(span=64, bm=8)
    body = LineReport(11, 5 * loads, (Access("load", "global", 128, loads),))
    place = LineReport(10, 8 * (loads // 2))
    return demand(work_of(SUMS, launch), _report(launch, place, body))


def test_a_loop_that_the_compiler_wrote_out_waits_once_for_all_its_loads() -> None:
    turning, written_out = _sums_demand(loads=2), _sums_demand(loads=16)
    assert [phase.together for phase in turning.phases] == [1.0, 1.0]
    assert [phase.together for phase in written_out.phases] == [1.0, 8.0]


def test_the_copies_of_a_loop_are_run_once_each() -> None:
    turning, written_out = _sums_demand(loads=2), _sums_demand(loads=16)
    assert turning.total("instructions") == pytest.approx(8 * (10 + 8))
    assert written_out.total("instructions") == pytest.approx(8 * 10 + 8 * 8)


def test_tiles_that_are_narrow_in_memory_lie_in_more_lines() -> None:
    def lines(bm: int, bn: int) -> float:
        given = (tensor("x_ptr", "fp32", 1024, 1024), tensor("y_ptr", "fp32", 1024, 1024))
        sizes = (number("M", 1024), number("N", 1024), constant("BM", bm), constant("BN", bn))
        launch = LaunchFacts("turned", (1024 // bm, 1024 // bn), (*given, *sizes), {"num_warps": 4})
        return demand(work_of(TURNED, launch), _report(launch)).lines

    assert lines(32, 32) == 32 + 32
    assert lines(4, 256) == 4 * 8 + 256


def test_programs_that_run_together_may_add_to_the_same_lines() -> None:
    rows_first = work_of(SUMS, _sums(span=64, bm=8))
    assert atomic_lines(rows_first, 100) == 4  # all are at the first 128 columns
    assert atomic_lines(rows_first, 10_000) == 32
