"""A kernel inside a package, without a spec: captured once, then run by every command."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Ended, run

pytestmark = pytest.mark.triton

HELPERS = """
import triton
import triton.language as tl


@triton.jit
def halved(x):
    return x * 0.5
"""
KERNELS = """
import torch
import triton
import triton.language as tl

from .helpers import halved


@triton.jit
def pick(x_ptr, index_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.load(index_ptr + tl.program_id(0))
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < n)
        tl.store(out_ptr + tl.program_id(0) * n + at, halved(x), mask=at < n)


@triton.jit
def shift(x_ptr, n, by, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, at < n) + by, at < n)


def picked(x, index):
    out = torch.empty(index.numel(), x.shape[1])
    pick[(index.numel(),)](x, index, out, x.shape[1], x.stride(0), BLOCK=64)
    return out


def shifted(x, by):
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    shift[grid](x, n, by, BLOCK=64, num_warps=1)
"""
SCRIPT = """
import torch
from pack.ops.kernels import picked, shifted
x = torch.randn(20, 150)
picked(x[:, 10:], torch.tensor([19, 3, 7]))
shifted(torch.randn(200), 2.0)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    ops = folder / "pack" / "ops"
    ops.mkdir(parents=True)
    for package in (folder / "pack", ops):
        (package / "__init__.py").touch()
    (ops / "helpers.py").write_text(HELPERS)
    (ops / "kernels.py").write_text(KERNELS)
    (folder / "script.py").write_text(SCRIPT)
    command = ["capture", "--interpret", "--writes", "--", sys.executable, "script.py"]
    ended = tilewright(folder, *command)
    assert ended.returncode == 0, ended.stderr
    return folder


def tilewright(folder: Path, *arguments: str) -> Ended:
    return run(*arguments, cwd=folder)


def verified(project: Path, before: str, after: str, *options: str) -> Any:
    """The verdict on the kernels' file with one change."""
    assert before in KERNELS
    candidate = project / "candidate.py"
    candidate.write_text(KERNELS.replace(before, after))
    file = "pack/ops/kernels.py"
    command = ["verify", file, "candidate.py", "--device", "interpreter", "--format", "json"]
    ended = tilewright(project, *command, *options)
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)


def test_profile_runs_what_was_captured_and_says_so(project: Path) -> None:
    command = ["profile", "pack/ops/kernels.py", "--device", "interpreter", "--format", "json"]
    ended = tilewright(project, *command)
    assert ended.returncode == 0, ended.stderr
    value = json.loads(ended.stdout)
    assert [kernel["name"] for kernel in value["kernels"]] == ["pick", "shift"]
    assert all("it runs" in kernel["correct_why"] for kernel in value["kernels"])
    assert value["notes"][0].startswith("run on 2 captured launches of pick, shift from")


def test_a_right_candidate_is_accepted_for_a_chip_that_is_not_here(project: Path) -> None:
    value = verified(project, "x, index, out, x.shape[1], x.stride(0), BLOCK=64",
                     "x, index, out, x.shape[1], x.stride(0), BLOCK=128",
                     "--target", "hip:gfx942")  # fmt: skip
    assert (value["accepted"], value["level"]) == (True, "correct")
    steps = {step["step"]: step for step in value["certificate"]["steps"]}
    assert "captured launches" in steps["correctness"]["data"]["inputs"]
    assert steps["correctness"]["data"]["checks"][0]["oracle"] == "original"
    (report,) = steps["compile"]["data"]["reports"][:1]
    assert report["ok"]


def test_a_wrong_candidate_is_rejected(project: Path) -> None:
    value = verified(project, "+ by", "- by")
    assert (value["level"], value["failed"]["step"]) == ("rejected", "correctness")
    assert "captured:shift[0]" in value["failed"]["message"]


def test_a_change_of_host_code_is_refused_with_the_way_out(project: Path) -> None:
    value = verified(project, "torch.empty(index.numel()", "torch.zeros(index.numel()")
    assert value["failed"]["step"] == "structure"
    assert "host code changed (picked)" in value["failed"]["message"]
    assert "write a spec" in value["failed"]["message"]


def test_stale_launches_are_told_in_json_too(project: Path, tmp_path: Path) -> None:
    edited = project / "pack" / "ops" / "edited.py"
    edited.write_text(KERNELS)
    folder = tmp_path / "launches"
    folder.mkdir()
    for path in (project / ".tilewright" / "launches").glob("*.json"):
        moved = path.read_text().replace("ops/kernels.py", "ops/edited.py")
        (folder / path.name).write_text(moved)
    edited.write_text(KERNELS.replace("+ by", "- by"))
    command = ["check", str(edited), "--isolated", "--captured", str(folder), "--format", "json"]
    (note,) = json.loads(tilewright(project, *command).stdout)["notes"]
    assert "captured launches of shift are stale" in note
    edited.unlink()
