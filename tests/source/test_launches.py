"""Launches through whatever name a kernel goes by."""

import ast

import pytest

from tilewright.source import parse_module
from tilewright.source.model import Launch

HEAD = """\
import torch
import triton
from torch.library import wrap_triton


@triton.jit
def k(x, n, B): pass


@triton.jit
def other(x): pass

"""


def launches(text: str) -> tuple[Launch, ...]:
    module = parse_module(HEAD + text)
    assert module.problems == ()
    return module.launches


@pytest.mark.parametrize(
    "text",
    [
        "k[(1,)](x, 4, B=8)",
        "def run(x):\n    k[(1,)](x, 4, B=8, num_warps=4)",
        "async def run(x):\n    k[(1,)](x, 4, B=8)",
        "fast = k\ndef run(x):\n    fast[(1,)](x, 4, B=8)",
        "def run(x):\n    fn = k\n    fn[(1,)](x, 4, B=8)",
        "def run(x):\n    fn, m = k, 3\n    fn[(1,)](x, 4, B=8)",
        "def run(x):\n    wrap_triton(k)[(1,)](x, 4, B=8)",
        "def run(x):\n    torch.library.wrap_triton(k)[(1,)](x, 4, B=8)",
        "def run(x):\n    k.run(x, 4, B=8, grid=(1,), warmup=False)",
        "KERNELS = {'k': k, 'o': other}\ndef run(x):\n    KERNELS['k'][(1,)](x, 4, B=8)",
        "class M:\n    def __init__(self):\n        self.fn = k\n"
        "    def go(self, x):\n        self.fn[(1,)](x, 4, B=8)",
        "class M:\n    fn = k\n    def go(self, x):\n        self.fn[(1,)](x, 4, B=8)",
        "def outer():\n    fn = k\n    def run(x):\n        fn[(1,)](x, 4, B=8)\n    return run",
    ],
)
def test_ways_to_launch(text: str) -> None:
    (launch,) = launches(text)
    assert launch.kernel == "k"
    assert launch.is_certain
    assert not launch.is_warmup
    assert ast.unparse(launch.grid) == "(1,)"
    assert {n: ast.unparse(v) for n, v in launch.arguments.items()} == {
        "x": "x",
        "n": "4",
        "B": "8",
    }
    assert set(launch.options) <= {"num_warps"}


@pytest.mark.parametrize(
    "text",
    [
        "def run(x, flag):\n    fn = k if flag else other\n    fn[(1,)](x)",
        "def run(x, flag):\n    (k if flag else other)[(1,)](x)",
        "def run(x, flag):\n    if flag:\n        fn = k\n    else:\n        fn = other\n"
        "    fn[(1,)](x)",
        "KERNELS = {'k': k, 'o': other}\ndef run(x, which):\n    KERNELS[which][(1,)](x)",
    ],
)
def test_one_of_several_kernels(text: str) -> None:
    found = launches(text)
    assert [launch.kernel for launch in found] == ["k", "other"]
    assert not any(launch.is_certain for launch in found)


def test_a_kernel_that_is_defined_twice_is_not_certain() -> None:
    """Each branch for a version of Triton defines its own, with other parameters."""
    again = "if VERSION:\n    @triton.jit\n    def k(x, m, n, B: tl.constexpr):\n        pass\n"
    (launch,) = launches(again + "def run(x):\n    k[(1,)](x, 4, B=8)")
    assert launch.kernel == "k"
    assert not launch.is_certain


@pytest.mark.parametrize(
    "text",
    [
        "def run(k, x):\n    k[(1,)](x)",
        "def run(x):\n    k = load()\n    k[(1,)](x)",
        "def run(x, flag):\n    fn = k\n    if flag:\n        fn = load()\n    fn[(1,)](x)",
        "import elsewhere\ndef run(x):\n    elsewhere.k[(1,)](x)",
        "def run(x):\n    table['k'][(1,)](x)",
        "def run(x):\n    k.run(x)",
        "def run(x):\n    subprocess.run(['k'])",
        "@triton.jit\ndef inner(x):\n    k[(1,)](x)",
        "def run(x):\n    for k in load():\n        k[(1,)](x)",
        "def run(x):\n    with load() as k:\n        k[(1,)](x)",
        "def run(x):\n    return [k[(1,)](x) for k in load()]",
        "def run(x):\n    return lambda k: k[(1,)](x)",
        "def run(x):\n    if (k := load()) is not None:\n        k[(1,)](x)",
        "def run(x):\n    from elsewhere import k\n    k[(1,)](x)",
        "def run(x):\n    k[(1,)](x)\nfrom elsewhere import k",
        "try:\n    import elsewhere.kernel as k\nexcept ImportError:\n    pass\nk[(1,)](x)",
    ],
)
def test_what_may_be_something_else_is_no_launch(text: str) -> None:
    assert launches(text) == ()


def test_a_kernel_takes_the_name_of_an_import_above_it() -> None:
    module = parse_module(f"from elsewhere import k\n{HEAD}k[(1,)](x, 4, B=8)")
    (launch,) = module.launches
    assert launch.kernel == "k"


def test_a_kernel_that_stands_in_for_an_import_is_not_launched_for_sure() -> None:
    fallback = "try:\n    from elsewhere import f\nexcept ImportError:\n"
    kernel = "    @triton.jit\n    def f(x): pass\n"
    assert launches(f"{fallback}{kernel}f[(1,)](x)") == ()


def test_a_warm_up_compiles_only() -> None:
    (launch,) = launches("k.warmup(torch.float32, 4, B=8, grid=(1,))")
    assert launch.is_warmup
    assert "grid" not in launch.options


def test_hidden_arguments() -> None:
    first, second = launches("k[(n,)](*args, B=8)\nk[(n,)](x, **meta)")
    assert not first.is_complete
    assert set(first.arguments) == {"B"}
    assert not second.is_complete
    assert set(second.arguments) == {"x"}


def test_kernels_made_by_assignment_are_launched_by_their_new_name() -> None:
    module = parse_module(
        "import triton\ndef plain(x): pass\nfast = triton.jit(plain)\n"
        "def run(x):\n    fast[(1,)](x)\n"
    )
    (launch,) = module.launches
    assert launch.kernel == "plain"
    assert module.launches_of("plain") == (launch,)
    assert module.kernel("fast") is module.kernel("plain")
