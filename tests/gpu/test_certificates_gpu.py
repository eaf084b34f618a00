"""Certificates where a GPU can time: made faster, repeated, and kept from a weaker one."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NAME = "softmax.tilewright.json"

pytestmark = [pytest.mark.gpu, pytest.mark.triton, pytest.mark.slow]


def run(folder: Path, *arguments: str) -> tuple[int, Any]:
    command = [sys.executable, "-m", "tilewright", *arguments, "--format", "json"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert ended.stdout, ended.stderr
    return ended.returncode, json.loads(ended.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An optimized softmax with its certificate."""
    folder = tmp_path_factory.mktemp("certified")
    for name in ("softmax.py", "softmax.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, folder / name)
    code, value = run(
        folder, "optimize", "softmax.py", "--device", "cuda:0", "--budget", "16", "--write"
    )
    assert (code, value["level"]) == (0, "faster"), value["notes"]
    return folder


def test_the_certificate_has_the_figures_of_the_result(folder: Path) -> None:
    data = json.loads((folder / NAME).read_text())
    assert len((folder / NAME).read_text()) < 8 * 1024
    assert data["level"] == "faster"
    (speed,) = data["speed"]
    assert 1 < speed["low"] <= speed["value"] <= speed["high"]
    assert speed["noise"] > 0
    assert speed["detectable"] > 0
    assert data["device"]["can_time"] is True
    assert data["isolation"]["level"] in ("strong", "partial", "weak")


@pytest.mark.parametrize("more", [(), ("--fresh",)])
def test_it_holds_when_it_is_repeated(folder: Path, more: tuple[str, ...]) -> None:
    code, value = run(folder, "verify", "--recheck", NAME, *more)
    assert (code, value["outcome"]) == (0, "holds"), value


def test_the_interpreter_repeats_what_it_can_and_says_so(folder: Path) -> None:
    code, value = run(folder, "verify", "--recheck", NAME, "--device", "interpreter")
    assert (code, value["outcome"]) == (0, "holds on another device"), value
    assert any("speed was not repeated" in note for note in value["notes"])


def test_a_weaker_one_of_the_same_text_does_not_take_its_place(folder: Path) -> None:
    before = (folder / NAME).read_text()
    spec = ("--device", "interpreter", "--certify")
    code, value = run(folder, "verify", "softmax.py", *spec)
    assert code == 0
    assert any("has more evidence and was not replaced" in note for note in value["notes"])
    assert (folder / NAME).read_text() == before
