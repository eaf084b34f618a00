"""Emacs without a screen, with Eglot: the file on disk after a fix and an optimization."""

import shutil
import subprocess
from pathlib import Path

import pytest
from terminal_editors import check, play

SCRIPT = Path(__file__).with_name("emacs.el")


def _lacks_eglot() -> bool:
    if shutil.which("emacs") is None:
        return True
    load = "(progn (require 'package) (package-initialize) (require 'eglot))"
    command = ["emacs", "--batch", "--eval", load]
    return subprocess.run(command, capture_output=True, timeout=60).returncode != 0


@pytest.mark.editor
@pytest.mark.triton
def test_emacs_applies_a_fix_and_an_optimization(tmp_path: Path) -> None:
    if _lacks_eglot():
        pytest.skip("Emacs with Eglot is not installed (Debian: emacs-nox, elpa-eglot)")
    session = play(tmp_path, ["emacs", "--batch", "-l", str(SCRIPT)])
    check(session, asked="Server wants to edit")
