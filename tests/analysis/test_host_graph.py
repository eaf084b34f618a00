"""The graph of a host function: roles of launch arguments, aliases, what leaves."""

import pytest

from tilewright.analysis.host_graph.build import host_graph_of, launching_functions
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, UseKind
from tilewright.analysis.host_graph.roles import roles_of
from tilewright.source import parse_module

KERNELS = """
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)

@triton.jit
def count(x_ptr, bins_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.atomic_add(bins_ptr + tl.load(x_ptr + offs), 1)

@triton.jit
def elsewhere(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    unknown_helper(x_ptr)
    tl.store(y_ptr, 1)
"""


def graph(body: str) -> HostGraph:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    module = parse_module(f"{KERNELS}\ndef run(x, w, flag=False):\n{lines}\n")
    assert module.problems == ()
    return host_graph_of(module, "run")


def kinds(made: HostGraph, value: HostValue) -> list[UseKind]:
    return [use.kind for use in made.data_uses(value)]


def allocated(made: HostGraph) -> HostValue:
    return next(v for v in made.values if v.origin is Origin.ALLOCATED)


def test_roles_follow_the_accesses_of_the_kernel() -> None:
    module = parse_module(KERNELS)
    scale, count, elsewhere = (roles_of(module, k) for k in module.kernels)
    assert scale["x_ptr"].only_reads
    assert scale["y_ptr"].only_writes
    assert "n" not in scale
    assert count["bins_ptr"].atomics
    assert not count["bins_ptr"].only_writes
    assert not elsewhere["x_ptr"].is_sure
    assert elsewhere["y_ptr"].only_writes


def test_a_buffer_that_stays_inside_has_launch_uses_only() -> None:
    made = graph(
        """
y = torch.empty_like(x)
z = torch.empty_like(x)
scale[(1,)](x, y, x.numel(), BLOCK=128)
scale[(1,)](y, z, y.numel(), BLOCK=128)
return z
"""
    )
    assert kinds(made, allocated(made)) == [UseKind.LAUNCH, UseKind.LAUNCH]
    parameters = [use.parameter for use in made.data_uses(allocated(made))]
    assert parameters == ["y_ptr", "x_ptr"]


@pytest.mark.parametrize(
    "leaving",
    [
        "return y",
        "return x, [y.view(-1)]",
        "self_cache.tensor = y",
        "unknown(y)",
        "parts.append(y)",
        "def later():\n    return y\nreturn later",
        "return {'y': y}",
        "return [y for _ in range(3)]",
    ],
)
def test_whatever_may_be_seen_outside_escapes(leaving: str) -> None:
    made = graph(f"y = torch.empty_like(x)\nscale[(1,)](x, y, 8, BLOCK=128)\n{leaving}")
    assert kinds(made, allocated(made))[-1] is UseKind.ESCAPE


@pytest.mark.parametrize(
    "asking",
    ["y.stride(0)", "y.shape", "y.numel()", "len(y)", "y is None", "torch.empty_like(y)"],
)
def test_asking_for_the_shape_is_no_use_of_the_memory(asking: str) -> None:
    made = graph(f"y = torch.empty(8)\nscale[(1,)](x, y, 8, BLOCK=128)\nn = {asking}")
    assert kinds(made, allocated(made)) == [UseKind.LAUNCH]


def test_views_share_the_memory() -> None:
    made = graph(
        """
y = torch.empty(8, 8)
flat = y.view(-1)
scale[(1,)](x, flat.t(), 8, BLOCK=128)
flat[0] = 1
return 0
"""
    )
    assert kinds(made, allocated(made)) == [UseKind.LAUNCH, UseKind.IN_PLACE]
    launched = next(u for u in made.uses if u.parameter == "y_ptr")
    assert made.root(launched.value) is allocated(made)


def test_branches_join() -> None:
    made = graph(
        """
y = torch.empty(8)
z = y
if flag:
    z = torch.relu(x)
return z
"""
    )
    assert kinds(made, allocated(made)) == [UseKind.ESCAPE]


def test_a_branch_that_returns_does_not_join() -> None:
    made = graph(
        """
y = torch.empty(8)
scale[(1,)](x, y, 8, BLOCK=128)
if flag:
    y = w
    return y
return 0
"""
    )
    assert kinds(made, allocated(made)) == [UseKind.LAUNCH]


def test_operations_name_what_they_make() -> None:
    made = graph("y = torch.sigmoid(x * 2).to(torch.float16)\nreturn y")
    computed = [v.operation for v in made.values if v.origin is Origin.COMPUTED]
    assert computed == ["Mult", "torch.sigmoid", ".to"]


def test_a_tensor_as_a_size_is_read() -> None:
    made = graph("n = torch.zeros(1)\nscale[(1,)](x, n, 8, BLOCK=128)\nreturn torch.empty(n)")
    assert kinds(made, allocated(made)) == [UseKind.LAUNCH, UseKind.OPERATION]


def test_attributes_of_self_are_one_value() -> None:
    text = KERNELS + (
        "\nclass Layer(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        y = torch.empty_like(x)\n"
        "        scale[(1,)](self.weight, y, 8, BLOCK=128)\n"
        "        return y + self.weight\n"
    )
    module = parse_module(text)
    assert list(launching_functions(module)) == ["Layer.forward"]
    made = host_graph_of(module, "Layer.forward")
    weights = [v for v in made.values if v.operation == "self.weight"]
    assert len(weights) == 1
    assert kinds(made, weights[0]) == [UseKind.LAUNCH, UseKind.OPERATION]


@pytest.mark.parametrize(
    "body",
    [
        "while x:\n    x = x[1:]\n    yield x",
        "try:\n    y = x @ w\nexcept ValueError as e:\n    y = x\nfinally:\n    del x\nreturn y",
        "with torch.no_grad() as g, open('f'):\n    (a, *b), c = w\nreturn a, b, c",
        "match x:\n    case [a, b]:\n        return a\nreturn None",
        "x = y = z = lambda q, *r, **k: x(q)\nreturn x if (t := y) else t",
        "global G\nG = x\nfor i, (a, b) in w:\n    x[i] += a\nelse:\n    x = b\nreturn f'{x}'",
    ],
)
def test_any_code_gives_a_graph(body: str) -> None:
    assert graph(body).uses
