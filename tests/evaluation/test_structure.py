"""The structure step: what a candidate may change, and what it may not."""

from pathlib import Path
from typing import get_args

import pytest

from tilewright.evaluation.cascade import check_structure
from tilewright.evaluation.constraints import _CHECKS, DETECTED
from tilewright.evaluation.model import StepStatus
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.model import CheckName
from tilewright.problems.model import Entry, EntryKind
from tilewright.source import parse_module
from tilewright.targets.model import Target

MATMUL = (Path(__file__).parents[2] / "examples" / "matmul.py").read_text()
ENTRY = Entry(EntryKind.FUNCTION, "matmul")
CUDA = Target("cuda", "90")
XPU = Target("xpu", "bmg-g31")


def verdict(text: str, target: Target | None = CUDA, version: tuple[int, int] = (3, 9)) -> str:
    """The failure's message; empty when the step passes."""
    result = check_structure(
        parse_module(MATMUL, "matmul.py"), parse_module(text, "matmul.py"), ENTRY, target, version
    )
    assert (result.status is StepStatus.FAILED) == bool(result.message)
    return result.message


def edited(before: str, after: str) -> str:
    assert before in MATMUL, before
    return MATMUL.replace(before, after)


def test_the_original_and_a_changed_kernel_body_pass() -> None:
    assert verdict(MATMUL) == ""
    assert verdict(edited("BLOCK_M=32", "BLOCK_M=64")) == ""


def test_a_kernel_that_is_gone_or_no_longer_launched_is_named() -> None:
    assert "kernel matmul_kernel is gone" in verdict(
        "import torch\n\ndef matmul(a, b):\n    pass\n"
    )
    lines = MATMUL.splitlines()
    start = next(i for i, line in enumerate(lines) if "matmul_kernel[" in line)
    end = next(i for i in range(start, len(lines)) if lines[i].rstrip() == "    )")
    assert "no longer launched" in verdict("\n".join(lines[:start] + lines[end + 1 :]))


def test_the_entry_points_contract_stands() -> None:
    assert "changed its parameters" in verdict(edited("def matmul(a", "def matmul(out, a"))
    assert "entry point matmul is gone" in verdict(edited("def matmul(", "def multiply("))


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("import ctypes", "module ctypes"),
        ("from os import path", "module os"),
        ("x = eval('1')", "a call of eval"),
        ("y = torch.matmul", "torch.matmul"),
        ("def f(a, b):\n    return a @ b", "the @ operator"),
        ("try:\n    pass\nexcept ValueError:\n    pass", "an except clause"),
    ],
)
def test_what_a_kernel_edit_never_needs_is_refused(line: str, named: str) -> None:
    assert named in verdict(MATMUL + "\n" + line + "\n")


@pytest.mark.parametrize(
    ("launch", "target", "rule"),
    [
        ("num_warps=6", CUDA, "num_warps_power_of_two"),
        ("num_warps=128", XPU, "xpu_num_warps_limit"),
        ("num_warps=64, grf_mode='256'", XPU, "xpu_large_registers_num_warps"),
    ],
)
def test_constraints_of_the_knowledge_base_are_checked(
    launch: str, target: Target, rule: str
) -> None:
    assert rule in verdict(edited("BLOCK_K=32", f"BLOCK_K=32, {launch}"), target)
    assert verdict(edited("BLOCK_K=32", "BLOCK_K=32, num_warps=8"), target) == ""


def test_operands_of_a_dot_must_be_large_enough_for_the_target() -> None:
    assert "tl.dot with N of 8" in verdict(edited("BLOCK_N=32", "BLOCK_N=8"), XPU)
    assert verdict(edited("BLOCK_N=32", "BLOCK_N=16"), XPU) == ""


def test_tiles_must_be_powers_of_two() -> None:
    assert "tile_extents_power_of_two" in verdict(edited("BLOCK_M=32", "BLOCK_M=48"))
    start = "    acc = tl.zeros("
    wide = MATMUL.replace(start, "    wide = tl.zeros((48, 16), tl.float32)\n" + start, 1)
    assert "a tile extent of 48" in verdict(wide)


@pytest.mark.parametrize(
    ("launch", "target", "issue"),
    [
        ("kpack=2", CUDA, "device_option_on_wrong_backend"),
        ("generate_native_code=True", CUDA, "device_option_on_wrong_backend"),
        ("grf_mode='large'", XPU, "grf_mode_value"),
    ],
)
def test_options_that_the_backend_does_not_have_are_refused(
    launch: str, target: Target, issue: str
) -> None:
    assert f"({issue};" in verdict(edited("BLOCK_K=32", f"BLOCK_K=32, {launch}"), target)


def test_every_check_is_made_by_a_function_or_by_the_detector_of_a_certain_issue() -> None:
    names = set(get_args(CheckName))
    assert set(DETECTED) | set(_CHECKS) == names
    assert not set(DETECTED) & set(_CHECKS)
    assert all(taxonomy()[issue].certain for issue in DETECTED.values())


def test_a_removed_call_is_refused_only_where_it_is_removed() -> None:
    first = MATMUL.replace("    acc = ", "    p = tl.make_block_ptr(a_ptr)\n    acc = ", 1)
    assert "tl.make_block_ptr is gone since Triton 3.9" in verdict(first)
    assert "make_block_ptr" not in verdict(first, version=(3, 6))


ACCUMULATING = """
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"]RESET)
@triton.jit
def add(x_ptr, out_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


def summed(x):
    out = torch.zeros_like(x)
    add[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, out, x.numel())
    return out
"""


def test_what_the_text_proves_wrong_is_refused_with_its_line_whatever_comments_say() -> None:
    right = parse_module(ACCUMULATING.replace("RESET", ', reset_to_zero=["out_ptr"]'), "add.py")
    wrong = ACCUMULATING.replace("RESET", "")
    silenced = wrong.replace("RESET", "").replace(
        "@triton.jit", "# tilewright: ignore[autotune_missing_reset]\n@triton.jit"
    )
    for text in (wrong, silenced):
        result = check_structure(right, parse_module(text, "add.py"), None, CUDA)
        assert result.status is StepStatus.FAILED
        assert "(autotune_missing_reset; the original has no such fault" in result.message
        assert "line " in result.message
    again = parse_module(wrong.replace("B: tl.constexpr", "B:  tl.constexpr"), "add.py")
    assert check_structure(parse_module(wrong, "add.py"), again, None, CUDA).message == ""
