"""Grouped program order: what it writes, and what it needs to see first."""

import pytest
from rewrite_cases import example, example_context, issue_at

from tilewright.rewrites import Refusal, rewrites_for
from tilewright.source import parse_module


def grouped(text: str, at: str = "pid_n = tl.program_id(1)") -> str | Refusal:
    module = parse_module(text)
    (rewrite,) = rewrites_for("no_swizzling")
    return rewrite.apply(module, issue_at(module, "no_swizzling", at), example_context("matmul"))


@pytest.mark.parametrize("name", ["matmul", "linear_gelu"])
def test_examples_get_a_one_dimensional_grid(name: str) -> None:
    text = grouped(example(name).text)
    assert isinstance(text, str)
    assert "tl.program_id(1)" not in text
    assert "GROUP_M: tl.constexpr,\n):" in text
    assert "        GROUP_M=8,\n    )" in text
    assert "* triton.cdiv(N, 32),)" in text


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "    offs_k = tl.arange(0, BLOCK_K)\n",
            "    offs_k = tl.arange(0, BLOCK_K) + pid_m\n",
            "more than finding its tile",
        ),
        (
            "    pid_n = tl.program_id(1)\n",
            "    pid_n = tl.program_id(1) + tl.program_id(2) * 0\n",
            "program_id(0) and program_id(1)",
        ),
        ("triton.cdiv(N, 32))", "N // 32)", "how many tiles of BLOCK_N"),
        (
            "(triton.cdiv(M, 32), triton.cdiv(N, 32))",
            "(triton.cdiv(N, 32), triton.cdiv(M, 32))",
            "how many tiles of BLOCK_M",
        ),
        (
            "(triton.cdiv(M, 32), triton.cdiv(N, 32))",
            "(triton.cdiv(M, 32), triton.cdiv(N, 32), 1)",
            "3 axes",
        ),
        (
            "    BLOCK_K: tl.constexpr,\n",
            "    BLOCK_K: tl.constexpr,\n    GROUP_M: tl.constexpr,\n",
            "groups its programs already",
        ),
    ],
)
def test_refuses_what_it_cannot_account_for(old: str, new: str, reason: str) -> None:
    text = example("matmul").text
    assert old in text
    result = grouped(text.replace(old, new), "tl.program_id(1)")
    assert isinstance(result, Refusal), result
    assert reason in result.reason


def test_block_names_of_the_host_stay_in_the_grid() -> None:
    text = example("matmul").text
    text = text.replace(
        "    grid = (triton.cdiv(M, 32),", "    BM = 32\n    grid = (triton.cdiv(M, BM),"
    )
    text = text.replace("BLOCK_M=32", "BLOCK_M=BM")
    result = grouped(text)
    assert isinstance(result, str)
    assert "grid = (triton.cdiv(M, BM) * triton.cdiv(N, 32),)" in result
