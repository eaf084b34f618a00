"""``tilewright tune`` on real kernels with the real compiler; no device."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.cli.app import app
from tilewright.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "examples"
run = CliRunner().invoke


@pytest.mark.triton
def test_configurations_come_best_first_with_what_bounds_them() -> None:
    space = "BLOCK_M=32,128;BLOCK_N=128;BLOCK_K=32;num_warps=4,8"
    asked = ["tune", str(EXAMPLES / "matmul.py"), "--target", "cuda:90", "--space", space]
    result = run(app, [*asked, "--format", "json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    (kernel,) = told["kernels"]
    estimates = [one["estimate"]["us"] for one in kernel["ranked"] if one["estimate"]]
    assert len(estimates) == 4
    assert estimates == sorted(estimates)
    assert kernel["ranked"][0]["values"]["BLOCK_M"] == 128
    assert "not measured" in told["note"]
    assert kernel["ranked"][0]["registers"] > 0


COPY = """\
import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"B": b}, num_warps=w) for b in (256, 1024) for w in (2, 4)]


@triton.autotune(CONFIGS, key=["n"])
@triton.jit
def copy(x_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(x_ptr + o, mask=o < n), mask=o < n)


def run(x):
    y = torch.empty_like(x)
    n = x.shape[0]
    copy[lambda meta: (triton.cdiv(n, meta["B"]),)](x, y, n)
    return y
"""


@pytest.mark.triton
def test_the_configuration_that_a_launch_was_inferred_with_has_an_estimate_too(
    tmp_path: Path,
) -> None:
    path = tmp_path / "copy.py"
    path.write_text(COPY)
    result = run(app, ["tune", str(path), "--target", "cuda:90", "--format", "json"])
    assert result.exit_code == 0, result.output
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert len(kernel["ranked"]) == 4
    assert all(one["estimate"] and not one["note"] for one in kernel["ranked"])


def test_a_space_that_cannot_be_read_is_said() -> None:
    asked = ["tune", str(EXAMPLES / "matmul.py"), "--target", "cuda:90", "--space"]
    result = run(app, [*asked, "BLOCK_M:64"])
    assert isinstance(result.exception, InputError)
    assert "BLOCK_M=64,128" in str(result.exception)


def test_far_too_many_combinations_are_refused() -> None:
    asked = ["tune", str(EXAMPLES / "matmul.py"), "--target", "cuda:90", "--space"]
    wide = ";".join(f"A{at}={','.join(map(str, range(10)))}" for at in range(5))
    result = run(app, [*asked, wide])
    assert isinstance(result.exception, InputError)
    assert "100000 combinations" in str(result.exception)


@pytest.mark.triton
def test_what_would_come_apart_is_left_out_with_the_reason() -> None:
    file = Path(__file__).parents[1] / "rewrites" / "tied" / "head_dim.py"
    asked = ["tune", str(file), "--target", "cuda:90", "--space", "BLOCK_D=16,32;num_warps=4"]
    result = run(app, [*asked, "--format", "json"])
    assert result.exit_code == 0, result.output
    (kernel,) = json.loads(result.stdout)["kernels"]
    left_out = {one["values"]["BLOCK_D"]: one["left_out"] for one in kernel["ranked"]}
    assert left_out[16] is None
    assert "BLOCK_D stays at 16" in left_out[32]
    assert "it is an extent of the tensor" in left_out[32]
    (told,) = kernel["ties"]
    assert told.startswith("BLOCK_D is left as it is")
