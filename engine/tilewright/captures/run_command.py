"""Run a user's command with the recorder in its Python processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tilewright.captures.model import CaptureError
from tilewright.devices.package import PACKAGE, worker_zip

_HOOK = """\
import sys

sys.path.append({zip!r})
from {package}.recorder.installation import install

install({folder!r})
"""
_SIGNALLED = 128


@dataclass(frozen=True)
class Wish:
    """How to record.

    Attributes:
        interpret: run kernels in Triton's interpreter, where there is no GPU.
        writes: compare tensors before and after the first of equal launches.
        limit: distinct launches a kernel.
        quiet: the command reads nothing, and what it prints goes to standard error: standard output
            is for events.
        values: tell the range, mean and deviation of floats as well.
    """

    interpret: bool = False
    writes: bool = False
    limit: int = 64
    values: bool = False
    quiet: bool = False


def run_recorded(command: Sequence[str], wish: Wish, scratch: Path) -> tuple[int, Path]:
    """(exit code as a shell gives it, folder of what was recorded).

    Raises:
        CaptureError: there is no such command.
    """
    hook, parts = scratch / "hook", scratch / "parts"
    hook.mkdir()
    parts.mkdir()
    text = _HOOK.format(zip=str(worker_zip()), package=PACKAGE, folder=str(hook))
    (hook / "sitecustomize.py").write_text(text)
    environment = _environment(wish, hook, parts)
    try:
        child = subprocess.Popen(
            list(command),
            env=environment,
            stdin=subprocess.DEVNULL if wish.quiet else None,
            stdout=sys.stderr.fileno() if wish.quiet else None,
        )
    except OSError as error:
        raise CaptureError(f"{command[0]} cannot be started: {error.strerror}") from None
    with _signals_passed_on(child):
        code = child.wait()
    return (code if code >= 0 else _SIGNALLED - code), parts


def _environment(wish: Wish, hook: Path, parts: Path) -> dict[str, str]:
    """What is found on PYTHONPATH first is the hook; children of the command inherit it."""
    mine = {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(hook), os.environ.get("PYTHONPATH")])),
        "TILEWRIGHT_CAPTURE_TO": str(parts),
        "TILEWRIGHT_CAPTURE_LIMIT": str(wish.limit),
    }
    if wish.writes:
        mine["TILEWRIGHT_CAPTURE_WRITES"] = "1"
    if wish.values:
        mine["TILEWRIGHT_CAPTURE_VALUES"] = "1"
    if wish.interpret:
        mine |= {"TRITON_INTERPRET": "1", "TILEWRIGHT_CAPTURE_STEERED": "1"}
    return {**os.environ, **mine}


@contextmanager
def _signals_passed_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ctrl-C reaches the command by itself, a termination through here; we stay to the end."""

    def terminate(number: int, frame: FrameType | None) -> None:
        del frame
        child.send_signal(number)

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.SIGTERM: signal.signal(signal.SIGTERM, terminate),
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
