"""``compile`` and ``check --compiled`` tell what reports show, in every format."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.cli.app import app
from tilewright.errors import InputError

pytestmark = pytest.mark.triton

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def total_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
    x += tl.where(cols < 8, 0.0, -1e50)
    tl.store(y_ptr + cols, x, mask=cols < n)


def total(x):
    y = torch.empty_like(x)
    n = x.numel()
    total_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
"""
PLACE = 10
RUN = CliRunner()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "total.py"
    path.write_text(KERNEL)
    return path


def check(file: Path, *options: str) -> tuple[int, str]:
    done = RUN.invoke(app, ["check", str(file), "--select", "double_precision", *options])
    return done.exit_code, done.stdout


def test_check_merges_what_compiling_shows(file: Path) -> None:
    assert check(file)[0] == 0
    code, said = check(file, "--compiled", "cuda:90,cuda:80")
    assert code == 1
    line = f"{file}:{PLACE}:5: warning: double_precision [dtype_fix]: On cuda:90 and cuda:80, "
    assert said.startswith(line)
    assert "for an inferred launch" in said


@pytest.mark.slow
def test_other_formats_have_it_too(file: Path) -> None:
    compiled = ("--compiled", "cuda:90", "--format")
    (found,) = json.loads(check(file, *compiled, "json")[1])["files"]
    assert [(i["id"], i["line"]) for i in found["issues"]] == [("double_precision", PLACE)]
    (run,) = json.loads(check(file, *compiled, "sarif")[1])["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["double_precision"]
    assert f"line={PLACE}," in check(file, *compiled, "github")[1]


def test_a_file_is_told_of_before_the_next_is_compiled(file: Path) -> None:
    endless = file.with_name("zz_endless.py")
    endless.write_text(f"import time\n\n{KERNEL}\n\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "tilewright", "check", str(file.parent)]
    wanted = ("--compiled", "cuda:90", "--isolated", "--select", "double_precision")
    with subprocess.Popen([*command, *wanted], stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline().startswith(
                f"{file}:{PLACE}:5: warning: double_precision"
            )
            assert running.poll() is None
        finally:
            running.kill()


@pytest.mark.slow
def test_a_comment_or_an_option_leaves_it_out(file: Path) -> None:
    marked = KERNEL.replace("-1e50)", "-1e50)  # tilewright: ignore[double_precision]")
    file.write_text(marked)
    assert check(file, "--compiled", "cuda:90")[0] == 0
    file.write_text(KERNEL)
    assert check(file, "--compiled", "cuda:90", "--ignore", "dtype_fix")[0] == 0


def test_compile_tells_its_issues(file: Path) -> None:
    done = RUN.invoke(app, ["compile", str(file), "--target", "cuda:90", "--format", "json"])
    assert done.exit_code == 0, "an issue is no refusal"
    issues = json.loads(done.stdout)["issues"]
    assert [(i["id"], i["line"]) for i in issues] == [("double_precision", PLACE)]
    text = RUN.invoke(app, ["compile", str(file), "--target", "cuda:90"]).stdout
    assert f"{file}:{PLACE}:5: warning: double_precision" in text


def test_what_cannot_be_compiled_is_said_and_checked_all_the_same(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_XPU_PYTHON", str(tmp_path / "nothing"))
    done = RUN.invoke(app, ["check", str(file), "--isolated", "--compiled", "xpu:pvc"])
    assert f"{file}: no toolchain for xpu" in done.stderr
    assert "in 1 kernel in 1 file" in done.stdout


def test_a_file_without_kernels_is_not_compiled(tmp_path: Path) -> None:
    plain = tmp_path / "plain.py"
    plain.write_text("print(1)\n")
    done = RUN.invoke(app, ["check", str(plain), "--compiled", "cuda:90"])
    assert done.exit_code == 0
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--compiled", "cuda:91"), "unknown target 'cuda:91'"),
        (("--compiled", ","), "which chips"),
        (("--compiled", "cuda:90", "--diff"), "remove --compiled"),
    ],
)
def test_what_makes_no_sense_is_refused(file: Path, options: tuple[str, ...], why: str) -> None:
    done = RUN.invoke(app, ["check", str(file), *options])
    assert isinstance(done.exception, InputError)
    assert why in str(done.exception)
