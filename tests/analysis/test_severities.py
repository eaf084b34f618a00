"""What is said of kernels that nothing launches, or that do not compile."""

import pytest

from tilewright.analysis import Issue, analyze
from tilewright.source import parse_module

_TEXT = """
import torch, triton
import triton.language as tl

@triton.jit
def used(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

@triton.jit
def kept(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0))

def copy(x):
    y = torch.empty_like(x)
    used[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
"""
_SUMS = """
import triton
import triton.language as tl

@triton.jit
def sums(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    {first} = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(x, axis=0))
"""


def _found(text: str, issue: str) -> list[Issue]:
    return [one for one in analyze(parse_module(text, "kernels.py")) if one.id == issue]


@pytest.mark.parametrize(
    ("more", "severity"),
    [
        ("", 2),
        ("# kept[(1,)](x, y, 1, BLOCK=128)", 2),
        ('__all__ = ["copy", "kept"]', 2),
        ("KERNELS = {True: used, False: kept}", 2),
        ("def twice(x, y):\n    kept[(2,)](x, y, x.numel(), BLOCK=128)", 3),
    ],
)
def test_what_depends_on_launches_is_advice_without_one(more: str, severity: int) -> None:
    (issue,) = _found(_TEXT + more + "\n", "missing_boundary_check")
    assert issue.severity == severity


@pytest.mark.parametrize(
    ("issue", "severity"), [("missing_boundary_check", 2), ("undefined_name", 5)]
)
def test_in_a_file_without_launches_every_kernel_may_be_used(issue: str, severity: int) -> None:
    text = _TEXT[: _TEXT.index("def copy")]
    if issue == "undefined_name":
        text = text.replace("other=0.0))", "other=0.0) + missing)")
    (found,) = _found(text, issue)
    assert found.severity == severity


def test_a_launch_of_a_kernel_that_calls_it_is_one() -> None:
    caller = """
@triton.jit
def twice(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    kept(x_ptr, y_ptr, n, BLOCK)

def doubled(x, y):
    twice[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
"""
    (issue,) = _found(_TEXT + caller, "missing_boundary_check")
    assert issue.severity == 3


def test_which_program_stores_is_not_known_without_a_name() -> None:
    assert _found(_SUMS.format(first="row"), "race_on_store")
    misspelt = _SUMS.format(first="rows")
    assert _found(misspelt, "undefined_name")
    assert not _found(misspelt, "race_on_store")


@pytest.mark.parametrize(("more", "severity"), [("", 3), ("USED = kept", 5)])
def test_what_does_not_compile_is_possible_in_a_kernel_without_a_use(
    more: str, severity: int
) -> None:
    text = _TEXT.replace("other=0.0))", "other=0.0) + missing)")
    (issue,) = _found(f"{text}{more}\n", "undefined_name")
    assert issue.severity == severity
