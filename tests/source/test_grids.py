"""Grids in one form."""

import ast

import pytest

from tilewright.source import parse_module
from tilewright.source.grids import Grid, grid_of

HEAD = """\
import triton
import triton.language as tl
@triton.autotune([triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def k(x, n, BLOCK: tl.constexpr, SPLIT: tl.constexpr): pass
def outside(meta):
    return (triton.cdiv(4096, meta["BLOCK"]), meta["SPLIT"])
"""


def grid(before: str, written: str) -> Grid | None:
    lines = "".join(f"    {line}\n" for line in before.split("\n"))
    module = parse_module(f"{HEAD}def run(x, n):\n{lines}    k[{written}](x, n, SPLIT=4)\n")
    assert module.problems == ()
    (launch,) = module.launches
    return grid_of(module, launch)


@pytest.mark.parametrize(
    ("before", "written", "axes"),
    [
        ("pass", "(n,)", ["n"]),
        ("pass", "n, 2", ["n", "2"]),
        ("pass", "[n, 2]", ["n", "2"]),
        ("pass", "7", ["7"]),
        ("g = (triton.cdiv(n, 64),)", "g", ["triton.cdiv(n, 64)"]),
        ("pass", "lambda m: (triton.cdiv(n, m['BLOCK']),)", ["triton.cdiv(n, BLOCK)"]),
        ("g = lambda m: (n // m['BLOCK'], m['SPLIT'])", "g", ["n // BLOCK", "4"]),
        ("def g(m):\n    '''Doc.'''\n    return (n, m['SPLIT'])", "g", ["n", "4"]),
        (
            "def g(m):\n    rows = triton.cdiv(n, m['BLOCK'])\n    return (rows * 2, 1)",
            "g",
            ["triton.cdiv(n, BLOCK) * 2", "1"],
        ),
        ("pass", "outside", ["triton.cdiv(4096, BLOCK)", "4"]),
    ],
)
def test_axes(before: str, written: str, axes: list[str]) -> None:
    found = grid(before, written)
    assert found is not None
    assert [ast.unparse(axis.expression) for axis in found.axes] == axes
    assert [axis.chosen for axis in found.axes] == [
        frozenset({"BLOCK"}) if "BLOCK" in axis else frozenset() for axis in axes
    ]


@pytest.mark.parametrize(
    ("before", "written"),
    [
        ("pass", "make_grid(n)"),
        ("pass", "(*n, 1)"),
        ("pass", "elsewhere"),
        ("def g(m):\n    if n:\n        return (1,)\n    return (2,)", "g"),
        ("def g(m, extra):\n    return (m['BLOCK'],)", "g"),
        ("if n:\n    g = (1,)", "g"),
    ],
)
def test_grids_that_do_not_show_their_axes(before: str, written: str) -> None:
    assert grid(before, written) is None


def test_the_module_is_left_as_it_was() -> None:
    text = f"{HEAD}def run(x, n):\n    k[lambda m: (n, m['BLOCK'])](x, n, BLOCK=n)\n"
    module = parse_module(text)
    before = ast.dump(module.tree, include_attributes=True)
    found = grid_of(module, module.launches[0])
    assert found is not None
    assert ast.unparse(found.axes[1].expression) == "n"
    assert ast.dump(module.tree, include_attributes=True) == before
