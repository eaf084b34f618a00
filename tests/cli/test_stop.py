"""Asked to stop, a run ends soon with the best so far."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tilewright.cli.session import stop_on_signal
from tilewright.errors import Stopped

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
@pytest.mark.triton
def test_sigterm_ends_a_run_with_what_was_kept(tmp_path: Path) -> None:
    for name in ("layernorm.py", "layernorm.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    command = [sys.executable, "-m", "tilewright", "optimize", str(tmp_path / "layernorm.py")]
    command += ["--target", "cuda:90", "--device", "interpreter", "--format", "events"]
    environment = {**os.environ, "TILEWRIGHT_HOME": str(tmp_path / "home")}
    engine = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert engine.stdout is not None
    events: list[dict[str, Any]] = []
    for line in engine.stdout:
        events.append(json.loads(line))
        if events[-1]["event"] == "trial":
            engine.send_signal(signal.SIGTERM)
            break
    events += [json.loads(line) for line in engine.stdout]
    assert engine.wait(timeout=600) == 0
    result = events[-1]["result"]
    assert any("stopped before the end" in note for note in result["notes"])
    kept = [t for t in result["trials"] if t["kept"]]
    assert kept
    assert result["changed"]
    assert result["certificate"]["speedup"] is None
    speed = next(s for s in result["certificate"]["steps"] if s["step"] == "speed")
    assert (speed["status"], result["level"]) == ("skipped", "correct")


@pytest.mark.slow
@pytest.mark.triton
def test_a_profile_that_is_stopped_says_so_without_a_traceback(tmp_path: Path) -> None:
    for name in ("matmul.py", "matmul.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    command = [sys.executable, "-m", "tilewright", "profile", str(tmp_path / "matmul.py")]
    profile = subprocess.Popen(
        [*command, "--format", "events"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert profile.stdout is not None
    assert json.loads(profile.stdout.readline())["event"] == "progress"
    profile.send_signal(signal.SIGTERM)
    output, errors = profile.communicate(timeout=600)
    assert profile.returncode == 130
    assert json.loads(output.splitlines()[-1])["event"] == "error"
    assert "stopped by SIGTERM" in errors
    assert "Traceback" not in errors


def children(pid: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.mark.triton
def test_a_verification_is_interrupted_while_its_worker_starts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tilewright", "verify", str(EXAMPLES / "softmax.py")]
    environment = {**os.environ, "TILEWRIGHT_HOME": str(tmp_path / "home")}
    verify = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    started: list[int] = []
    end = time.monotonic() + 600
    while not started and time.monotonic() < end:
        started = children(verify.pid)
        time.sleep(0.01)
    assert started
    verify.send_signal(signal.SIGINT)
    _, errors = verify.communicate(timeout=600)
    assert verify.returncode == 130
    assert "stopped by SIGINT before there was a result" in errors
    end = time.monotonic() + 600
    while any(map(lives, started)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(lives, started))


class Finalized:
    """What has a finalizer in which the signal comes."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def wait_after_a_signal_in_a_finalizer() -> None:
    with stop_on_signal():
        finalized = Finalized()
        del finalized
        threading.Event().wait(600)


class Slow:
    """What has a finalizer in which the exception is raised anew, and dropped again."""

    def __del__(self) -> None:
        time.sleep(0.1)


def wait_after_finalizers() -> None:
    with stop_on_signal():
        finalized, slow = Finalized(), Slow()
        del finalized
        del slow
        threading.Event().wait(600)


def end_after_a_signal_in_a_finalizer() -> None:
    with stop_on_signal():
        finalized = Finalized()
        del finalized


@pytest.mark.parametrize(
    "stopped",
    [
        wait_after_a_signal_in_a_finalizer,
        wait_after_finalizers,
        end_after_a_signal_in_a_finalizer,
    ],
)
def test_a_signal_that_comes_in_a_finalizer_stops_too(stopped: Callable[[], None]) -> None:
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = sys.unraisablehook, *map(signal.getsignal, signals)
    with pytest.raises(Stopped, match="SIGINT"):
        stopped()
    assert (sys.unraisablehook, *map(signal.getsignal, signals)) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
