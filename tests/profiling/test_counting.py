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

from tilewright.profiling.subjects import together, work_of
from tilewright.source import parse_module
from tilewright.targets.model import LaunchFacts

HALVES_TEXT = """
import triton
import triton.language as tl

@triton.jit
def halves(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    gate = tl.load(x_ptr + row * 2 * n + at)
    up = tl.load(x_ptr + row * 2 * n + n + at)
    tl.store(y_ptr + row * n + at, gate * up)
"""
HALVES = parse_module(HALVES_TEXT, "halves.py")
ROWS = parse_module(
    """
import triton
import triton.language as tl

@triton.jit
def rows_of(x_ptr, w_ptr, rows, BLOCK: tl.constexpr):
    first = tl.program_id(0) * rows
    at = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + at)
    for row in range(first, first + rows):
        x = tl.load(x_ptr + row * BLOCK + at)
        tl.store(x_ptr + row * BLOCK + at, x * w)
""",
    "rows.py",
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


def test_rows_that_a_program_loops_over_are_its_own() -> None:
    arguments = (
        tensor("x_ptr", "fp16", 1024, 512), tensor("w_ptr", "fp16", 512), number("rows", 8),
        constexpr("BLOCK", 512),
    )  # fmt: skip
    work = work_of(ROWS, LaunchFacts("rows_of", (128,), arguments))
    assert work.touched_bytes == 2 * 1024 * 512 * 2 + 512 * 2
    assert work.asked_bytes == 2 * 1024 * 512 * 2 + 128 * 512 * 2
    assert work.is_whole


def test_turns_that_depend_on_data_are_said_not_to_be_counted() -> None:
    text = HALVES_TEXT.replace(
        "    at =", "    for _ in range(tl.load(y_ptr)):\n        n += 1\n    at ="
    )
    arguments = (tensor("x_ptr", "fp16", 512, 1024), tensor("y_ptr", "i32", 512, 512),
                 number("n", 512), constexpr("BLOCK", 512))  # fmt: skip
    work = work_of(parse_module(text, "h.py"), LaunchFacts("halves", (512,), arguments))
    assert not work.is_whole
    assert any("iterations does not follow" in note for note in work.notes)


def test_a_kernel_that_is_not_in_the_file_is_said_not_to_be_counted() -> None:
    work = work_of(HALVES, LaunchFacts("other", (1,), ()))
    assert work.touched_bytes is None
    assert "other is not in this file" in work.notes[0]


def test_launches_of_one_kernel_add_up_unless_one_is_not_known() -> None:
    one = work_of(example("softmax"), softmax_launch())
    assert together((one, one)).touched_bytes == 2 * (one.touched_bytes or 0)
    unknown = work_of(HALVES, LaunchFacts("other", (1,), ()))
    assert together((one, unknown)).touched_bytes is None
