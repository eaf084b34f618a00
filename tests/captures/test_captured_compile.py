"""``tilewright compile --captured``: a kernel without a spec, compiled as it was launched."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from test_capture import KERNEL, capture, script
from typer.testing import CliRunner

from tilewright.cli.app import app
from tilewright.cli.compile_options import launches_of

pytestmark = pytest.mark.triton


def compiled(folder: Path, file: str) -> Any:
    options = ("--target", "cuda:90", "--captured", ".tilewright/launches", "--format", "json")
    return run("compile", file, *options, cwd=folder)


def test_each_launch_that_compiles_differently_is_compiled_once(tmp_path: Path) -> None:
    """The script launches when it is imported, and ends with an error of its own."""
    path = script(
        tmp_path,
        "for n in (64, 128, 100, 101):\n"
        "    run(torch.ones(n), torch.empty(n), num_warps=2)\n"
        "raise SystemExit(3)\n",
    )
    assert capture(tmp_path, sys.executable, str(path)).returncode == 3
    ended = compiled(tmp_path, "script.py::scale")
    assert ended.returncode == 0, ended.stderr + ended.stdout
    answer = json.loads(ended.stdout)
    assert [report["ok"] for report in answer["reports"]] == [True, True]
    assert {report["launch"]["options"]["num_warps"] for report in answer["reports"]} == {2}
    assert answer["notes"] == ["4 captured launches, 2 of them different to the compiler"]
    assert [extent(command, path) for command in ("compile", "inspect", "profile")] == [128] * 3
    with launches_of(path, configs=1) as tuned:
        assert tuned.launches[0].arguments[0].shape == (128,)


def extent(command: str, path: Path) -> int:
    """Of the launch that a command shows of the project's captured ones: the heaviest."""
    arguments = [command, str(path), "--target", "cuda:90", "--format", "json"]
    if command == "profile":
        arguments += ["--device", "interpreter", "--no-counters"]
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 0, ended.output
    value = json.loads(ended.stdout)
    if command == "compile":
        launch = value["reports"][0]["launch"]
    else:
        (kernel,) = value["kernels"]
        launch = (kernel["reports"][0] if command == "inspect" else kernel["report"])["launch"]
    extent: int = launch["arguments"][0]["shape"][0]
    return extent


@pytest.mark.slow
def test_an_edited_kernel_has_no_launch_to_compile(tmp_path: Path) -> None:
    path = script(tmp_path, "run(torch.ones(64), torch.empty(64))\n")
    capture(tmp_path, sys.executable, str(path))
    path.write_text(KERNEL.replace("* factor", "+ factor"))
    ended = compiled(tmp_path, "script.py")
    assert ended.returncode == 2
    assert "stale" in ended.stderr
    assert "no launch of any kernel of it as it is now" in ended.stderr
