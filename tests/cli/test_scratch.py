"""Scratch folders go with their process, at once or with the next one."""

import subprocess
import sys
from pathlib import Path

import pytest

from tilewright import scratch

KILLED = """
import os, signal
from tilewright.scratch import scratch_folder
with scratch_folder() as path:
    (path / "large").write_text("x")
    print(path, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(scratch, "parent_folder", lambda: tmp_path)
    return tmp_path


def test_a_folder_is_gone_after_its_block_even_if_that_fails() -> None:
    with pytest.raises(ZeroDivisionError), scratch.scratch_folder() as path:
        (path / "file").write_text("x")
        raise ZeroDivisionError
    assert not path.exists()


def test_what_a_killed_process_left_is_swept_and_the_living_are_spared(parent: Path) -> None:
    code = KILLED.replace("with scratch", f"from pathlib import Path\nimport tilewright.scratch\n"
        f"tilewright.scratch.parent_folder = lambda: Path({str(parent)!r})\nwith scratch", 1)  # fmt: skip
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
