"""Time grows with the length of a text and no faster."""

import sys
from collections.abc import Callable

import pytest

from tilewright.analysis import analyze
from tilewright.source import parse_module

KERNEL = """
@triton.jit
def kernel{k}(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
{body}    tl.store(y_ptr + offs, x, mask=offs < n)


def run{k}(x):
    y = torch.empty_like(x)
    kernel{k}[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"


@pytest.mark.parametrize(
    "line",
    ["offs = offs + offs", "offs = offs * offs", "n = n * n", "x = x * (2.0 - x)", "x_ptr += offs"],
)
def test_a_value_that_is_used_twice_again_and_again_is_looked_at_once(line: str) -> None:
    """Looked at each time it is met, sixty such lines would take for ever."""
    module = parse_module(HEAD + KERNEL.format(k=0, body=f"    {line}\n" * 60))
    assert [kernel.name for kernel in module.kernels] == ["kernel0"]
    assert all(issue.kernel in ("kernel0", None) for issue in analyze(module))


@pytest.mark.parametrize("depth", [60, 5_000])
def test_what_is_nested_too_deeply_is_set_aside_and_the_rest_is_checked(depth: int) -> None:
    chain = "if x == 0:\n    y = 0\n" + "".join(
        f"elif x == {i}:\n    y = 1\n" for i in range(depth)
    )
    module = parse_module(HEAD + chain + KERNEL.format(k=0, body=""))
    assert [kernel.name for kernel in module.kernels] == ["kernel0"]
    assert {issue.id for issue in analyze(module)} >= {"missing_boundary_check"}
    assert bool(module.problems) == (depth > 150)


def calls(action: Callable[[], object]) -> int:
    """How many functions an action calls, Python's own in C included."""
    count = 0

    def seen(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
def test_four_times_as_many_kernels_take_about_four_times_as_much() -> None:
    def counted(count: int) -> int:
        text = HEAD + "".join(KERNEL.format(k=i, body="") for i in range(count))
        assert len(parse_module(text, f"{count}.py").kernels) == count
        return calls(lambda: analyze(parse_module(text, f"again{count}.py")))

    counted(10)
    # Quadratic work, as there was, makes it nine and more.
    assert counted(200) < 5 * counted(50)
