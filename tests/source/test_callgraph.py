"""What an entry point reaches: functions, methods, autograd functions, launches."""

from tilewright.source import parse_module
from tilewright.source.callgraph import CallGraph, call_graph

HEAD = """\
import functools
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, n): pass


@triton.jit
def table(x): pass

"""

MODEL = """
def allocate(x):
    return torch.empty_like(x)


def run(x):
    y = allocate(x)
    scale[(1,)](x, 4)
    return y


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return run(x)

    @staticmethod
    def backward(ctx, grad):
        scale[(1,)](grad, 8)
        return grad


apply_scale = Scale.apply


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self._table = None

    def forward(self, x):
        if self._table is None:
            self._table = self.make_table(x)
        return Scale.apply(x)

    def make_table(self, x):
        table[(1,)](x)
        return x


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()

    def forward(self, x):
        for _ in range(3):
            x = self.norm(x)
        return apply_scale(x)
"""


def graph(text: str) -> CallGraph:
    module = parse_module(HEAD + text)
    assert module.problems == ()
    return call_graph(module)


def launches(found: CallGraph, entry: str) -> list[tuple[str, str, bool, bool, bool]]:
    return [
        (s.function, s.edge.launch.kernel, s.is_once, s.in_loop, s.is_backward)
        for s in found.reached(entry)
        if s.edge.launch is not None
    ]


def test_a_function_and_what_it_calls() -> None:
    found = graph(MODEL)
    assert launches(found, "run") == [("run", "scale", False, False, False)]


def test_a_module_through_its_modules_and_autograd_functions() -> None:
    assert launches(graph(MODEL), "Model") == [
        ("Norm.make_table", "table", True, True, False),
        ("run", "scale", False, True, False),
        ("Scale.backward", "scale", False, True, True),
        ("run", "scale", False, False, False),
        ("Scale.backward", "scale", False, False, True),
    ]


def test_a_class_is_entered_at_forward() -> None:
    found = graph(MODEL)
    assert found.entry("Norm") == "Norm.forward"
    assert found.entry("Norm.make_table") == "Norm.make_table"
    assert found.entry("Absent") is None
    assert found.reached("Absent") == ()


def test_cached_functions_and_caches_run_once() -> None:
    found = graph(
        "@functools.lru_cache(maxsize=None)\n"
        "def build(n):\n    table[(1,)](n)\n"
        "class Cached:\n"
        "    def get(self, key):\n"
        "        if key not in self._cache:\n"
        "            self._cache[key] = table[(2,)](key)\n"
        "        build(key)\n"
        "        scale[(1,)](key)\n"
    )
    assert [(name, once) for _, name, once, _, _ in launches(found, "Cached.get")] == [
        ("table", True),
        ("table", True),
        ("scale", False),
    ]


def test_methods_of_bases_local_instances_and_inner_functions() -> None:
    found = graph(
        "class Base:\n"
        "    def launch(self, x):\n        scale[(1,)](x)\n"
        "class Derived(Base):\n"
        "    def __call__(self, x):\n        self.launch(x)\n"
        "def entry(x):\n"
        "    def inner(y):\n        table[(1,)](y)\n"
        "    op = Derived()\n"
        "    op(x)\n"
        "    inner(x)\n"
        "    Derived()(x)\n"
    )
    assert [(f, k) for f, k, *_ in launches(found, "entry")] == [
        ("Base.launch", "scale"),
        ("entry.inner", "table"),
        ("Base.launch", "scale"),
    ]


def test_recursion_and_unknown_calls_end() -> None:
    found = graph(
        "def a(x):\n    b(x)\n    other.run(x)\ndef b(x):\n    a(x)\n    scale[(1,)](x)\n"
    )
    assert [f for f, *_ in launches(found, "a")] == ["b"]


def test_a_method_does_not_call_its_namesake_without_self() -> None:
    found = graph(
        "def step(x):\n    scale[(1,)](x)\n"
        "class Model:\n"
        "    def forward(self, x):\n        step(x)\n"
        "    def step(self, x):\n        table[(1,)](x)\n"
    )
    assert [k for _, k, *_ in launches(found, "Model")] == ["scale"]
