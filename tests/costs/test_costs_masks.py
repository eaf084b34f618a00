"""What masks let through, against what one counts by hand."""

import pytest
from costs_cases import COPY, constant, copy_launch, number, tensor, work_of

from tilewright.costs.masks import mean_of, sample_programs
from tilewright.costs.traffic import touched_bytes
from tilewright.targets.model import LaunchFacts

HEAD = """
import triton
import triton.language as tl

@triton.jit
"""

ROWS = (
    HEAD
    + """
def rows(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + tl.program_id(0) * N + at, mask=at < N, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(total, 0))
"""
)

COUNTDOWN = (
    HEAD
    + """
def rows(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    at = tl.arange(0, BLOCK)
    for k in range(0, tl.cdiv(N, BLOCK)):
        total += tl.load(x_ptr + k * BLOCK + at, mask=at < N - k * BLOCK, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(total, 0))
"""
)

WHILE = (
    HEAD
    + """
def rows(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    start = 0
    while start < N:
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + tl.program_id(0) * N + at, mask=at < N, other=0.0)
        start += BLOCK
    tl.store(y_ptr + tl.program_id(0), tl.sum(total, 0))
"""
)

TILES = (
    HEAD
    + """
def tiles(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=inside)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], x, mask=inside)
"""
)

EVEN = (
    HEAD
    + """
def even(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=(at // 3) % 2 == 0)
    tl.store(y_ptr + at, x)
"""
)

TRIANGLE = (
    HEAD
    + """
def triangle(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = rows[:, None] * N + columns[None, :]
    x = tl.load(x_ptr + at, mask=rows[:, None] >= columns[None, :])
    tl.store(y_ptr + at, x)
"""
)


@pytest.mark.parametrize("text", [ROWS, COUNTDOWN])
@pytest.mark.parametrize(("n", "block"), [(32000, 4096), (32000, 2048), (5120, 4096), (3000, 128)])
def test_a_last_turn_that_is_partly_masked_counts_as_one_turn(
    text: str, n: int, block: int
) -> None:
    given = (tensor("x_ptr", "fp32", 64, n), tensor("y_ptr", "fp32", 64))
    launch = LaunchFacts("rows", (64,), (*given, number("N", n), constant("BLOCK", block)))
    work = work_of(text, launch)
    assert work.touches[0].inside == pytest.approx(n / (-(-n // block) * block), rel=1e-9)
    if text == ROWS:
        assert touched_bytes(work, launch) == pytest.approx(4 * 64 * n, rel=0.005)


@pytest.mark.parametrize(("n", "turns"), [(1024, 4), (1000, 4), (0, 0)])
def test_a_while_that_counts_up_has_as_many_turns_as_steps(n: int, turns: int) -> None:
    given = (tensor("x_ptr", "fp32", 64, 1024), tensor("y_ptr", "fp32", 64))
    launch = LaunchFacts("rows", (64,), (*given, number("N", n), constant("BLOCK", 256)))
    work = work_of(WHILE, launch)
    assert [loop.each for loop in work.loops.values()] == [turns]
    assert not work.notes


def test_a_last_program_that_is_partly_masked_counts_as_one_program() -> None:
    n, block = 100_000, 8192
    (load, _) = work_of(COPY, copy_launch(n, block)).touches
    assert load.inside == pytest.approx(n / (13 * block), rel=1e-9)


def test_masks_of_two_axes_multiply() -> None:
    m, n, bm, bn = 100, 1000, 32, 128
    given = (tensor("x_ptr", "fp32", m, n), tensor("y_ptr", "fp32", m, n))
    sizes = (number("M", m), number("N", n), constant("BM", bm), constant("BN", bn))
    launch = LaunchFacts("tiles", (-(-n // bn), -(-m // bm)), (*given, *sizes))
    load = work_of(TILES, launch).touches[0]
    assert load.inside == pytest.approx(m * n / (4 * bm * 8 * bn), rel=1e-9)


def test_what_is_not_linear_is_sampled() -> None:
    given = (tensor("x_ptr", "fp32", 4096), tensor("y_ptr", "fp32", 4096))
    launch = LaunchFacts("even", (16,), (*given, constant("BLOCK", 256)))
    assert work_of(EVEN, launch).touches[0].inside == pytest.approx(0.5, abs=0.2)


def test_a_mask_along_two_axes_at_once_is_sampled_off_the_diagonal() -> None:
    given = (tensor("x_ptr", "fp32", 512, 512), tensor("y_ptr", "fp32", 512, 512))
    launch = LaunchFacts("triangle", (8, 8), (*given, number("N", 512), constant("BLOCK", 64)))
    assert work_of(TRIANGLE, launch).touches[0].inside == pytest.approx(0.5, abs=0.15)


def test_samples_of_programs_reach_all_parts_of_each_axis() -> None:
    places = sample_programs((8, 4, 1))
    assert {x for x, _, _ in places} == set(range(8))
    assert {y for _, y, _ in places} == set(range(4))
    assert len(sample_programs((3, 2, 1))) == 6


@pytest.mark.parametrize("length", [0, 1, 37, 100, 1000, 5000])
def test_the_mean_of_what_rises_in_a_straight_line_is_exact(length: int) -> None:
    def part(at: int) -> float:
        return min(1.0, max(0.0, (at - 100) / length)) if length else float(at >= 100)

    assert mean_of(part, 1024) == pytest.approx(sum(map(part, range(1024))) / 1024, rel=2e-3)


def test_a_part_that_is_not_known_makes_the_mean_unknown() -> None:
    assert mean_of(lambda at: None if at == 3 else 0.0, 4) is None
