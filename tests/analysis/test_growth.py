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


MASKED = """
@triton.jit
def kernel0(x_ptr, y_ptr, n, s, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
{body}    x = tl.load(x_ptr + offs * s, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs * s, x, mask=offs < n)


def run0(x, n):
    y = torch.empty(n)
{host}    kernel0[(triton.cdiv(n, 1024),)](x, y, n, 1, BLOCK=1024)
    return y
"""


@pytest.mark.parametrize(
    ("body", "host"),
    [
        ("    offs = offs + offs\n" * 60, ""),
        ("    offs = offs + s\n    s = s + 1\n" * 600, ""),
        ("", "    n = n * (n + 1)\n" * 60),
        ("    offs = offs << (offs << 50)\n", "    n = 1 << n << n << n\n"),
        ("", "    a = [0] * 1000000000\n"),
        ("", "    a = (0,)\n" + "    a = (a, a)\n" * 60 + "    b = {a: 1}\n"),
        ("    while True:\n        pass\n", "    for i in range(10**13):\n        pass\n"),
        ("    s = tl.arange(0, 1 << 40) + s\n", ""),
        ("    s = 'x' * (offs + (1 << 40))\n" + "    offs = (offs + 2) ** 60\n" * 60, ""),
        (
            "    s = tl.arange(0, 64)"
            + "[:, None]" * 9
            + " + tl.arange(0, 64)\n"
            + "    s = s[:, None] + s\n" * 9,
            "",
        ),
        ("", "    kernel0[(10**9, 10**9, 10**9)](x, y, n, 1, BLOCK=1024)\n"),
    ],
    ids=[
        "addresses",
        "chains",
        "sizes",
        "shifts",
        "lists",
        "tuples",
        "loops",
        "lanes",
        "texts",
        "axes",
        "grids",
    ],
)
def test_addresses_and_sizes_are_followed_in_a_time_that_grows_with_the_text(
    body: str, host: str
) -> None:
    module = parse_module(HEAD + MASKED.format(body=body, host=host))
    assert [kernel.name for kernel in module.kernels] == ["kernel0"]
    assert all(issue.kernel in ("kernel0", None) for issue in analyze(module))


def test_functions_are_looked_at_once_however_many_ways_lead_to_them() -> None:
    def counted(width: int) -> int:
        text = HEAD + "".join(KERNEL.format(k=k, body="") for k in range(width))
        for name, below in (("a", "run"), ("b", "a"), ("c", "b")):
            called = "".join(f"    x = {below}{k}(x)\n" for k in range(width))
            text += "".join(f"def {name}{k}(x):\n{called}    return x\n\n\n" for k in range(width))
        return calls(lambda: analyze(parse_module(text, f"calls{width}.py")))

    counted(2)
    # There are width squared calls; one look for each way is a further factor of width and more.
    assert counted(10) < 5 * counted(5)


@pytest.mark.parametrize("depth", [60, 5_000])
def test_what_is_nested_too_deeply_is_set_aside_and_the_rest_is_checked(depth: int) -> None:
    chain = "if x == 0:\n    y = 0\n" + "".join(
        f"elif x == {i}:\n    y = 1\n" for i in range(depth)
    )
    module = parse_module(HEAD + chain + KERNEL.format(k=0, body=""))
    assert [kernel.name for kernel in module.kernels] == ["kernel0"]
    assert {issue.id for issue in analyze(module)} >= {"missing_boundary_check"}
    assert bool(module.problems) == (depth > 150)


@pytest.mark.parametrize(
    "nested", ["n" + " + 1" * 400, "-" * 400 + "n", "f(" * 190 + "n" + ")" * 190]
)
@pytest.mark.parametrize("place", ["grid", "argument"])
def test_a_launch_that_is_nested_deeply_hides_no_other_issue(nested: str, place: str) -> None:
    count, option = (nested, "n") if place == "grid" else ("meta['N']", nested)
    launch = f"    kernel1[lambda meta: ({count},)](x, y, n, 1, BLOCK=64, N={option})\n"
    deep = MASKED.format(body="", host="").replace("kernel0", "kernel1").replace("run0", "run1")
    head, _, tail = deep.partition("    kernel1[")
    deep = head + launch + tail.partition("\n")[2]
    module = parse_module(HEAD + deep + KERNEL.format(k=0, body=""))
    assert [launch.kernel for launch in module.launches] == ["kernel1", "kernel0"]
    assert "missing_boundary_check" in {issue.id for issue in analyze(module)}


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
