"""A real sshd on this machine, and an interpreter there that has nothing of ours."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilewright.devices.discovery import close_all
from tilewright.devices.model import JobStatus
from tilewright.devices.opening import open_device
from tilewright.devices.remote import RemoteDevice

pytestmark = [pytest.mark.slow, pytest.mark.triton]

EXAMPLE = Path(__file__).parents[2] / "examples" / "softmax.py"
NAP = f"605.{os.getpid()}"
NAPPER = f"""
import os, subprocess, time
def naps(x):
    subprocess.Popen(["sleep", "{NAP}"], start_new_session=True)
    time.sleep(3)
    return 5
"""


@pytest.fixture
def environment(sshd: Path, tmp_path: Path) -> dict[str, str]:
    path = f"{sshd}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "TILEWRIGHT_HOME": str(tmp_path / "home")}


@pytest.fixture
def there(
    environment: dict[str, str], bare_python: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RemoteDevice]:
    for name in ("PATH", "TILEWRIGHT_HOME"):
        monkeypatch.setenv(name, environment[name])
    close_all()
    opened = open_device(f"ssh://box{bare_python}")
    assert isinstance(opened, RemoteDevice)
    yield opened
    close_all()


def tilewright(environment: dict[str, str], *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tilewright", *arguments, "--format", "json"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    value: dict[str, Any] = json.loads(ran.stdout)
    return value


def verdict(found: dict[str, Any]) -> tuple[Any, ...]:
    return found["accepted"], found["level"], (found["failed"] or {}).get("step")


def course(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(t["proposer"], t["level"], t["kept"], t["reason"]) for t in found["trials"]]


def left_there(sshd: Path) -> list[str]:
    """Folders and processes of keepers; this machine is the other host as well."""
    folders = [str(path.parent) for path in (sshd.parent / "there").glob("*/worker.zip")]
    return [*folders, *naps()]


def naps() -> list[str]:
    return commands(f"sleep\x00{NAP}")


def commands(text: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and text.encode() in (folder / "cmdline").read_bytes():
                found.append(folder.name)
    return found


def wait_for(condition: Any, seconds: float = 600.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_a_wrong_candidate_is_refused_there_as_here(
    environment: dict[str, str], bare_python: Path, sshd: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "softmax.py"
    text = EXAMPLE.read_text()
    assert "tl.exp(" in text
    wrong.write_text(text.replace("tl.exp(", "tl.exp2(", 1))
    common = ("verify", str(EXAMPLE), str(wrong), "--target", "cuda:90", "--device")
    here = tilewright(environment, *common, "interpreter")
    there = tilewright(environment, *common, f"ssh://box{bare_python}#interpreter")
    assert verdict(there) == verdict(here) == (False, "rejected", "correctness")
    assert wait_for(lambda: not left_there(sshd)), left_there(sshd)


def test_an_optimization_takes_the_same_course_there_as_here(
    environment: dict[str, str], bare_python: Path, tmp_path: Path
) -> None:
    common = ("optimize", str(EXAMPLE), "--target", "cuda:90", "--budget", "2", "--device")
    here = tilewright(environment, *common, "interpreter")
    environment["TILEWRIGHT_HOME"] = str(tmp_path / "other")
    there = tilewright(environment, *common, f"ssh://box{bare_python}")
    assert course(there) == course(here)
    assert (there["diff"], there["level"]) == (here["diff"], here["level"])
    assert there["device"] == f"ssh://box{bare_python}#interpreter"


def test_a_cut_connection_is_made_again_and_leaves_nothing(
    there: RemoteDevice, sshd: Path, tmp_path: Path
) -> None:
    (tmp_path / "napper.py").write_text(NAPPER)
    job = {
        "kind": "run", "module": str(tmp_path / "napper.py"),
        "entry": {"kind": "function", "name": "naps", "path": None},
        "case": {"category": "ci", "index": 0, "dims": {}, "inputs": []},
        "inputs": [{"name": "x", "value": 1}], "out": str(tmp_path / "out"),
    }  # fmt: skip
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(there.run(job, 60)))
    thread.start()
    assert wait_for(naps), outcomes
    ssh = there.client.pid
    assert ssh is not None
    os.kill(ssh, signal.SIGKILL)
    assert wait_for(lambda: there.client.pid not in (None, ssh))
    thread.join(120)
    assert [outcome.status for outcome in outcomes] == [JobStatus.OK]
    there.close()
    assert wait_for(lambda: not left_there(sshd)), left_there(sshd)


def test_what_a_cut_connection_took_with_it_is_no_fault_of_a_candidate(
    there: RemoteDevice, tmp_path: Path
) -> None:
    case = {
        "category": "ci", "index": 0, "dims": {},
        "inputs": [{"name": "x", "shape": [4], "dtype": "float32"}],
    }  # fmt: skip
    made = there.run({"kind": "inputs", "case": case, "seed": 1, "out": str(tmp_path / "in")}, 60)
    assert made.status is JobStatus.OK
    ssh = there.client.pid
    assert ssh is not None
    os.kill(ssh, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):  # it is gone before the job is sent
        os.waitid(os.P_PID, ssh, os.WEXITED | os.WNOWAIT)
    job = {
        "kind": "run", "module": __file__, "case": case, "inputs": made.value["inputs"],
        "entry": {"kind": "function", "name": "nothing", "path": None}, "device": "interpreter",
        "out": str(tmp_path / "out"),
    }  # fmt: skip
    outcome = there.run(job, 60)
    assert outcome.status is JobStatus.LOST
    assert "the connection was cut since" in outcome.message
