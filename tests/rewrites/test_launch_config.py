"""Pinning tile sizes and options at a launch, with the grid kept in step."""

from dataclasses import replace

import pytest
from rewrite_cases import HERE, example, example_context, issue_at

from tilewright.rewrites import Refusal, rewrites_for
from tilewright.rewrites.launch_config import set_launch_config
from tilewright.rewrites.tiles import tunable
from tilewright.source import Module, parse_module

TILES = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 16}

TEMPLATE = """\
import triton
import triton.language as tl
{constants}

@triton.jit
def fill_kernel(x_ptr, n, BLOCK: tl.constexpr{default}):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + cols, 0.0, mask=cols < n)


def run(x{parameter}):
    n = x.numel()
    {setup}
    fill_kernel[{grid}](x, n{block})
"""


def filled(**parts: str) -> Module:
    blank = dict.fromkeys(("constants", "default", "parameter"), "")
    defaults = {"setup": "pass", "grid": "(triton.cdiv(n, 128),)", "block": ", BLOCK=128"}
    return parse_module(TEMPLATE.format(**{**blank, **defaults, **parts}))


def pinned(module: Module, value: int = 512, **options: int) -> str:
    text = set_launch_config(module, "fill_kernel", {"BLOCK": value}, options)
    assert isinstance(text, str), text
    found = tunable(parse_module(text), "fill_kernel")
    assert not isinstance(found, Refusal)
    assert found.values == {"BLOCK": value}
    assert {**found.options} == options
    return text


def test_literals_of_the_grid_follow() -> None:
    text = set_launch_config(example("matmul"), "matmul_kernel", TILES, {"num_warps": 8})
    assert isinstance(text, str)
    assert "grid = (triton.cdiv(M, 128), triton.cdiv(N, 64))" in text
    assert "        BLOCK_K=16,\n        num_warps=8,\n    )" in text


def test_pinning_twice_is_pinning_once() -> None:
    once = set_launch_config(example("matmul"), "matmul_kernel", TILES, {"num_warps": 8})
    assert isinstance(once, str)
    again = set_launch_config(parse_module(once), "matmul_kernel", TILES, {"num_warps": 8})
    assert again == once


def test_values_it_has_already_change_nothing() -> None:
    module = example("matmul")
    same = set_launch_config(module, "matmul_kernel", dict.fromkeys(TILES, 32), {})
    assert same == module.text


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, "fill_kernel[(triton.cdiv(n, 512),)](x, n, BLOCK=512"),
        ({"block": ", 128"}, "fill_kernel[(triton.cdiv(n, 512),)](x, n, 512"),
        ({"grid": "((n + 128 - 1) // 128,)"}, "[((n + 512 - 1) // 512,)](x, n, BLOCK=512"),
        ({"setup": "B = 128", "grid": "(triton.cdiv(n, B),)", "block": ", BLOCK=B"}, "B = 512"),
        (
            {
                "setup": "B = 128; programs = triton.cdiv(n, B)",
                "grid": "(programs,)",
                "block": ", BLOCK=B",
            },
            "B = 512; programs = triton.cdiv(n, B)",
        ),
        (
            {"setup": "programs = triton.cdiv(n, 128)", "grid": "(programs,)"},
            "programs = triton.cdiv(n, 512)",
        ),
        (
            {"constants": "B = 128", "grid": "(triton.cdiv(n, B),)", "block": ", BLOCK=B"},
            "language as tl\nB = 512",
        ),
        (
            {"parameter": ", B=128", "grid": "(triton.cdiv(n, B),)", "block": ", BLOCK=B"},
            "def run(x, B=512)",
        ),
        ({"grid": 'lambda META: (triton.cdiv(n, META["BLOCK"]),)'}, "BLOCK=512"),
        (
            {"default": " = 128", "grid": 'lambda m: (triton.cdiv(n, m["BLOCK"]),)', "block": ""},
            "(x, n, BLOCK=512",
        ),
        ({"default": " = 128", "block": ""}, "[(triton.cdiv(n, 512),)](x, n, BLOCK=512"),
    ],
)
def test_every_way_to_write_a_block(parts: dict[str, str], expected: str) -> None:
    text = pinned(filled(**parts), num_warps=2)
    assert expected in text
    assert "num_warps=2)" in text


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"grid": "(programs,)", "parameter": ", programs"}, "does not follow BLOCK"),
        ({"grid": "(n // 128,)"}, "the grid rounds down"),
        ({"grid": "make_grid(n)"}, "not a tuple"),
        ({"block": ", BLOCK=triton.next_power_of_2(n)", "grid": "(1,)"}, "not follow BLOCK"),
        ({"block": ", **extra"}, "hides arguments"),
        (
            {"setup": "B = 128\n    B = 256", "grid": "(triton.cdiv(n, B),)", "block": ", BLOCK=B"},
            "not set to a literal exactly once",
        ),
        (
            {"constants": "B = 128\nC = B", "grid": "(triton.cdiv(n, B),)", "block": ", BLOCK=B"},
            "also used outside",
        ),
        (
            {
                "parameter": ", B=128):\n    run(x, 64)\n\ndef run2(x, B=1",
                "block": ", BLOCK=B",
                "grid": "(triton.cdiv(n, 128),)",
            },
            "",
        ),
    ],
)
def test_refuses_to_lose_part_of_the_output(parts: dict[str, str], reason: str) -> None:
    result = set_launch_config(filled(**parts), "fill_kernel", {"BLOCK": 512}, {})
    assert isinstance(result, Refusal), result
    assert reason in result.reason


def test_unknown_names_and_second_launches_are_refused() -> None:
    module = filled()
    wrong = set_launch_config(module, "fill_kernel", {"n": 5}, {})
    assert isinstance(wrong, Refusal)
    assert "not a constexpr" in wrong.reason
    missing = set_launch_config(module, "other", {}, {})
    assert isinstance(missing, Refusal)
    twice = parse_module(module.text + "    fill_kernel[(1,)](x, n, BLOCK=1)\n")
    second = set_launch_config(twice, "fill_kernel", {"BLOCK": 64}, {})
    assert isinstance(second, Refusal)
    assert "2 launches" in second.reason


def test_a_name_shared_by_two_blocks_takes_one_value_only() -> None:
    text = example("matmul").text
    text = text.replace(
        "    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))",
        "    B = 32\n    grid = (triton.cdiv(M, B), triton.cdiv(N, B))",
    )
    text = text.replace("BLOCK_M=32", "BLOCK_M=B").replace("BLOCK_N=32", "BLOCK_N=B")
    module = parse_module(text)
    split = set_launch_config(module, "matmul_kernel", {"BLOCK_M": 64, "BLOCK_N": 128}, {})
    assert isinstance(split, Refusal)
    assert "want different values" in split.reason
    both = set_launch_config(module, "matmul_kernel", {"BLOCK_M": 64, "BLOCK_N": 64}, {})
    assert isinstance(both, str)
    assert "    B = 64\n" in both


def test_an_autotuned_kernel_gets_the_one_configuration() -> None:
    (rewrite,) = rewrites_for("missing_autotune")
    module = example("matmul")
    issue = issue_at(module, "missing_autotune", "matmul_kernel(")
    tuned = rewrite.apply(module, issue, example_context("matmul"))
    assert isinstance(tuned, str)
    options = {"num_warps": 8, "num_stages": 4, "grf_mode": "256"}
    text = set_launch_config(parse_module(tuned), "matmul_kernel", TILES, options)
    assert isinstance(text, str)
    assert (
        'configs=[triton.Config({"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 16, "grf_mode": "256"}, '
        "num_warps=8, num_stages=4)]," in text
    )
    found = tunable(parse_module(text), "matmul_kernel")
    assert not isinstance(found, Refusal)
    assert found.values == TILES
    assert found.options["num_stages"] == 4


def test_a_menu_taken_without_a_target_says_whose_it_is() -> None:
    (rewrite,) = rewrites_for("missing_autotune")
    module = example("matmul")
    issue = issue_at(module, "missing_autotune", "matmul_kernel(")
    context = replace(example_context("matmul"), target=None)
    text = rewrite.apply(module, issue, context)
    assert isinstance(text, str)
    comment = "# No target was chosen: these configurations suit cuda:90.\n@triton.autotune("
    assert comment in text


def test_configurations_that_disagree_need_a_value() -> None:
    path = HERE / "golden" / "add_autotune_elementwise.after.py"
    module = parse_module(path.read_text())
    result = set_launch_config(module, "add_kernel", {}, {"num_warps": 4})
    assert isinstance(result, Refusal)
    assert "disagree on BLOCK" in result.reason


def test_long_launches_are_laid_out_again() -> None:
    module = example("softmax")
    options = {"num_warps": 16, "num_stages": 2, "maxnreg": 128}
    text = set_launch_config(module, "softmax_kernel", {"BLOCK": 4096}, options)
    assert isinstance(text, str)
    assert max(len(line) for line in text.splitlines()) <= 100
