"""Grids as arithmetic: what is known goes in as a number, what is open stays a name."""

import ast
from collections.abc import Sequence

import pytest

from tilewright.source import parse_module
from tilewright.source.host_numbers import HostNumbers, evaluated

_TEXT = """
import math
import triton
import triton.language as tl

ROWS = 4

@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    pass

def run(x, n):
    m, k = x.shape
    half = k // 2
    kernel[({grid},)](x, n, BLOCK=128)
"""


class _Known(HostNumbers):
    def known(self, node: ast.expr, chosen: frozenset[str]) -> str | None:
        return "BLOCK" if isinstance(node, ast.Name) and node.id == "BLOCK" else None

    def extents(self, parameter: str, attribute: str) -> Sequence[int] | None:
        shapes = {"shape": (6, 10), "stride": (10, 1)}
        return shapes[attribute] if parameter == "x_ptr" else None


def _axes(grid: str) -> tuple[str, ...] | None:
    module = parse_module(_TEXT.replace("{grid}", grid))
    return _Known(module, module.launches[0]).axes()


@pytest.mark.parametrize(
    ("grid", "text", "value"),
    [
        ("triton.cdiv(m, BLOCK)", "cdiv(6, BLOCK)", 2),
        ("math.ceil(half / BLOCK)", "cdiv((10 // 2), BLOCK)", 2),
        ("int(x.size(-1)) * ROWS", "(10 * 4)", 40),
        ("min(x.numel(), x.stride(0))", "min(60, 10)", 10),
        ("-(-x.shape[0] // BLOCK)", "(-((-6) // BLOCK))", 2),
    ],
)
def test_what_is_known_goes_in(grid: str, text: str, value: int) -> None:
    axes = _axes(grid)
    assert axes == (text,)
    assert evaluated(axes[0], {"BLOCK": 4}) == value


@pytest.mark.parametrize("grid", ["n", "x.shape[2]", "m / BLOCK", "min(m / BLOCK)", "len(x)"])
def test_what_does_not_follow_is_unknown(grid: str) -> None:
    assert _axes(grid) is None
