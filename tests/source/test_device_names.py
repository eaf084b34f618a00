"""Which devices a file names: demands and questions, host code and options, not docstrings."""

import textwrap

import pytest

from tilewright.source import parse_module
from tilewright.source.device_names import device_names

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, BLOCK: tl.constexpr):
    tl.device_assert(True, "cuda")


"""
START = KERNEL.count("\n")


def named(host: str) -> list[tuple[str, str, int, bool]]:
    module = parse_module(KERNEL + textwrap.dedent(host), "m.py")
    return [(x.backend, x.words, x.line - START, x.asks) for x in device_names(module)]


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("def f(x):\n    torch.xpu.synchronize()", [("xpu", "torch.xpu", 2, False)]),
        ("import intel_extension_for_pytorch as ipex",
         [("xpu", "intel_extension_for_pytorch", 1, False)]),
        ("def f(x):\n    return x.to('xpu:1')", [("xpu", '"xpu:1"', 2, False)]),
        ("def f(x):\n    return x.cuda()", [("cuda", ".cuda", 2, False)]),
        ("def f(x):\n    assert x.device.type == 'xpu'", [("xpu", '"xpu"', 2, False)]),
        ("def f(x):\n    if not x.is_cuda:\n        raise ValueError(x)",
         [("cuda", ".is_cuda", 2, False)]),
        ("def f(x):\n    if x.is_cuda:\n        torch.cuda.synchronize()",
         [("cuda", ".is_cuda", 2, True), ("cuda", "torch.cuda", 3, True)]),
        ("D = 'xpu' if torch.xpu.is_available() else 'cuda'",
         [("xpu", "torch.xpu", 1, True), ("xpu", '"xpu"', 1, True), ("cuda", '"cuda"', 1, True)]),
        ("def is_hip():\n    return driver.backend == 'hip'", [("hip", '"hip"', 2, True)]),
        ("def f(x):\n    k[(1,)](x, BLOCK=16, grf_mode='256', num_warps=4)",
         [("xpu", "grf_mode", 2, False)]),
        ("def f(x):\n    '''Runs on xpu.'''\n    k[(1,)](x, BLOCK=16)  # torch.cuda", []),
        ("def f(x):\n    return 'cuda kernels'", []),
    ],
)  # fmt: skip
def test_where_a_vendor_is_named(host: str, found: list[tuple[str, str, int, bool]]) -> None:
    assert named(host) == found


def test_options_of_configurations_count_and_parameters_of_their_names_do_not() -> None:
    config = "triton.Config({'BLOCK': 16, 'kpack': 2}, num_warps=4)"
    tuned = KERNEL.replace("@triton.jit", f"@triton.autotune([{config}], key=[])\n@triton.jit")
    (found,) = device_names(parse_module(tuned, "m.py"))
    assert (found.backend, found.words, found.is_option) == ("hip", "kpack", True)
    own = tuned.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, kpack: tl.constexpr")
    assert device_names(parse_module(own, "m.py")) == ()


def test_a_chip_is_known_by_its_name() -> None:
    (found,) = device_names(parse_module(KERNEL + "ARCH = 'gfx942'\n", "m.py"))
    assert (found.backend, found.arch) == ("hip", "gfx942")
