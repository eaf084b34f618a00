"""Garbage is collected in a pause, not in an edit, and in the end also without a pause."""

import subprocess
import sys

import idle_garbage
import pytest


@pytest.mark.parametrize("case", idle_garbage.CASES)
def test_garbage(case: str) -> None:
    command = [sys.executable, idle_garbage.__file__, case]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
