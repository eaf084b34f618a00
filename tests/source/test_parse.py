"""Kernels, launches and host functions of whole files."""

import ast
from pathlib import Path

import pytest

from tilewright.source import parse_module
from tilewright.source.model import Language
from tilewright.source.text import Range

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_example_matmul() -> None:
    module = parse_module((EXAMPLES / "matmul.py").read_text(), "matmul.py")
    (kernel,) = module.kernels
    assert kernel.name == "matmul_kernel"
    assert kernel.language is Language.TRITON
    assert kernel.constexprs == ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    assert kernel.text.startswith("@triton.jit\ndef matmul_kernel(")
    assert module.index.slice(kernel.name_range) == "matmul_kernel"
    (launch,) = module.launches
    assert launch.host_function == "matmul"
    assert launch.is_complete
    assert ast.unparse(launch.arguments["stride_ak"]) == "a.stride(1)"
    assert launch.options == {}
    assert module.problems == ()


@pytest.mark.parametrize(
    "header",
    [
        "import triton\n@triton.jit",
        "from triton import jit\n@jit",
        "from triton import jit as j\n@j",
        "import triton as t\n@t.jit",
        "import triton\nfast = triton.jit\n@fast",
        "import triton\n@triton.jit(do_not_specialize=['n'])",
        "from triton.runtime.jit import jit\n@jit",
        "import triton\n@triton.heuristics({'E': lambda a: 1})\n@triton.jit",
        "import triton\n@triton.autotune(configs=[], key=[])\n@triton.jit",
        "from .utils import tl, triton\n@triton.jit",
        "from project.compat import triton as t\n@t.jit",
    ],
)
def test_decorators_are_resolved(header: str) -> None:
    module = parse_module(f"{header}\ndef kernel(x, n): pass\n")
    assert [k.name for k in module.kernels] == ["kernel"]


@pytest.mark.parametrize(
    "header",
    [
        "import numba\n@numba.jit",
        "from jax import jit\n@jit",
        "def triton(f): ...\n@wraps(jit)",
        "from .utils import tl\n@tl.jit",
    ],
)
def test_other_jits_are_no_kernels(header: str) -> None:
    assert parse_module(f"{header}\ndef kernel(x, n): pass\n").kernels == ()


@pytest.mark.parametrize(
    "header",
    [
        "from neuronxcc import nki\n@nki.jit",
        "import neuronxcc.nki as nki\n@nki.jit",
        "import nki\n@nki.jit",
        "from neuronxcc.nki import jit\n@jit",
    ],
)
def test_nki_kernels(header: str) -> None:
    (kernel,) = parse_module(f"{header}\ndef add(a, b):\n    return a\n").kernels
    assert kernel.language is Language.NKI


def test_a_module_of_the_project_hands_triton_on() -> None:
    names = parse_module("from .compat import HAS_TRITON, tl, triton\n").names
    assert names.origins["tl"] == "triton.language"
    other = parse_module("from tilelang import tl\n").names
    assert other.origins["tl"] == "tilelang.tl"


def test_constexpr_under_any_name() -> None:
    module = parse_module(
        "import triton\n"
        "import triton.language as tl\n"
        "from triton.language import constexpr as C\n"
        "import triton.language as lang\n"
        "@triton.jit\n"
        "def k(a, b: tl.constexpr, c: C, d: lang.constexpr = 4, e: 'tl.constexpr' = 5, f=6):\n"
        "    pass\n"
    )
    (kernel,) = module.kernels
    assert kernel.constexprs == ("b", "c", "d", "e")
    assert [p.default for p in kernel.parameters] == [None, None, None, "4", "5", "6"]


def test_kernels_in_functions_and_classes_and_their_launches() -> None:
    module = parse_module(
        "import triton\n"
        "def make():\n"
        "    @triton.jit\n"
        "    def inner(x): pass\n"
        "    inner[(1,)](3)\n"
        "class Model:\n"
        "    @triton.jit\n"
        "    def method(x): pass\n"
        "    def forward(self, x):\n"
        "        self.method[(1,)](x)\n"
    )
    assert [k.name for k in module.kernels] == ["inner", "method"]
    assert [(x.kernel, x.host_function) for x in module.launches] == [
        ("inner", "make"),
        ("method", "Model.forward"),
    ]
    assert set(module.host_functions) == {"make", "Model.forward"}


def test_launch_arguments_options_and_aliases() -> None:
    module = parse_module(
        "import triton\n"
        "@triton.jit\n"
        "def k(x, n, B): pass\n"
        "def run(x, rest, more):\n"
        "    fn = k\n"
        "    fn[lambda m: (m['B'],)](x, 3, B=64, num_warps=8, grf_mode='256')\n"
        "    k[(1,)](x, *rest)\n"
        "    k[(1,)](x, **more)\n"
        "    table[0](x)\n"
    )
    first, second, third = module.launches
    assert {n: ast.unparse(v) for n, v in first.arguments.items()} == {
        "x": "x",
        "n": "3",
        "B": "64",
    }
    assert set(first.options) == {"num_warps", "grf_mode"}
    assert isinstance(first.grid, ast.Lambda)
    assert (first.is_complete, second.is_complete, third.is_complete) == (True, False, False)


def test_columns_are_code_points() -> None:
    module = parse_module(
        "import triton\n@triton.jit\ndef k(x): pass\ndef run(x):\n    'é𝄞'; k[(1,)](x)\n"
    )
    (launch,) = module.launches
    assert launch.range == Range(5, 10, 5, 20)
    assert module.index.slice(launch.range) == "k[(1,)](x)"


def test_line_ends_and_marks_do_not_shift_places() -> None:
    text = "\ufeffimport triton\r\n@triton.jit\r\ndef kernel(x):\r\n    pass\r\n"
    (kernel,) = parse_module(text).kernels
    assert parse_module(text).index.slice(kernel.range) == kernel.text
    assert kernel.text == "@triton.jit\r\ndef kernel(x):\r\n    pass"
    assert kernel.name_range.line == 3


def test_form_feeds_and_separators_inside_lines_are_no_line_ends() -> None:
    module = parse_module("import triton\nx = '\u2028'\n\f\n@triton.jit\ndef kernel(x): pass\n")
    assert module.kernels[0].range.line == 4


def test_hashes_follow_the_text_alone() -> None:
    one = parse_module("import triton\n@triton.jit\ndef k(x): pass\n", "a.py")
    two = parse_module("import triton\n\n\n@triton.jit\ndef k(x): pass\n", "b.py")
    assert one.kernels[0].content_hash == two.kernels[0].content_hash
    assert one.content_hash != two.content_hash
    assert len(one.content_hash) == 32


def test_the_same_text_is_parsed_once() -> None:
    text = "import triton\n@triton.jit\ndef k(x): pass\n"
    assert parse_module(text, "p.py") is parse_module(text, "p.py")


def test_kernel_at_and_entry_kernels() -> None:
    module = parse_module(
        "import triton\n"
        "@triton.jit\n"
        "def helper(x): return x\n"
        "@triton.jit\n"
        "def entry(x): helper(x)\n"
        "entry[(1,)](3)\n"
    )
    assert [k.name for k in module.entry_kernels()] == ["entry"]
    at_two, at_five = module.kernel_at(2), module.kernel_at(5)
    assert at_two is not None
    assert at_two.name == "helper"
    assert at_five is not None
    assert at_five.name == "entry"
    assert module.kernel_at(1) is None
    assert module.launches[0].host_function is None
