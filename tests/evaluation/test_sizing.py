"""Modules and tests, taken to a worker: the size that works, the calls that are made."""

from pathlib import Path

import pytest

from tilewright.devices.model import Device
from tilewright.devices.opening import open_device
from tilewright.evaluation.sizing import sized
from tilewright.problems.loading import find_problem, load_problem
from tilewright.problems.model import ProblemError

pytest.importorskip("torch")
pytestmark = pytest.mark.triton

REFERENCE = """\
import torch

class Model(torch.nn.Module):
    def __init__(self, width, heads, shape):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.bias = torch.nn.Parameter(torch.ones(shape))
        self.heads = heads

    def forward(self, x):
        rows, width = x.shape
        if width < {least}:
            raise ValueError("too narrow")
        return (self.linear(x) + self.bias).view(rows, self.heads, width // self.heads)

batch_size = 4096
width = 64 * 1024
heads = 16
shape = (width,)

def get_inputs():
    return [torch.rand(batch_size, width).cuda()]

def get_init_inputs():
    return [width, heads, shape]
"""
TESTS = f"""\
import torch, triton

@triton.jit
def add_kernel(x, y, n):
    pass

def add(x, y, *, scale=1.0, kind=None):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel())
    return out

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return add(x, x)

{"#" * 146}

def test_add():
    x = torch.rand(8, 16, device="cuda")
    once = add(x, x.t().contiguous().t(), scale=2.0, kind=torch.float16)
    Doubled.apply(once)
    add(torch.rand(1 << 15, 64, device="cuda"), x)
    add(x, lambda: x)

test_add()
"""


@pytest.fixture(scope="module")
def device() -> Device:
    return open_device("interpreter")


@pytest.mark.parametrize(("least", "width"), [(1, 32), (100, 128)])
def test_the_first_size_that_the_original_stands_is_taken(
    device: Device, tmp_path: Path, least: int, width: int
) -> None:
    path = tmp_path / "module.py"
    text = REFERENCE.replace("{least}", str(least))
    path.write_text(text)
    problem = sized(load_problem(path), device, path, text)
    assert problem is not None
    (small,) = problem.check_cases()
    assert small.dims == {"batch_size": 4, "width": width, "heads": 4}
    assert small.init_args == (width, 4, (width,))
    (own,) = problem.measured_cases()
    assert (own.dims, own.init_args) == ({}, (1 << 16, 16, (1 << 16,)))
    assert problem.ragged is not None
    for case in problem.ragged.primes:
        assert case.init_args[0] == case.dims["width"]
        assert case.init_args[2] == (case.dims["width"],)
    assert f"width={width}" in problem.warnings[-1]


def test_a_module_that_works_at_no_size_says_why(device: Device, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    text = REFERENCE.replace("{least}", str(1 << 20))
    path.write_text(text)
    with pytest.raises(ProblemError, match="it runs at none of its sizes: ValueError: too narrow"):
        sized(load_problem(path), device, path, text)


def test_what_tests_call_is_recorded_without_running_it(device: Device, tmp_path: Path) -> None:
    path = tmp_path / "add.py"
    path.write_text(TESTS)
    problem = sized(find_problem(path), device, path, TESTS)
    assert problem is not None
    cases = {case.name: case for case in problem.check_cases()}
    assert set(cases) == {"ci[1] add", "ci[0] Doubled.apply"}
    x, y, scale = cases["ci[1] add"].inputs
    assert (x.shape, x.strides, y.strides) == ((8, 16), None, (1, 8))
    assert (x.low, scale.value) == (pytest.approx(0, abs=0.2), 2.0)
    (once,) = cases["ci[0] Doubled.apply"].inputs
    assert once.low is None, "what an earlier call computes is not known"
    assert problem.measured_cases()[0].inputs[0].shape == (1 << 15, 64)
    assert any("is a function; it is left out" in note for note in problem.warnings)
