"""Which operator a function is by its name and parameters, and which function has no operator."""

import pytest

from tilewright.executed.jobs import spaces
from tilewright.executed.operator_names import bare_name, operator_of
from tilewright.source import parse_module

HEAD = """import torch
import triton
import triton.language as tl
@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n), mask=o < n)
"""


def _operator(signature: str) -> tuple[str, bool] | None:
    first = signature.partition("(")[2].rstrip(")").partition(",")[0].partition(":")[0]
    text = f"""{HEAD}
def {signature}:
    y = torch.empty_like({first})
    kernel[(1,)]({first}, y, {first}.numel(), B=16)
    return y
"""
    module = parse_module(text)
    (space,) = spaces(module)
    found = operator_of(space.function, space.parameters)
    return None if found is None else (found.name, found.is_sure)


@pytest.mark.parametrize(
    ("signature", "operator"),
    [
        ("softmax(x)", ("softmax", True)),
        ("triton_softmax_fwd(x)", ("softmax", True)),
        ("attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sm_scale)",
         ("attention", True)),
        ("matmul(a: torch.Tensor, b: torch.Tensor)", ("matmul", True)),
        ("norm(x, eps)", ("any_norm", False)),
        ("swiglu(x)", ("swiglu", True)),
    ],
)  # fmt: skip
def test_a_name_with_its_parameters_is_an_operator(
    signature: str, operator: tuple[str, bool]
) -> None:
    assert _operator(signature) == operator


@pytest.mark.parametrize(
    "signature",
    [
        "softmax_backward(x)",
        "softmax(x, mask: torch.Tensor)",
        "attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor)",
        "matmul(a: torch.Tensor, scales: torch.Tensor)",
        "norm_and_quantize(x)",
    ],
)
def test_another_name_or_parameter_is_no_operator(signature: str) -> None:
    assert _operator(signature) is None


def test_words_that_say_nothing_of_the_operator_are_left_out() -> None:
    assert bare_name("TritonRMSNormFunction.apply", keep="") == "rms_norm"
    assert bare_name("fused_softmax_kernel", keep="") == "softmax"
