"""Scratch folders go with their process, at once or with the next one."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright import scratch

KILLED = """
import os, signal
from pathlib import Path
from tilewright import scratch
scratch.parent_folder = lambda: Path({parent!r})
with scratch.scratch_folder() as path:
    (path / "large").write_text("x")
    print(path, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(scratch, "parent_folder", lambda: tmp_path)
    return tmp_path


def fail_inside() -> Path:
    with contextlib.suppress(ZeroDivisionError), scratch.scratch_folder() as path:
        (path / "file").write_text("x")
        raise ZeroDivisionError
    return path


def test_a_folder_is_gone_after_its_block_even_if_that_fails() -> None:
    assert not fail_inside().exists()


def test_what_a_killed_process_left_is_swept_and_the_living_are_spared(parent: Path) -> None:
    code = KILLED.format(parent=str(parent))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    left = Path(ended.stdout.strip())
    assert (left / "large").exists()
    strange = parent / "tilewright-notes"
    strange.mkdir()
    with scratch.scratch_folder() as mine:
        scratch.sweep()
        assert mine.exists()
    assert not left.exists()
    assert strange.exists()
