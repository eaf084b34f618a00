"""Text that is no Python, or not yet: the module is there all the same."""

from pathlib import Path

import pytest
from each import examples
from hypothesis import given
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


KERNELS = """\
import triton
import triton.language as tl


@triton.jit
def first(x_ptr, n, BLOCK: tl.constexpr):
    \"\"\"Doubles a vector.\"\"\"
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(x_ptr + offs, 2 * x, mask=offs < n)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})],
    key=["n"],
)
@triton.jit
def second(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        x = tl.load(x_ptr + start + offs, mask=start + offs < n)
        tl.store(x_ptr + start + offs, x + 1, mask=start + offs < n)


def run(x):
    second[(1,)](x, x.numel())


if True:

    @triton.jit
    def third(x_ptr):
        \'\'\'Clears
        one value.\'\'\'
        tl.store(x_ptr, 0.0)


class Ops:
    @staticmethod
    @triton.jit
    def fourth(x_ptr):
        tl.store(x_ptr, 1.0)

    def launch(self, x):
        self.fourth[(1,)](x)
"""

WHOLE = parse_module(KERNELS)
NAMES = ("first", "second", "third", "fourth")

GARBAGE = [
    "(", ")", "[", "}", '"""', "'''", '"', "\n(\n", "\n)\n", "\ndef\n", "\nclass X(\n", "\n@\n",
    "\n@broken(,\n", "\nif x\n", "\nelse:\n", "\nprint 'python 2'\n", "\n\tx = 1\n", "\n  y = 2\n",
    "\n<<<<<<< HEAD\n", "\n=======\n>>>>>>> other\n", "\0", "\ufeff", "\f", "\\", "\\\n", ": :",
    "$", "?", "\r", "\ud800", "\nimport\n", "\nlambda\n", "\nasync\n", "\nfor i in\n",
    "\nx = (1,\n",
]  # fmt: skip


def test_the_file_to_break_is_whole() -> None:
    assert WHOLE.problems == ()
    assert tuple(kernel.name for kernel in WHOLE.kernels) == NAMES


@examples(150)
@given(data=st.data())
def test_what_is_broken_in_one_kernel_hides_no_other(data: st.DataObject) -> None:
    """One region within one kernel becomes anything: the others are there as they were."""
    broken = data.draw(st.sampled_from(WHOLE.kernels))
    begin = WHOLE.index.offset(broken.range.line, broken.range.column)
    start = data.draw(st.integers(begin + 1, begin + len(broken.text) - 1))
    end = data.draw(st.integers(start, min(start + 40, begin + len(broken.text))))
    inserted = "".join(data.draw(st.lists(st.sampled_from(GARBAGE), min_size=1, max_size=3)))
    module = parse_module(KERNELS[:start] + inserted + KERNELS[end:])
    found = {kernel.name: kernel for kernel in module.kernels}
    for kernel in WHOLE.kernels:
        if kernel is not broken:
            assert found[kernel.name].text == kernel.text
            assert module.index.slice(found[kernel.name].range) == kernel.text
            assert module.index.slice(found[kernel.name].name_range) == kernel.name


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("2 * x", "2 *", NAMES[1:]),
        ("def run(x):\n", "def run(x:\n", NAMES),
        ("def run(x):\n", "<<<<<<< HEAD\ndef run(x):\n", NAMES),
        ("    second[(1,)]", "=======\n    second[(1,)]", NAMES),
        ("\n\ndef run", "\n  stray = 1\n\ndef run", NAMES),
        ("    second[(1,)](x, x.numel())", "    print 'done'", NAMES),
        ("    def launch(self, x):\n", "    def launch(self, x:\n", NAMES),
        ("        self.fourth[(1,)](x)", "        self.fourth[(1,)](x", NAMES),
        ("if True:\n", "if True:\n    x = = 1\n", NAMES),
        ("if True:\n", "if True\n", ("first", "second", "fourth")),
        ("    second[(1,)]", "\tsecond[(1,)]", NAMES),
        ("\n\nclass Ops", "\n\n@\nclass Ops", NAMES),
    ],
)
def test_ways_to_break_a_file(old: str, new: str, names: tuple[str, ...]) -> None:
    assert KERNELS.count(old) == 1
    module = parse_module(KERNELS.replace(old, new))
    assert tuple(kernel.name for kernel in module.kernels) == names


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_line_ends_of_other_systems_in_a_broken_file(ends: str) -> None:
    module = parse_module("\ufeff" + KERNELS.replace("2 * x", "2 *").replace("\n", ends))
    assert tuple(kernel.name for kernel in module.kernels) == NAMES[1:]
    assert all(module.index.slice(kernel.range) == kernel.text for kernel in module.kernels)


def test_half_a_kernel_is_none() -> None:
    """What stands above a break would be judged for stores it does not make."""
    for marker in ("<<<<<<< HEAD", "=======", "$", "?"):
        lines = TWO_KERNELS.replace("mask=offs < n\n", "mask=offs < n)\n").split("\n")
        module = parse_module("\n".join([*lines[:6], marker, *lines[6:]]))
        assert [kernel.name for kernel in module.kernels] == ["whole"]


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
    assert [kernel.text for kernel in module.kernels] == [whole.rstrip()]


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


@examples(60)
@given(data=st.data())
def test_no_truncation_of_an_example_raises(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    cut = data.draw(st.integers(0, len(text)))
    resume = data.draw(st.integers(cut, len(text)))
    inserted = data.draw(st.sampled_from(["", "(", "\n", '"', "@", "é", "\0", ":"]))
    module = parse_module(text[:cut] + inserted + text[resume:])
    for issue in analyze(module):
        assert 1 <= issue.range.line <= len(module.index.lines)


@examples(60)
@given(text=st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    assert parse_module(text).text == text
