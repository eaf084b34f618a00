"""The engine's side of a worker: finding devices, many threads, deaths of either side."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.devices.client import WorkerClient
from tilewright.devices.discovery import close_all, list_devices
from tilewright.devices.local_process import worker_environment
from tilewright.devices.model import DeviceError, JobStatus
from tilewright.devices.opening import open_device
from tilewright.devices.package import worker_zip
from tilewright.devices.protections import known_secret

CASE = {
    "category": "ci", "index": 0, "dims": {},
    "inputs": [{"name": "x", "shape": [4], "dtype": "float32"}],
}  # fmt: skip
SLEEPER = """
import os, subprocess, time
def sleeps(x):
    subprocess.Popen(["sleep", "602"], start_new_session=True)
    time.sleep(600)
def naps(x):
    while not os.path.exists(__file__ + ".end"):
        time.sleep(0.02)
    return x
"""


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))
    close_all()
    yield
    close_all()


def sleeping_job(folder: Path, name: str) -> dict[str, object]:
    path = folder / "sleeper.py"
    path.write_text(SLEEPER)
    entry = {"kind": "function", "name": name, "path": None}
    return {
        "kind": "run", "module": str(path), "entry": entry, "case": {**CASE, "inputs": []},
        "inputs": [{"name": "x", "value": 1}], "device": "interpreter", "out": str(folder / "out"),
    }  # fmt: skip


def below(root: int) -> set[int]:
    """All processes that descend from one, itself not included."""
    parents = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit():
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[1])
    found = {root}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {root}


def environments_below(root: int) -> Iterator[bytes]:
    """What those processes were started with that have not ended meanwhile."""
    for process in below(root):
        with contextlib.suppress(OSError):
            yield Path(f"/proc/{process}/environ").read_bytes()


def alive(processes: set[int]) -> set[int]:
    return {one for one in processes if Path(f"/proc/{one}").exists()}


def wait_for(condition: object, seconds: float = 600.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


@pytest.mark.triton
def test_the_interpreter_comes_first_and_an_unknown_device_names_the_known_ones() -> None:
    found = list_devices()
    assert found[0].id == "interpreter"
    assert not found[0].can_time
    assert found[0].triton
    gpus = [info.id for info in found[1:]]
    assert open_device().info.id == (gpus[0] if gpus else "interpreter"), "what can time"
    with pytest.raises(DeviceError, match="no device 'cuda:99' here; there are interpreter"):
        open_device("cuda:99")


def test_an_interpreter_without_torch_is_no_device_and_says_what_to_install(
    tmp_path: Path,
) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = str(bare / "bin" / "python")
    assert list_devices(python) == ()
    with pytest.raises(DeviceError, match=r"pip install torch triton.*TILEWRIGHT_PYTHON"):
        open_device(python=python)


def test_an_interpreter_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_PYTHON", "/nowhere/python")
    assert list_devices() == ()
    with pytest.raises(DeviceError, match="cannot start /nowhere/python"):
        open_device()


def test_the_zip_is_made_once_and_holds_only_the_worker() -> None:
    import zipfile

    path = worker_zip()
    written = path.stat().st_mtime_ns
    assert worker_zip().stat().st_mtime_ns == written
    names = zipfile.ZipFile(path).namelist()
    assert "__main__.py" in names
    assert all(name == "__main__.py" or name.startswith("tilewright_worker/") for name in names)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerClient]:
    """A worker started by someone whose environment holds keys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("OPENAI_API_KEY", "sk-of-the-user")
        patch.setenv("OPENAI_BASE_URL", "https://api.example.com/v1")
        patch.setenv("OTHER_TOKEN", "sk-of-the-user")
        # Not even where a person names it.
        patch.setenv("TILEWRIGHT_ALLOW_ENV", "OPENAI_API_KEY,WANTED_TOKEN")
        patch.setenv("WANTED_TOKEN", "wanted")
        with WorkerClient(sys.executable) as started:
            assert started.hello
            # What it is started with: it overwrites that, which takes a moment.
            given = worker_environment()
            assert not [n for n in given if n.startswith("OPENAI_") or n == "OTHER_TOKEN"]
            assert given["WANTED_TOKEN"] == "wanted"
            yield started


@pytest.mark.triton
def test_jobs_of_several_threads_run_side_by_side(client: WorkerClient, tmp_path: Path) -> None:
    job = sleeping_job(tmp_path, "naps")
    outcomes = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(client.run(job, 300))) for _ in range(6)
    ]
    assert client.pid is not None
    before = below(client.pid)
    for thread in threads:
        thread.start()
    assert wait_for(lambda: len(below(client.pid or 0) - before) >= 6), "all at once"
    Path(f"{job['module']}.end").touch()
    for thread in threads:
        thread.join()
    assert [outcome.status for outcome in outcomes] == [JobStatus.OK] * 6


@pytest.mark.triton
def test_cancel_stops_what_is_under_way(client: WorkerClient, tmp_path: Path) -> None:
    assert client.pid is not None
    before = below(client.pid)

    def cancel_what_runs() -> None:
        assert wait_for(lambda: len(below(client.pid or 0) - before) >= 2), "the job, its sleeper"
        client.cancel()

    threading.Thread(target=cancel_what_runs).start()
    outcome = client.run(sleeping_job(tmp_path, "sleeps"), 300)
    assert outcome.status is JobStatus.ERROR
    assert outcome.message == "was cancelled"
    assert outcome.seconds < 300


@pytest.mark.slow
@pytest.mark.triton
def test_a_closed_client_leaves_nothing_and_gives_the_job_up(tmp_path: Path) -> None:
    client = WorkerClient(sys.executable)
    assert client.hello
    assert client.pid is not None
    worker = client.pid
    started: set[int] = set()

    def close() -> None:
        assert wait_for(lambda: len(below(worker)) >= 2), "the job and its sleeper"
        started.update({worker}, below(worker))
        client.close()

    threading.Thread(target=close).start()
    outcome = client.run(sleeping_job(tmp_path, "sleeps"), 60)
    assert outcome.status is JobStatus.LOST
    assert wait_for(lambda: len(started) >= 3 and not alive(started))


@pytest.mark.triton
def test_killing_the_engine_leaves_no_process(tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    job = sleeping_job(tmp_path, "sleeps")
    script.write_text(
        "import sys\nfrom tilewright.devices.client import WorkerClient\n"
        f"WorkerClient(sys.executable).run({job!r}, 300)\n"
    )
    engine = subprocess.Popen([sys.executable, str(script)])
    assert wait_for(lambda: len(below(engine.pid)) >= 3), "worker, job and its sleeper"
    started = below(engine.pid)
    os.kill(engine.pid, signal.SIGKILL)
    engine.wait()
    assert wait_for(lambda: not alive(started))


@pytest.mark.slow
@pytest.mark.triton
def test_a_worker_killed_before_it_is_ready_is_started_once_more(tmp_path: Path) -> None:
    python, mark = tmp_path / "python", tmp_path / "was-killed"
    python.write_text(
        f'#!/bin/sh\n[ -e {mark} ] || {{ touch {mark}; kill -9 $$; }}\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    with WorkerClient(str(python)) as client:
        assert "torch" in client.hello
    assert mark.exists()


@pytest.mark.slow
def test_a_worker_that_is_always_killed_is_given_up(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nkill -9 $$\n")
    python.chmod(0o755)
    with pytest.raises(DeviceError, match="was killed before it was ready"):
        _ = WorkerClient(str(python)).hello


def test_a_worker_that_starts_for_too_long_is_given_up_and_said_to_be_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilewright.devices.rpc.START_SECONDS", 0.1)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 600\n")
    python.chmod(0o755)
    with pytest.raises(DeviceError, match="had not imported torch and triton after"):
        _ = WorkerClient(str(python)).hello


def test_closing_does_not_wait_for_a_worker_that_starts(tmp_path: Path) -> None:
    python, started = tmp_path / "python", tmp_path / "started"
    python.write_text(
        f"#!/bin/sh\necho $$ > {started}.new\nmv {started}.new {started}\nexec sleep 600\n"
    )
    python.chmod(0o755)
    client = WorkerClient(str(python))
    client.start()
    assert wait_for(started.exists)
    worker = int(started.read_text())
    client.close()
    assert alive({worker})
    os.kill(worker, signal.SIGKILL)
    assert wait_for(lambda: not alive({worker}))


PRIER = """
import os
def pries(x):
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                found += [name] if b"sk-of-the-user" in file.read() else []
        except OSError:
            pass
    given = [n for n in os.environ if n.startswith("OPENAI_") or n.endswith("_TOKEN")]
    print("found", found, "given", given)
    return x
"""


@pytest.mark.triton
def test_key_of_an_endpoint_is_in_no_worker_and_in_reach_of_no_candidate(
    client: WorkerClient, tmp_path: Path
) -> None:
    path = tmp_path / "prier.py"
    path.write_text(PRIER)
    job = {**sleeping_job(tmp_path, "pries"), "module": str(path)}
    keeper = {**os.environ, "OPENAI_API_KEY": "sk-of-the-user"}
    with subprocess.Popen(["sleep", "60"], env=keeper) as engine:  # in place of the engine
        outcome = client.run(job, 60)
        pid = client.pid
        assert pid is not None
        environments = [Path(f"/proc/{pid}/environ").read_bytes(), *environments_below(pid)]
        assert b"sk-of-the-user" in Path(f"/proc/{engine.pid}/environ").read_bytes()
        engine.kill()
    assert outcome.status is JobStatus.OK, outcome.message
    assert outcome.output.strip() == "found [] given ['WANTED_TOKEN']"
    assert not [e for e in environments if b"sk-of-the-user" in e or b"OPENAI_" in e]


def test_doctor_s_secret_reaches_the_worker_that_has_to_take_it_away() -> None:
    with known_secret() as secret:
        assert secret in worker_environment().values()
    assert secret not in worker_environment().values()


def test_numpys_products_have_one_thread_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert worker_environment()["OPENBLAS_NUM_THREADS"] == "1"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert worker_environment()["OPENBLAS_NUM_THREADS"] == "3"
