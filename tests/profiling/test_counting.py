"""Bytes and operations of a launch, counted from the source."""

import pytest
from profiling_subjects import (
    constexpr,
    example,
    line_of,
    matmul_launch,
    number,
    softmax_launch,
    tensor,
)

from tilewright.profiling.counting import together, work_of
from tilewright.source import parse_module
from tilewright.targets.model import LaunchFacts

HALVES = parse_module(
    """
import triton
import triton.language as tl

@triton.jit
def halves(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    gate = tl.load(x_ptr + row * 2 * n + at)
    up = tl.load(x_ptr + row * 2 * n + n + at)
    tl.store(y_ptr + row * n + at, gate * up)
""",
    "halves.py",
)


def test_three_passes_touch_a_row_once_and_ask_for_it_three_times() -> None:
    work = work_of(example("softmax"), softmax_launch())
    matrix = 8192 * 8192 * 4
    assert work.touched_bytes == 2 * matrix
    assert work.asked_bytes == pytest.approx(4 * matrix)
    assert work.again == (24, 31, 37)
    assert work.programs == 8192
    assert not work.dot_flop


def test_a_product_is_counted_by_the_type_it_multiplies() -> None:
    work = work_of(example("matmul"), matmul_launch())
    assert work.dot_flop == {"fp32": 2 * 4096**3}
    assert work.touched_bytes == 3 * 4096 * 4096 * 2
    assert work.dot_lines == (line_of("matmul", "tl.dot"),)
    assert work.again == ()


def test_larger_tiles_ask_for_less() -> None:
    small, large = (work_of(example("matmul"), matmul_launch(block=size)) for size in (32, 128))
    assert small.asked_bytes is not None
    assert large.asked_bytes is not None
    assert small.asked_bytes > 3 * large.asked_bytes


def test_two_halves_of_a_tensor_are_not_the_same_tiles() -> None:
    arguments = (
        tensor("x_ptr", "fp16", 512, 1024), tensor("y_ptr", "fp16", 512, 512), number("n", 512),
        constexpr("BLOCK", 512),
    )  # fmt: skip
    work = work_of(HALVES, LaunchFacts("halves", (512,), arguments))
    assert work.again == ()
    assert work.touched_bytes == 512 * 1024 * 2 + 512 * 512 * 2
    assert work.asked_bytes == work.touched_bytes


def test_a_kernel_that_is_not_in_the_file_is_said_not_to_be_counted() -> None:
    work = work_of(HALVES, LaunchFacts("other", (1,), ()))
    assert work.touched_bytes is None
    assert "other is not in this file" in work.notes[0]


def test_launches_of_one_kernel_add_up_unless_one_is_not_known() -> None:
    one = work_of(example("softmax"), softmax_launch())
    assert together((one, one)).touched_bytes == 2 * (one.touched_bytes or 0)
    unknown = work_of(HALVES, LaunchFacts("other", (1,), ()))
    assert together((one, unknown)).touched_bytes is None
