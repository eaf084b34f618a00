"""What makes a function a kernel, and what its decorators say."""

import ast

import pytest

from tilewright.source import parse_module
from tilewright.source.model import Kernel, Language

HEAD = "import functools\nimport triton\nimport triton.language as tl\nfrom triton import jit\n"


def only(text: str) -> Kernel:
    (kernel,) = parse_module(HEAD + text).kernels
    return kernel


@pytest.mark.parametrize(
    "text",
    [
        "@triton.jit(do_not_specialize=['n'], noinline=True)\ndef k(x, n): pass",
        "@jit(noinline=True)\ndef k(x, n): pass",
        "@triton.runtime.jit.jit\ndef k(x, n): pass",
        "@libentry()\n@libtuner(configs=cfg(), key=['n'])\n@triton.jit\ndef k(x, n): pass",
        "@pointwise_dynamic(promotion_methods=[(0, 'DEFAULT')])\n@triton.jit\ndef k(x, n): pass",
        "def k(x, n): pass\nfast = triton.jit(k)",
        "def k(x, n): pass\nk = triton.jit(k)",
        "def k(x, n): pass\nfast = triton.jit(k, noinline=True)",
        "def k(x, n): pass\nfast = triton.autotune([], key=['n'])(triton.jit(k))",
        "dec = functools.partial(triton.jit, noinline=True)\n@dec\ndef k(x, n): pass",
        "@functools.partial(triton.jit, noinline=True)\ndef k(x, n): pass",
        "def my_jit(fn):\n    return triton.jit(fn)\n@my_jit\ndef k(x, n): pass",
        "if True:\n    @triton.jit\n    def k(x, n): pass",
        "try:\n    @triton.jit\n    def k(x, n): pass\nexcept ImportError:\n    k = None",
        "class Ops:\n    @staticmethod\n    @triton.jit\n    def k(x, n): pass",
        "def make(flag):\n    @triton.jit\n    def k(x, n): pass\n    return k",
        "from triton.experimental import gluon\n@gluon.jit\ndef k(x, n): pass",
        "import triton.experimental.gluon as g\n@g.jit\ndef k(x, n): pass",
    ],
)
def test_forms_of_a_kernel(text: str) -> None:
    kernel = only(text)
    assert (kernel.name, kernel.language) == ("k", Language.TRITON)
    assert [parameter.name for parameter in kernel.parameters] == ["x", "n"]


@pytest.mark.parametrize(
    "text",
    [
        "def k(x): pass\nfast = functools.partial(k, 1)",
        "def k(x): pass\nfast = numba.jit(k)",
        "def my_jit(fn):\n    return fn\n@my_jit\ndef k(x): pass",
        "@functools.partial(torch.compile, fullgraph=True)\ndef k(x): pass",
    ],
)
def test_what_is_no_kernel(text: str) -> None:
    assert parse_module(HEAD + text).kernels == ()


def test_definitions_under_a_condition_are_both_there() -> None:
    module = parse_module(
        HEAD + "if NEW:\n    @triton.jit\n    def k(x): pass\n"
        "else:\n    @triton.jit\n    def k(x, y): pass\n"
    )
    assert [len(kernel.parameters) for kernel in module.kernels] == [1, 2]


def test_what_jit_is_told() -> None:
    kernel = only("@triton.jit(do_not_specialize=['n', 0], noinline=True)\ndef k(x, n): pass")
    assert kernel.do_not_specialize == ("n", "x")
    assert kernel.noinline
    assert only("@triton.jit(do_not_specialize=NAMES)\ndef k(x): pass").do_not_specialize is None
    plain = only("@triton.jit\ndef k(x): pass")
    assert (plain.do_not_specialize, plain.noinline, plain.other_decorators) == ((), False, ())


def test_decorators_of_others() -> None:
    kernel = only(
        "from flag_gems.utils import libentry, libtuner\n"
        "@libentry()\n@libtuner(configs=c(), key=['n'])\n@triton.jit\ndef k(x, n): pass"
    )
    assert kernel.other_decorators == ("flag_gems.utils.libentry", "flag_gems.utils.libtuner")
    assert kernel.autotune is None


def test_decorators_by_name_and_by_assignment() -> None:
    by_name = only(
        "tuned = triton.autotune([triton.Config({}, num_warps=2)], key=['n'])\n"
        "@tuned\n@triton.jit\ndef k(x, n): pass"
    )
    by_assignment = only(
        "def k(x, n): pass\n"
        "fast = triton.autotune([triton.Config({}, num_warps=2)], key=['n'])(triton.jit(k))"
    )
    for kernel in (by_name, by_assignment):
        assert kernel.autotune is not None
        assert kernel.autotune.configs is not None
        assert kernel.autotune.configs[0].options == {"num_warps": 2}
    assert by_assignment.aliases == ("fast",)


def test_heuristics_with_their_expressions() -> None:
    kernel = only(
        "VALUES = {'EVEN': lambda args: args['n'] % 16 == 0}\n"
        "@triton.heuristics(VALUES)\n@triton.heuristics(dict(B=lambda args: 32))\n"
        "@triton.jit\ndef k(x, n, EVEN: tl.constexpr, B: tl.constexpr): pass"
    )
    assert kernel.heuristics == ("EVEN", "B")
    assert ast.unparse(kernel.heuristic_values["EVEN"]) == "lambda args: args['n'] % 16 == 0"


def test_helpers() -> None:
    module = parse_module(
        HEAD + "@jit\ndef low(x): return x\n"
        "@jit\ndef middle(x): return low(x)\n"
        "@jit\ndef entry(x): middle(x)\n"
        "@jit\ndef loose(x): pass\n"
        "entry[(1,)](3)\n"
    )
    low, middle, entry, loose = module.kernels
    assert [module.is_helper(k) for k in module.kernels] == [True, True, False, False]
    assert module.helpers_of(entry) == (middle,)
    assert module.callers_of(low) == (middle,)
    assert module.callers_of(loose) == ()


def test_qualified_names() -> None:
    text = "class Ops:\n    def make(self):\n        @triton.jit\n        def k(x): pass"
    assert only(text).qualified_name == "Ops.make.k"
