"""Text that is no Python, or not yet: the module is there all the same."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.analysis import analyze
from tilewright.source import parse_module

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
TEXTS = [path.read_text() for path in EXAMPLES]

TWO_KERNELS = """\
import triton
import triton.language as tl

@triton.jit
def broken(x_ptr, n):
    offs = tl.arange(0, 16)
    x = tl.load(x_ptr + offs, mask=offs < n
    tl.store(x_ptr, x)


@triton.jit
def whole(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 0)

def run(x):
    whole[(1,)](x, B=96)
"""


def test_a_broken_kernel_loses_only_itself() -> None:
    module = parse_module(TWO_KERNELS)
    assert [k.name for k in module.kernels] == ["whole"]
    assert [launch.kernel for launch in module.launches] == ["whole"]
    assert module.kernels[0].range.line == 11
    (problem,) = module.problems
    assert problem.range.line in (7, 8)
    assert problem.message
    assert "non_power_of_two_arange" in {issue.id for issue in analyze(module)}


@pytest.mark.parametrize(
    "half",
    ["def half(", "@triton.jit\ndef half(x", 'x = """', "x = (1,", "for i in", "@", "import"],
)
@pytest.mark.parametrize("place", ["before", "after"])
def test_half_typed_statements(half: str, place: str) -> None:
    whole = "@triton.jit\ndef whole(x):\n    pass\n"
    text = (
        f"import triton\n{half}\n\n{whole}"
        if place == "before"
        else f"import triton\n{whole}{half}"
    )
    module = parse_module(text)
    assert module.problems
    if half == "@" and place == "before":
        return  # It decorates what follows: the two are one statement.
    assert "whole" in [k.name for k in module.kernels]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "\0",
        "\ud800 = 1",
        "<html>\r\n<body>\r</html>",
        "(" * 400,
        "-" * 50_000 + "1",
        "x" + "[0]" * 3000,
        "a" + " + a" * 5000,
        "\t x\n y",
        '{"json": [1, 2, 3]}',
        "def f(:\n  pass\n\f\nclass X(\n",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_anything_gives_a_module(text: str) -> None:
    module = parse_module(text)
    assert module.text == text
    assert analyze(module) == ()


@pytest.mark.parametrize("depth", [50, 90, 200, 400])
@pytest.mark.parametrize("expression", ["{minus}x", "x{plus}", "f({open}x{close})", "x{items}"])
def test_deep_expressions_are_too_deep_for_nothing(depth: int, expression: str) -> None:
    deep = expression.format(
        minus="-" * depth,
        plus=" + x" * depth,
        open="(" * min(depth, 90),
        close=")" * min(depth, 90),
        items="[0]" * depth,
    )
    module = parse_module(
        "import triton\n@triton.jit\ndef k(x, B=1):\n"
        f"    for i in range({deep}):\n        y = tl.load(x + {deep}, mask={deep})\n"
        f"    tl.store(x + {deep}, y)\n"
        f"def run(x):\n    x = {deep}\n    k[(1,)]({deep}, {deep})\n"
    )
    assert [kernel.name for kernel in module.kernels] == ["k"]
    analyze(module)


def test_problems_lie_inside_the_text() -> None:
    for text in ("def f(:\n    é = 'x\n", "x = (\n", "if\n", "é = = 3"):
        module = parse_module(text)
        assert module.problems
        for problem in module.problems:
            assert 1 <= problem.range.line <= len(module.index.lines)
            assert problem.range.end_column <= len(module.index.lines[problem.range.end_line - 1])


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_truncation_of_an_example_raises(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    cut = data.draw(st.integers(0, len(text)))
    resume = data.draw(st.integers(cut, len(text)))
    inserted = data.draw(st.sampled_from(["", "(", "\n", '"', "@", "é", "\0", ":"]))
    module = parse_module(text[:cut] + inserted + text[resume:])
    for issue in analyze(module):
        assert 1 <= issue.range.line <= len(module.index.lines)


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    assert parse_module(text).text == text
