"""When several passes over a row may become one, and when not."""

import pytest
from rewrite_cases import HERE, example, example_context, issue_at, read_case

from tilewright.analysis.model import AnalysisContext
from tilewright.rewrites import Refusal, rewrites_for
from tilewright.rewrites.rows import warps_for_row
from tilewright.source import Module, parse_module

LOOP = "for start in range(0, n_cols, BLOCK):"


def single_pass(module: Module, context: AnalysisContext, at: str = LOOP) -> str | Refusal:
    (rewrite,) = rewrites_for("multi_pass_row")
    return rewrite.apply(module, issue_at(module, "multi_pass_row", at), context)


def changed(name: str, old: str, new: str, count: int = -1) -> Module:
    text = example(name).text
    assert old in text
    return parse_module(text.replace(old, new, count))


@pytest.mark.parametrize("name", ["softmax", "layernorm"])
def test_examples_read_each_row_once(name: str) -> None:
    text = single_pass(example(name), example_context(name))
    assert isinstance(text, str)
    assert "for start in" not in text
    assert text.count("tl.load(x_row") == 1
    assert "BLOCK=triton.next_power_of_2(n_cols)" in text
    assert "num_warps=8" in text


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "for start in range(0, n_cols, BLOCK):",
            "for start in range(0, n_cols, 2):",
            "no loop over",
        ),
        ("highest = tl.maximum(highest, x)", "highest = highest * 2 + x", "not a plain reduction"),
        ("total = tl.zeros((BLOCK,)", "total = tl.full((BLOCK,), 1.0", "does not start at zero"),
        ("row_max = tl.max(highest, axis=0)", "row_max = highest", "other than by reducing it"),
        ("row_max = tl.max(highest, axis=0)", "row_max = tl.sum(highest, axis=0)", "other than by"),
        (
            "row_sum = tl.sum(total, axis=0)",
            "row_sum = tl.sum(total, axis=0) / BLOCK",
            "as a number",
        ),
        (
            "highest = tl.maximum(highest, x)",
            "if start > 0:\n            highest = x",
            "more than an",
        ),
        ("row_max = tl.max(highest, axis=0)", "row_max = tl.max(x, axis=0)", "x is used after"),
        ("row = tl.program_id(0)", "row = tl.program_id(0)\n    n_cols += 0", "no loop over"),
        (
            "y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)",
            "y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)\n    n_cols += 0",
            "is changed",
        ),
        (", mask=cols < n_cols, other=float", ", other=float", "has no mask against n_cols"),
        ("total += tl.exp(x - row_max)", "total += tl.cumsum(x, axis=0)", "padding may change"),
    ],
)
def test_softmax_refuses_what_one_block_would_change(old: str, new: str, reason: str) -> None:
    result = single_pass_anywhere(changed("softmax", old, new))
    assert isinstance(result, Refusal), result
    assert reason in result.reason


def single_pass_anywhere(module: Module) -> str | Refusal:
    return single_pass(module, example_context("softmax"), "tl.program_id(0)")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("softmax_kernel[(n_rows,)](", "softmax_kernel[(n_rows,)](*[], ", "does not show"),
        ("import triton\n", "", "does not import triton"),
        (
            "@triton.jit",
            "@triton.autotune([triton.Config({'BLOCK': 64})], key=[])\n@triton.jit",
            "chosen by a decorator",
        ),
        (
            "    return y\n",
            "    softmax_kernel[(n_rows,)](x, y, n_cols, 1, 1, BLOCK=1)\n    return y\n",
            "2 launches",
        ),
    ],
)
def test_softmax_refuses_a_launch_it_cannot_fit(old: str, new: str, reason: str) -> None:
    result = single_pass_anywhere(changed("softmax", old, new))
    assert isinstance(result, Refusal), result
    assert reason in result.reason


def test_row_length_has_to_be_known_and_small_enough() -> None:
    module = example("softmax")
    unknown = single_pass(module, AnalysisContext())
    assert isinstance(unknown, Refusal)
    assert "no launch was captured" in unknown.reason
    context = example_context("softmax")
    launch = context.launches[0]
    longer = tuple(
        a if a.name != "n_cols" else type(a)("n_cols", "int", "i32", 40000)
        for a in launch.arguments
    )
    too_long = type(launch)(launch.kernel, launch.grid, longer)
    result = single_pass(module, AnalysisContext(launches=(too_long,)))
    assert isinstance(result, Refusal)
    assert "40000" in result.reason


def test_a_load_behind_a_store_is_not_merged() -> None:
    module = changed(
        "softmax",
        "        total += tl.exp(x - row_max)\n",
        "        total += tl.exp(x - row_max)\n"
        "        tl.store(y_row + cols, total, mask=cols < n_cols)\n",
    )
    text = single_pass(module, example_context("softmax"))
    assert isinstance(text, str)
    assert text.count("tl.load(x_row") == 2


def test_padded_lanes_are_masked_where_a_sum_would_take_them_in() -> None:
    path = HERE / "golden" / "single_pass_row_two_pass_variance.before.py"
    text = read_case(path).apply()
    assert isinstance(text, str)
    assert "squares += tl.where(cols < n, d * d, 0.0)" in text


def test_warps_grow_with_the_row() -> None:
    assert [warps_for_row(n) for n in (512, 2048, 2049, 8192, 8193, 32768)] == [4, 4, 8, 8, 16, 16]
