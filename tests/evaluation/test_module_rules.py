"""The rules on modules of torch: constructors, and operators that an original in torch has."""

import pytest
from rule_texts import before_launch, held

from tilewright.evaluation.rules.comparison import Verdict
from tilewright.problems.model import Entry, EntryKind

MODEL = """\
import math

import torch
import triton
import triton.language as tl


@triton.jit
def shift_kernel(x_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, b = tl.load(x_ptr + at, mask=at < n), tl.load(b_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + b, mask=at < n)


class Model(torch.nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.shift = torch.nn.Parameter(torch.zeros(n))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        n = x.numel()
        shift_kernel[(triton.cdiv(n, 64),)](x, self.shift, out, n, BLOCK=64)
        return out
"""
MADE = "        self.shift = torch.nn.Parameter(torch.zeros(n))\n"


def constructed(*lines: str) -> Verdict:
    text = MODEL.replace(MADE, "".join(f"        {line}\n" for line in lines))
    return held(text, MODEL, Entry(EntryKind.MODEL, "Model"))


@pytest.mark.parametrize(
    "lines",
    [
        ["self.shift = torch.nn.Parameter(torch.randn(n) * 0.02)"],
        ["self.shift = torch.nn.Parameter(torch.empty(n))",
         "torch.nn.init.uniform_(self.shift, -1 / math.sqrt(n), 1 / math.sqrt(n))"],
        ["self.shift = torch.nn.Parameter(torch.empty(n))",
         "fan_in, _ = torch.nn.init._calculate_fan_in_and_fan_out(self.shift)",
         "self.shift.uniform_(-fan_in, fan_in)", "self.shift.data = self.shift.data.contiguous()"],
    ],
)  # fmt: skip
def test_a_constructor_may_give_parameters_first_values(lines: list[str]) -> None:
    assert constructed(*lines).faults == ()


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (["self.shift = torch.nn.Parameter(torch.zeros(n))", "self.kept = torch.randn(n)"],
         "torch.randn"),
        (["self.shift = torch.nn.Parameter(torch.zeros(n))", "self.kept = self.shift.sum()"],
         ".sum() of a tensor"),
    ],
)  # fmt: skip
def test_a_constructor_may_compute_nothing_else(lines: list[str], named: str) -> None:
    assert named in str(constructed(*lines).faults)


@pytest.mark.parametrize(
    ("named", "is_at_once"),
    [
        ("self.begin()", True),
        ("self.apply(self.begin)", True),
        ("self.register_forward_hook(self.begin)", False),
        ("self.kept = self.begin", False),
    ],
)
def test_what_a_constructor_runs_at_once_belongs_to_it(named: str, *, is_at_once: bool) -> None:
    text = MODEL.replace(MADE, f"{MADE}        {named}\n")
    text += "\n    def begin(self, *layers):\n        torch.nn.init.ones_(self.shift)\n"
    verdict = held(text, MODEL, Entry(EntryKind.MODEL, "Model"))
    assert ("torch.nn.init.ones_" not in str(verdict.faults)) is is_at_once


TORCH = """\
import torch
import triton
import triton.language as tl


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.LeakyReLU(0.1), torch.nn.BatchNorm2d(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)
"""


@pytest.mark.parametrize(
    ("line", "is_had"),
    [
        ("y = torch.nn.functional.leaky_relu(x, 0.1)", True),
        ("y = torch.nn.functional.batch_norm(x, a, b)", True),
        ("y = torch.nn.functional.relu(x)", False),
    ],
)
def test_an_operator_that_an_original_in_torch_has_may_be_spelled_otherwise(
    line: str, *, is_had: bool
) -> None:
    text = TORCH.replace("        return self.layers(x)\n", f"        {line}\n        return y\n")
    verdict = held(text, TORCH, Entry(EntryKind.MODEL, "Model"))
    assert any("torch.nn.functional" in one for one in verdict.faults) is not is_had


def test_operators_beside_an_original_in_torch_are_asked_for_when_they_run() -> None:
    line = "x += x.softmax(-1)\n        n = x.sum().item()"
    text = TORCH.replace("        return self.layers(x)\n", f"        {line}\n        return x\n")
    verdict = held(text, TORCH, Entry(EntryKind.MODEL, "Model"))
    for what in ("the + operator", ".softmax()", ".sum()"):
        assert any(one.startswith(what) for one in verdict.questions)
    assert any(".item()" in one for one in verdict.faults)
    kept = held(before_launch("x = x.softmax(-1)"))
    assert any(".softmax()" in one for one in kept.faults)


def test_a_layer_has_a_stride_and_is_no_tensor() -> None:
    text = TORCH.replace(
        "        return self.layers(x)\n",
        "        layer = self.layers[0]\n        return launch(x, layer.weight, layer.stride[0])\n",
    )
    verdict = held(text, TORCH, Entry(EntryKind.MODEL, "Model"))
    assert not any(".weight" in one for one in verdict.faults)


def test_the_precision_of_a_process_is_asked_for_and_not_set() -> None:
    name = "torch.backends.cuda.matmul.allow_tf32"
    asks = held(before_launch(f"n = n if {name} else x.numel()"))
    assert asks.faults == ()
    assert any(name in one for one in asks.questions)


def test_first_values_are_the_constructors_alone() -> None:
    text = MODEL.replace(
        "        n = x.numel()\n", "        n = x.numel()\n        torch.nn.init.ones_(out)\n"
    )
    verdict = held(text, MODEL, Entry(EntryKind.MODEL, "Model"))
    assert "torch.nn.init.ones_" in str(verdict.faults)
