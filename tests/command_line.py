"""The command line, run in the process of the tests: no interpreter and no worker starts anew.

Tests that are about a process (signals, standard streams, what it leaves behind) start one.
"""

import contextlib
import gc
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tilewright.cli.main import main

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Ended:
    """A command that has ended, in the words of ``subprocess.CompletedProcess``."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str, cwd: Path = ROOT, stdin: str | None = None) -> Ended:
    """Run ``tilewright`` with these arguments; workers go on for the next one."""
    out, err = _stream(), _stream()
    given = io.TextIOWrapper(io.BytesIO((stdin or "").encode()), "utf-8")
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(cwd), _collector():
        patch.setattr(sys, "argv", ["tilewright", *arguments])
        patch.setattr(sys, "stdin", given)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = _exit_code()
    return Ended(code, _text(out), _text(err))


def _exit_code() -> int:
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@contextlib.contextmanager
def _collector() -> Iterator[None]:
    """The garbage collector is set for a program, not for the tests after it."""
    thresholds = gc.get_threshold()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
