"""What a launch moves and computes, against what one counts by hand."""

import pytest
from costs_cases import (
    COPY,
    GATHER,
    HALVES,
    MATMUL,
    SCALED,
    SHARES,
    TAPS,
    constant,
    copy_launch,
    matmul_launch,
    number,
    tensor,
    work_of,
)

from tilewright.costs.infeasible import hopeless
from tilewright.costs.traffic import memory_bytes, requests_of, touched_bytes
from tilewright.hardware.chips import chip
from tilewright.targets.model import LaunchFacts

LARGE_CACHE = 1e12


def test_a_copy_moves_each_byte_once_in_and_once_out() -> None:
    launch = copy_launch(1 << 20, 1024)
    work = work_of(COPY, launch)
    assert work.programs == 1024
    assert memory_bytes(work, launch, concurrent=132, cache_bytes=1) == 2 * 4 * (1 << 20)


def test_lanes_that_a_mask_stops_move_nothing() -> None:
    launch = copy_launch(1000, 2000)
    (load, store) = work_of(COPY, launch).touches
    assert load.inside == store.inside == pytest.approx(0.5, abs=0.07)


@pytest.mark.parametrize(("bm", "bn"), [(64, 64), (128, 64), (128, 256)])
def test_a_product_asks_for_each_operand_once_a_tile_of_the_other(bm: int, bn: int) -> None:
    m, n, k = 1024, 2048, 512
    work = work_of(MATMUL, matmul_launch(m, n, k, bm, bn, 32))
    programs = (m // bm) * (n // bn)
    assert work.programs == programs
    assert requests_of(work).requested * programs == 2 * k * (m * n // bn + m * n // bm)
    (dot,) = work.dots
    assert 2 * dot.m * dot.n * dot.k * dot.turns * programs == 2 * m * n * k


def test_a_product_reads_its_operands_once_where_the_cache_holds_them() -> None:
    launch = matmul_launch(1024, 1024, 1024, 128, 128, 32)
    work = work_of(MATMUL, launch)
    least = 3 * 2 * 1024 * 1024
    assert touched_bytes(work, launch) == least
    assert memory_bytes(work, launch, 132, LARGE_CACHE) == least


def test_without_a_cache_a_product_reads_again_what_earlier_programs_read() -> None:
    launch = matmul_launch(4096, 4096, 1024, 128, 128, 32)
    work = work_of(MATMUL, launch)
    assert memory_bytes(work, launch, 132, 1.0) > 1.5 * touched_bytes(work, launch)


def test_programs_of_a_row_share_their_operand() -> None:
    (a, b, c) = work_of(MATMUL, matmul_launch(1024, 2048, 512, 128, 128, 32)).touches
    assert a.spread is not None
    assert b.spread is not None
    assert c.spread is not None
    # The first axis of the grid runs fastest: eight programs are eight rows of tiles.
    assert (a.spread.distinct(8), b.spread.distinct(8), c.spread.distinct(8)) == (8, 1, 8)
    assert (a.spread.distinct(128), b.spread.distinct(128)) == (8, 16)


def test_tiles_of_a_loop_that_overlap_are_counted_once() -> None:
    given = (tensor("x_ptr", "fp32", 1 << 16), tensor("y_ptr", "fp32", 1 << 16))
    launch = LaunchFacts("taps", (64,), (*given, constant("BLOCK", 1024)), {})
    work = work_of(TAPS, launch)
    found = requests_of(work)
    assert found.requested == 5 * 4096
    assert found.unique == pytest.approx(4 * (1024 + 4), rel=0.01)


def test_halves_of_a_row_are_two_tiles_and_not_one_read_twice() -> None:
    given = (tensor("x_ptr", "fp32", 64, 512), tensor("y_ptr", "fp32", 64, 256))
    launch = LaunchFacts("halves", (64,), (*given, number("width", 512), constant("HALF", 256)))
    work = work_of(HALVES, launch)
    assert [t.at for t in work.touches] == [0, 256, 0]
    assert requests_of(work).unique == requests_of(work).requested == 4 * 512
    assert touched_bytes(work, launch) == 4 * 64 * (512 + 256)


def test_programs_that_start_a_loop_elsewhere_are_at_other_rows() -> None:
    given = (tensor("x_ptr", "fp32", 1024, 256), tensor("y_ptr", "fp32", 64, 256))
    given = (*given, number("rows", 1024), constant("EACH", 16), constant("BLOCK", 256))
    launch = LaunchFacts("shares", (64,), given)
    (load, _) = (work := work_of(SHARES, launch)).touches
    assert load.spread is not None
    assert load.spread.distinct(64) == 64
    assert touched_bytes(work, launch) == 4 * 256 * (1024 + 64)


def test_rows_that_end_before_their_tile_do_not_overlap() -> None:
    given = (tensor("x_ptr", "fp32", 64, 640), tensor("y_ptr", "fp32", 64, 640))
    given = (*given, number("width", 640), constant("ROWS", 8), constant("BLOCK", 1024))
    launch = LaunchFacts("scaled", (8,), given)
    work = work_of(SCALED, launch)
    assert touched_bytes(work, launch) == pytest.approx(2 * 4 * 64 * 640, rel=0.08)
    assert requests_of(work).unique == pytest.approx(requests_of(work).requested)


def test_a_gathered_row_is_unknown_across_and_dense_along() -> None:
    given = (tensor("index_ptr", "i64", 512), tensor("x_ptr", "fp16", 30000, 256))
    given = (*given, tensor("y_ptr", "fp16", 512, 256), number("width", 256))
    launch = LaunchFacts("gather", (32,), (*given, constant("ROWS", 16), constant("BLOCK", 256)))
    (index, rows, _stored) = work_of(GATHER, launch).touches
    assert rows.strides == (None, 1)
    assert (index.depth, rows.depth) == (0, 1)
    assert requests_of(work_of(GATHER, launch)).stored == 16 * 256 * 2


def test_what_cannot_fit_is_told_before_any_compiler_sees_it() -> None:
    on = chip("cuda:90")
    wide = matmul_launch(4096, 4096, 4096, 256, 256, 32)
    assert "512 registers of each thread" in str(hopeless(work_of(MATMUL, wide), wide, on))
    deep = matmul_launch(4096, 4096, 4096, 128, 128, 256)
    assert "shared memory" in str(hopeless(work_of(MATMUL, deep), deep, on))
    good = matmul_launch(4096, 4096, 4096, 128, 128, 64)
    assert hopeless(work_of(MATMUL, good), good, on) is None
