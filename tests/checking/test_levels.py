"""How certain an issue is: in lines, in the summary, and as what is left out."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.analysis.model import Issue, IssueLevel
from tilewright.cli.app import app
from tilewright.knowledge.stages import Stage
from tilewright.source.text import Range

_FILE = """
import torch
import triton
import triton.language as tl

@triton.jit
def scaled(x_ptr, y_ptr, n, rows: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for i in range(n):
        if i == 3:
            break
    tl.store(y_ptr + offs, tl.load(x_ptr + offs) + rows)

@triton.autotune(
    [triton.Config({"BLOCK": 64, "num_warps": 8}), triton.Config({"BLOCK": 32})], key=["n"]
)
@triton.jit
def doubled(x_ptr, y_ptr, n, rows: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n and offs >= 0)
    tl.store(y_ptr + offs, x * rows, mask=offs < n)

def run(x):
    y = torch.empty_like(x)
    scaled[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), x.shape[0] + x.shape[1], BLOCK=128)
    doubled[lambda m: (triton.cdiv(x.numel(), m["BLOCK"]),)](x, y, x.numel(), x.shape[0])
    return y
"""
_LEVELS = [str(level) for level in IssueLevel]


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    path = tmp_path / "scaled.py"
    path.write_text(_FILE)
    return path


def _told(file: Path, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["check", str(file), "--isolated", *options])
    return done.exit_code, done.stdout


@pytest.mark.parametrize(
    ("stage", "severity", "level"),
    [
        (Stage.CORRECTNESS, 5, "error"),
        (Stage.CORRECTNESS, 4, "error"),
        (Stage.MEMORY_ACCESS, 5, "error"),
        (Stage.MEMORY_ACCESS, 4, "warning"),
        (Stage.CORRECTNESS, 3, "warning"),
        (Stage.CORRECTNESS, 2, "advice"),
        (Stage.AUTOTUNING, 1, "hint"),
    ],
)
def test_the_level_of_a_severity(stage: Stage, severity: int, level: str) -> None:
    assert Issue("any", stage, severity, "", None, Range(1, 0, 1, 1)).level == level


def test_each_line_and_the_summary_name_the_level(file: Path) -> None:
    code, told = _told(file)
    *lines, summary = told.splitlines()
    levels = [line.removeprefix(f"{file}:").split(": ")[1] for line in lines]
    assert code == 1
    assert {"error", "warning", "advice"} <= set(levels)
    counts = [f"{levels.count(one)} {one}" for one in _LEVELS if one in levels]
    assert summary.startswith(f"{len(lines)} issues (")
    assert [c.rstrip("s") for c in summary.split("(")[1].split(")")[0].split(", ")] == counts


@pytest.mark.parametrize("number", range(len(_LEVELS)))
def test_what_is_below_a_level_is_left_out(file: Path, number: int) -> None:
    (all_,) = json.loads(_told(file, "--format", "json")[1])["files"]
    (some,) = json.loads(_told(file, "--format", "json", "--level", _LEVELS[number])[1])["files"]
    assert some["issues"] == [i for i in all_["issues"] if i["level"] in _LEVELS[: number + 1]]


def test_a_check_passes_if_all_is_below_the_level(file: Path) -> None:
    file.write_text(_FILE.replace("            break\n", "            pass\n"))
    assert _told(file)[0] == 1
    assert _told(file, "--level", "error") == (0, "0 issues in 2 kernels in 1 file\n")
