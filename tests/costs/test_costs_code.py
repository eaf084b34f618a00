"""What a report's lines say of how a program runs: copies of loops, lines of memory."""

import pytest
from costs_cases import constant, number, tensor, work_of

from tilewright.costs.demand import Demand, atomic_lines, demand, last_comes_first, reached_lines
from tilewright.costs.model import Touch
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

WIDENED = """
import triton
import triton.language as tl

@triton.jit
def widened(a_ptr, w_ptr, c_ptr, K, N, BK: tl.constexpr):
    rows = tl.program_id(0) * 64 + tl.arange(0, 64)
    columns = tl.program_id(1) * 64 + tl.arange(0, 64)
    total = tl.zeros((64, 64), dtype=tl.float32)
    for k in range(0, K, BK):
        depth = k + tl.arange(0, BK)
        w = tl.load(w_ptr + depth[:, None] * N + columns[None, :]).to(tl.float16)
        total = tl.dot(tl.load(a_ptr + rows[:, None] * K + depth[None, :]), w, total)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)
"""
WIDENED_GIVEN = (
    tensor("a_ptr", "fp16", 1024, 1024), tensor("w_ptr", "i8", 1024, 1024),
    tensor("c_ptr", "fp32", 1024, 1024), number("K", 1024), number("N", 1024),
    constant("BK", 64),
)  # fmt: skip


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


def test_lanes_reach_as_many_lines_as_their_elements_lie_in() -> None:
    wide, narrow = (Touch("load", 1, "x", 4, e, (4096, 1)) for e in ((16, 256), (64, 8)))
    assert reached_lines(wide, 128, 32) == 4  # of a row, 16 bytes a lane
    assert reached_lines(narrow, 128, 32) == 16  # two lanes a row
    turned = Touch("load", 1, "x", 2, (64, 64), (1, 4096))
    assert reached_lines(turned, 128, 32) == 4
    assert reached_lines(Touch("load", 1, "x", 4, (1024,), (3,)), 32, 32) == 3
    assert reached_lines(Touch("load", 1, "x", 4, (1024,), (0,)), 128, 32) == 1
    assert reached_lines(Touch("load", 1, "x", 4, (1024,), (None,)), 32, 32) == 32


@pytest.mark.parametrize(("triton", "lines"), [("3.6.0", 16), ("3.7.0", 1)])
def test_repeated_elements_are_laid_out_by_the_version_of_triton(triton: str, lines: int) -> None:
    """Rows of a scale for each 128 columns: 3.6 lays lanes down the rows, 3.7 along them."""
    last_first = last_comes_first(f"triton {triton}, ptxas 12.8.93")
    scale = Touch("load", 1, "scale", 4, (16, 256), (32, 0))
    values = Touch("load", 2, "q", 1, (16, 256), (4096, 1))
    assert reached_lines(scale, 128, 32, (scale, values), last_first=last_first) == lines


def _widened(copies: int) -> Demand:
    """A 64 x 64 tile of int8 that 128 threads copy ahead, read, widen and write anew."""
    launch = LaunchFacts("widened", (16, 16), WIDENED_GIVEN, {"num_warps": 4, "num_stages": copies})
    moved = (
        Access("async_copy", "global", 128, 2 * copies),
        Access("load", "shared", 128, 2),
        Access("store", "shared", 128, 4),
    )
    body = LineReport(12, 100 + 3 * 2 * copies, moved, barriers=copies)
    return demand(work_of(WIDENED, launch), _report(launch, body))


def test_what_is_done_with_a_copied_tile_stands_in_the_code_once() -> None:
    """The copies in front of a loop are of no tile that threads widen there."""
    two, four = _widened(2), _widened(4)
    assert two.total("instructions") == four.total("instructions") == 16 * (100 + 3 * 2)
    assert two.total("barriers") == four.total("barriers") == 16
    assert two.requests == four.requests == 16 * 2 * 4
    assert two.shared_bytes == four.shared_bytes


def test_programs_that_run_together_may_add_to_the_same_lines() -> None:
    rows_first = work_of(SUMS, _sums(span=64, bm=8))
    assert atomic_lines(rows_first, 100) == 4  # all are at the first 128 columns
    assert atomic_lines(rows_first, 10_000) == 32
