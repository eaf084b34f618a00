"""A worker on another host: what travels there, what comes back, and what is left."""

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
from tilewright.devices.facts import device_facts
from tilewright.devices.model import JobStatus
from tilewright.devices.opening import open_device
from tilewright.devices.remote import RemoteDevice, channel

pytestmark = pytest.mark.triton

CASE = {
    "category": "ci", "index": 0, "dims": {},
    "inputs": [{"name": "x", "shape": [4], "dtype": "float32"}],
}  # fmt: skip
# Of this process's jobs alone: another run of the tests may go on next to this one.
_SECONDS = f"604{os.getpid()}"
SLEEPER = f"\0{_SECONDS}\0"
FILES = {
    "kernels/__init__.py": "",
    "kernels/shared.py": "FACTOR = 3\n",
    "kernels/deep/__init__.py": "",
    "kernels/deep/table.json": "[7]",
    "kernels/deep/mine.py": (
        "import json, os, time\n"
        "from ..shared import FACTOR\n"
        "def told(x):\n"
        "    table = os.path.join(os.path.dirname(__file__), 'table.json')\n"
        "    return FACTOR * json.load(open(table))[0]\n"
        "def fails(x):\n"
        "    raise ValueError(f'in {__file__}')\n"
        "def reads(x):\n"
        "    return open(os.path.join(os.path.dirname(__file__), 'weights.bin'), 'rb').read(1)\n"
        "def sleeps(x):\n"
        "    import subprocess\n"
        f"    subprocess.Popen(['sleep', '{_SECONDS}'], start_new_session=True)\n"
        "    time.sleep(600)\n"
    ),
}


@pytest.fixture
def there(
    fake_ssh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RemoteDevice]:
    """An interpreter on a host whose login scripts are talkative."""
    # The agent of the fake host is killed with ssh: give it time to clean up on a busy machine.
    monkeypatch.setattr(channel, "_STOP_SECONDS", 600.0)
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FAKE_SSH_LOGIN", "echo Welcome to there; echo Mind the gap")
    assert fake_ssh.is_dir()
    for name, text in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "project/kernels/deep/weights.bin").write_bytes(bytes(5 << 20))
    close_all()
    opened = open_device(f"ssh://there{sys.executable}#interpreter")
    assert isinstance(opened, RemoteDevice)
    yield opened
    close_all()


def job(folder: Path, name: str) -> dict[str, Any]:
    return {
        "kind": "run", "module": str(folder / "project/kernels/deep/mine.py"),
        "entry": {"kind": "function", "name": name, "path": None},
        "case": {**CASE, "inputs": []}, "inputs": [{"name": "x", "value": 1}],
        "out": str(folder / "out"),
    }  # fmt: skip


def wait_for(condition: Any, seconds: float = 600.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def running(text: str) -> list[int]:
    """Processes with this on their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if text.encode() in line:
                found.append(int(folder.name))
    return found


def test_a_job_there_finds_its_package_and_answers_in_paths_of_here(
    there: RemoteDevice, tmp_path: Path, fake_ssh: Path
) -> None:
    assert there.info.id == f"ssh://there{sys.executable}#interpreter"
    outcome = there.run(job(tmp_path, "told"), 60)
    assert outcome.status is JobStatus.OK, outcome.message
    assert [entry["value"] for entry in outcome.value["outputs"]] == [21]
    assert not (tmp_path / "out").exists(), "it was written there, not here"

    outcome = there.run(job(tmp_path, "fails"), 60)
    assert str(tmp_path / "project/kernels/deep/mine.py") in outcome.message
    assert f"/at{tmp_path}" not in json.dumps(dict(outcome.value)), (
        "no file of ours is named as there"
    )

    outcome = there.run(job(tmp_path, "reads"), 60)
    assert "No such file" in outcome.message
    assert "not sent to there" in outcome.message
    assert "weights.bin (5 MiB, over 4 MiB)" in outcome.message

    edited = tmp_path / "project/kernels/shared.py"
    edited.write_text("FACTOR = 100\n")
    assert there.run(job(tmp_path, "told"), 60).value["outputs"][0]["value"] == 700

    (facts,) = device_facts(there.info.id)
    assert facts.info == there.info
    assert facts.interpreter == sys.executable
    assert facts.isolation in ("strong", "partial", "weak")

    there.close()
    assert not list((fake_ssh / "tmp").iterdir()), "nothing is left there"
    assert not running(str(fake_ssh))


@pytest.mark.slow
def test_a_worker_that_is_killed_there_is_started_again_and_the_job_with_it(
    there: RemoteDevice, tmp_path: Path, fake_ssh: Path
) -> None:
    outcome = None

    def run() -> None:
        nonlocal outcome
        outcome = there.run({**job(tmp_path, "sleeps")}, 600)

    thread = threading.Thread(target=run)
    thread.start()
    assert wait_for(lambda: running(SLEEPER))
    before = set(running(SLEEPER))
    (worker,) = {one for one in running("worker.zip") if _session(one, fake_ssh)}
    os.kill(worker, signal.SIGKILL)
    assert wait_for(lambda: len((tmp_path / "pids").read_text().split()) == 2), "connected again"
    assert wait_for(lambda: set(running(SLEEPER)) - before), "the job runs again"
    there.cancel()
    thread.join(600)
    assert outcome is not None
    assert outcome.message == "was cancelled"
    there.close()
    assert not list((fake_ssh / "tmp").iterdir())
    assert not running(SLEEPER)


@pytest.mark.slow
def test_a_host_that_is_gone_for_good_is_reported_with_the_reason(
    there: RemoteDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert there.client.pid is not None
    monkeypatch.setenv("FAKE_SSH_SAYS", "ssh: connect to host there port 22: No route to host")
    connection = there.client.pid

    def cut() -> None:
        assert wait_for(lambda: running(SLEEPER))
        os.kill(connection, signal.SIGKILL)

    threading.Thread(target=cut).start()
    outcome = there.run(job(tmp_path, "sleeps"), 600)
    assert outcome.status is JobStatus.LOST
    assert "the connection to there was cut" in outcome.message
    assert "does not answer (ssh: connect to host there port 22: No route" in outcome.message


def _session(process: int, home: Path) -> bool:
    """Whether a process is a worker of this host itself: its parent is a keeper, not a worker."""
    try:
        places = (
            Path(f"/proc/{process}/cmdline").read_bytes(),
            os.fsencode(Path(f"/proc/{process}/cwd").readlink()),
        )
        if os.getpgid(process) != process or not any(os.fsencode(home) in at for at in places):
            return False
        parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        return b"worker.zip" not in Path(f"/proc/{parent}/cmdline").read_bytes()
    except OSError:
        return False  # it has ended


@pytest.mark.slow
def test_an_engine_that_is_killed_leaves_nothing_there(
    fake_ssh: Path, tmp_path: Path, there: RemoteDevice
) -> None:
    there.close()
    script = tmp_path / "engine.py"
    script.write_text(
        "from tilewright.devices.opening import open_device\n"
        f"open_device({there.info.id!r}).run({job(tmp_path, 'sleeps')!r}, 300)\n"
    )
    engine = subprocess.Popen([sys.executable, str(script)])
    assert wait_for(lambda: running(SLEEPER))
    engine.kill()
    engine.wait()
    assert wait_for(lambda: not running(SLEEPER) and not list((fake_ssh / "tmp").iterdir()))
