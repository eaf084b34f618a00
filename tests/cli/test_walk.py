"""A walk over folders: no entry, whatever it is, ends it, makes it wait, or hides another."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
CLEAN = "import triton\n"
PATIENCE_S = 600


def check(*arguments: str | bytes, cwd: Path) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "tilewright", "check", *arguments]
    return subprocess.run(command, capture_output=True, cwd=cwd, timeout=PATIENCE_S)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A kernel with an issue among whatever may stand in a folder under a Python file's name."""
    shutil.copy(EXAMPLES / "softmax.py", tmp_path / "softmax.py")
    os.mkfifo(tmp_path / "pipe.py")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.fsencode(tmp_path / "socket.py"))
    (tmp_path / "dangling.py").symlink_to("nowhere.py")
    (tmp_path / "circle.py").symlink_to("circle.py")
    (tmp_path / "device.py").symlink_to("/dev/zero")
    (tmp_path / ".#lock.py").symlink_to("someone@somewhere")
    (tmp_path / "around").symlink_to(tmp_path)
    (tmp_path / "package.py").mkdir()
    (tmp_path / "package.py" / "inner.py").write_text(CLEAN)
    (tmp_path / "empty.py").touch()
    (tmp_path / "notes.ipynb").write_text("nonsense")
    (tmp_path / "foreign.py").write_text(CLEAN)
    (tmp_path / "foreign.yaml").write_text("entry: nothing\ninputs: 5\n")
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nimport triton  # caf\xe9\n")
    (tmp_path / "two\nlines.py").write_text(CLEAN)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py")).write_text(CLEAN)
    deep = tmp_path
    for _ in range(600):
        deep /= "d"
    deep.mkdir(parents=True)
    return tmp_path


CHECKED = ["\\xff.py", "empty.py", "foreign.py", "latin.py", "package.py/inner.py"]
CHECKED += ["softmax.py", "two\nlines.py"]
FAULTY = {
    "pipe.py": "is a pipe",
    "socket.py": "is a socket",
    "device.py": "is a device",
    "dangling.py": "is a link to a file that is not there",
    "circle.py": "cannot be read",
    "notes.ipynb": "this notebook is not JSON",
}
FLAWED = "foreign.yaml"


def test_every_file_is_checked_and_what_is_none_is_named(folder: Path) -> None:
    ended = check(".", "--format", "json", cwd=folder)
    assert ended.returncode == 1, ended.stderr.decode()
    told = json.loads(ended.stdout)
    assert sorted(file["path"] for file in told["files"]) == sorted([*CHECKED, FLAWED])
    (notice,) = next(file["notices"] for file in told["files"] if file["path"] == FLAWED)
    assert notice["line"] == 2
    assert {i["id"] for file in told["files"] for i in file["issues"]} >= {"multi_pass_row"}
    faults = {Path(fault["path"]).name: fault["message"] for fault in told["faults"]}
    assert set(faults) == set(FAULTY)
    assert all(text in faults[name] for name, text in FAULTY.items()), faults


def test_each_line_is_of_one_file_and_decodable(folder: Path) -> None:
    ended = check(".", cwd=folder)
    assert ended.returncode == 1
    places = {line.split(":")[0] for line in ended.stdout.decode().splitlines()[:-1]}
    assert places == {"softmax.py", FLAWED}
    last = ended.stdout.decode().splitlines()[-1]
    assert f"in {len(CHECKED) + 1} files; {len(FAULTY)} files could not be read or used" in last
    told = ended.stderr.decode().splitlines()
    assert len(told) == len(FAULTY)
    assert all(line.startswith("tilewright: ") for line in told)
    assert any("notes.ipynb:1: this notebook is not JSON" in line for line in told)


def test_code_scanning_and_annotations_name_them_too(folder: Path) -> None:
    (run,) = json.loads(check(".", "--format", "sarif", cwd=folder).stdout)["runs"]
    uris = {artifact["location"]["uri"] for artifact in run["artifacts"]}
    assert {"%FF.py", "two%0Alines.py"} <= uris
    notes = run["invocations"][0]["toolExecutionNotifications"]
    errors = [note for note in notes if note["level"] == "error"]
    places = [
        note["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for note in errors
    ]
    assert set(places) == set(FAULTY)
    lines = check(".", "--format", "github", cwd=folder).stdout.decode().splitlines()
    assert all(line.startswith("::") for line in lines)
    faulty = [line for line in lines if "title=not checked" in line]
    assert len(faulty) == len(FAULTY)
    assert any(line.startswith("::error file=notes.ipynb,line=1,") for line in faulty)
    assert any(line.startswith("::warning file=foreign.yaml,line=2,") for line in lines)


def test_a_file_that_is_named_does_not_stop_the_others_either(folder: Path) -> None:
    ended = check("pipe.py", "softmax.py", "notes.ipynb", cwd=folder)
    assert (ended.returncode, b"multi_pass_row" in ended.stdout) == (1, True)
    missing = check("nowhere.py", "softmax.py", cwd=folder)
    assert (missing.returncode, b"multi_pass_row" in missing.stdout) == (2, True)
    assert check("pipe.py", cwd=folder).returncode == 2


def test_settings_that_cannot_be_used_are_told_once_and_the_defaults_hold(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "softmax.py", tmp_path / "softmax.py")
    shutil.copy(EXAMPLES / "matmul.py", tmp_path / "matmul.py")
    settings = tmp_path / "pyproject.toml"
    settings.write_text("this is = no = TOML of [ours")
    assert check(".", cwd=tmp_path).returncode == 1
    settings.write_text("[tool.tilewright]\nselct = 5\n")
    ended = check(".", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.count(b"selct is no setting") == 1
    assert b"multi_pass_row" in ended.stdout
    assert b"dtype_precision" in ended.stdout
