"""Full disks and folders that cannot be made are told of as what they are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "softmax.py")


def ended(*command: str, home: Path, stdout: str | None = None) -> tuple[int, str]:
    """The exit code, and what was said on standard error."""
    environment = {**os.environ, "TILEWRIGHT_HOME": str(home)}
    with Path(stdout or os.devnull).open("w") as out:
        run = subprocess.run(
            [sys.executable, "-m", "tilewright", *command],
            env=environment, stdout=out, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
    return run.returncode, run.stderr


@pytest.mark.triton
def test_a_home_that_cannot_be_made_is_named_with_the_way_out(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("a file")
    code, errors = ended("verify", EXAMPLE, home=home)
    assert code == 2
    assert errors.strip() == (
        f"tilewright: {home}: the folder cannot be written (File exists); free space, or name "
        "another folder in TILEWRIGHT_HOME"
    )


@pytest.mark.triton
def test_a_worker_that_cannot_be_put_down_is_not_blamed_on_its_interpreter(tmp_path: Path) -> None:
    (tmp_path / "worker").write_text("a file")
    code, errors = ended("verify", EXAMPLE, home=tmp_path)
    assert code == 2
    assert f"{tmp_path / 'worker'}: the folder cannot be written" in errors
    assert "pip install" not in errors


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_output_that_nobody_can_take_is_no_fault_of_ours(tmp_path: Path) -> None:
    code, errors = ended("explain", home=tmp_path, stdout="/dev/full")
    assert code == 2
    assert "tilewright: cannot write: " in errors
    assert "Traceback" not in errors
