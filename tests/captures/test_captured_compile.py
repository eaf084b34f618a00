"""``tilewright compile --captured``: a kernel without a spec, compiled as it was launched."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_capture import KERNEL, capture, script

pytestmark = pytest.mark.triton


def compiled(folder: Path, file: str) -> Any:
    return subprocess.run(
        [
            sys.executable, "-m", "tilewright", "compile", file, "--target", "cuda:90",
            "--captured", ".tilewright/launches", "--format", "json",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )  # fmt: skip


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


def test_an_edited_kernel_has_no_launch_to_compile(tmp_path: Path) -> None:
    path = script(tmp_path, "run(torch.ones(64), torch.empty(64))\n")
    capture(tmp_path, sys.executable, str(path))
    path.write_text(KERNEL.replace("* factor", "+ factor"))
    ended = compiled(tmp_path, "script.py")
    assert ended.returncode == 2
    assert "stale" in ended.stderr
    assert "no launch of any kernel of it as it is now" in ended.stderr
