"""What host code shows about the arguments of a launch."""

import ast

import pytest

from tilewright.source import parse_module
from tilewright.source.host import (
    is_fresh,
    last_assigned,
    provably_stride_one,
    rank_of,
)
from tilewright.source.model import Launch, Module

HEAD = "import torch, triton\n@triton.jit\ndef k(x, s): pass\n"


def host(body: str, call: str = "k[(1,)](x, x.stride(-1))") -> tuple[Module, Launch]:
    lines = "".join(f"    {line}\n" for line in (*body.split("\n"), call))
    module = parse_module(f"{HEAD}def run(x, flag):\n{lines}")
    assert module.problems == ()
    return module, module.launches[0]


@pytest.mark.parametrize(
    ("body", "argument"),
    [
        ("pass", "1"),
        ("x = x.contiguous()", "x.stride(-1)"),
        ("x = x.contiguous()\nm, n = x.shape", "x.stride(1)"),
        ("m, n = x.shape\nx = torch.empty((m, n))", "x.stride(1)"),
        ("assert x.is_contiguous()", "x.stride(-1)"),
        ("assert flag and x.is_contiguous(), 'must be'", "x.stride(-1)"),
        ("if not x.is_contiguous():\n    x = x.contiguous()", "x.stride(-1)"),
        ("if not x.is_contiguous():\n    raise ValueError", "x.stride(-1)"),
        ("x = x.contiguous()\nx = torch.empty_like(x)", "s"),
        ("y = x.contiguous()\nx = torch.empty_like(y)\ns = x.stride(-1)", "s"),
        ("x = x.contiguous()\na, s = x.stride()", "s"),
        ("s = 1", "s"),
    ],
)
def test_stride_one_is_proven(body: str, argument: str) -> None:
    module, launch = host(body, f"k[(1,)](x, {argument})")
    expected = argument != "s" or "s =" in body
    assert provably_stride_one(module, launch, "s") is expected


@pytest.mark.parametrize(
    ("body", "argument"),
    [
        ("pass", "x.stride(-1)"),
        ("pass", "2"),
        ("pass", "True"),
        ("x = x.contiguous()", "x.stride(0)"),
        ("x = x.contiguous()", "x.stride(1)"),
        ("x = x.contiguous()\nx = x.t()", "x.stride(-1)"),
        ("if flag:\n    x = x.contiguous()", "x.stride(-1)"),
        ("for i in range(3):\n    x = x.contiguous()", "x.stride(-1)"),
        ("if not flag:\n    x = x.contiguous()", "x.stride(-1)"),
        ("x = torch.empty_like(x)", "x.stride(-1)"),
        ("y = torch.empty_like(x)\nx = torch.empty_like(y)", "x.stride(-1)"),
        ("x = torch.empty(3, memory_format=f)", "x.stride(-1)"),
        ("assert flag or x.is_contiguous()", "x.stride(-1)"),
    ],
)
def test_stride_one_is_not_proven(body: str, argument: str) -> None:
    module, launch = host(body, f"k[(1,)](x, {argument})")
    assert not provably_stride_one(module, launch, "s")


def test_last_assigned_follows_straight_lines_only() -> None:
    module, launch = host("a = 1\na = 2\nif flag:\n    b = 3\nm, n = x.shape\nc, d = 4, 5")
    found = last_assigned(module, launch, "a")
    assert found is not None
    assert ast.unparse(found.value) == "2"
    assert last_assigned(module, launch, "b") is None
    assert last_assigned(module, launch, "x") is None
    second = last_assigned(module, launch, "n")
    assert second is not None
    assert (ast.unparse(second.value), second.position, second.count) == ("x.shape", 1, 2)
    last = last_assigned(module, launch, "d")
    assert last is not None
    assert (ast.unparse(last.value), last.position) == ("5", None)


def test_a_launch_in_a_branch_sees_its_branch() -> None:
    module, launch = host("if flag:\n    a = 1\n    k[(1,)](x, a)\nelse:\n    a = 2", "pass")
    found = last_assigned(module, launch, "a")
    assert found is not None
    assert ast.unparse(found.value) == "1"


def test_shapes_by_name() -> None:
    module, launch = host("m, n = x.shape\nrows = x.size(0)")
    tensor = launch.arguments["x"]
    assert rank_of(module, launch, tensor) == 2


def test_fresh_tensors() -> None:
    module, launch = host("x = torch.zeros((3, 4))")
    assert is_fresh(module, launch, launch.arguments["x"])
    module, launch = host("pass")
    assert not is_fresh(module, launch, launch.arguments["x"])
