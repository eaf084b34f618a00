"""``tilewright explain --kernel``: which patterns apply to the kernels of a file, and why."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.cli.app import app

KERNELS = """\
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2.0, mask=offs < n)


def run(x, out):
    double[(4,)](x, out, x.numel(), BLOCK=256, maxnreg=64)
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["explain", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_pattern_is_explained_by_its_id() -> None:
    page = json.loads(_run("cuda_limit_registers", "--format", "json"))["markdown"]
    assert page.startswith("# Limit the registers of a thread")


def test_it_says_which_precondition_does_not_hold(kernels: Path) -> None:
    where = ("--kernel", f"{kernels}:double", "--target", "cuda:90")
    (found,) = json.loads(_run("cuda_limit_registers", *where, "--format", "json"))["patterns"]
    assert (found["kernel"], found["holds"]) == ("double", False)
    reasons = {each["reason"]: each["holds"] for each in found["preconditions"]}
    assert reasons["the launch on line 12 states maxnreg"] is False


def test_patterns_of_an_issue_stand_in_the_order_of_their_use(kernels: Path) -> None:
    where = ("--kernel", str(kernels), "--target", "cuda:90", "--format", "json")
    found = json.loads(_run("missing_autotune", *where))
    assert [(p["pattern"], p["holds"]) for p in found["patterns"]] == [
        ("tune_tile_sizes", None),
        ("xpu_canonical_configurations", False),
    ]
    assert "## In `double`" in found["markdown"]
    assert (
        "not known: the shapes of the problem are known from a captured launch"
        in (found["markdown"])
    )


def test_an_unknown_kernel_names_those_that_are_there(kernels: Path) -> None:
    result = CliRunner().invoke(
        app, ["explain", "missing_autotune", "--kernel", f"{kernels}:twice"]
    )
    assert result.exit_code != 0
    assert "there is double" in str(result.exception)
