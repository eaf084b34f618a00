"""The worker service: shared, restarted when killed, gone when nobody needs it."""

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.devices.client import WorkerClient, WorkerDevice
from tilewright.devices.discovery import close_all, compiler
from tilewright.devices.model import DeviceInfo, JobStatus
from tilewright.devices.service.places import ServiceError, open_socket
from tilewright.devices.service.status import running_services, stop_services
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.model import Evaluation, Level
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import find_problem
from tilewright.worker.loading.import_stamps import stamp
from tilewright.worker.runtime import service as served
from tilewright.worker.runtime.connections import encode

pytestmark = pytest.mark.triton

EXAMPLES = Path(__file__).parents[2] / "examples"
SEES_ITS_CLIENT = (
    "import torch\n",
    "import os\nimport torch\nassert os.environ['TRITON_SAID'] == 'by the client'\n",
)
KERNEL = """
import triton
import triton.language as tl

@triton.jit
def one_kernel(x_ptr):
    tl.store(x_ptr, 1.0)
"""
UNREADABLE = [
    encode({"id": 1, **request})
    for request in (
        {"job": "compile"},
        {"job": {"kind": ["compile"]}},
        {"job": {"kind": "compile"}, "timeout_s": "soon"},
        {"job": {"kind": "compile"}, "timeout_s": float("nan")},
        {"job": {"kind": "compile"}, "environment": {"PATH": 1}},
    )
]
SLEEPER = "import subprocess, time\nsubprocess.Popen(['sleep', '{mark}'])\ntime.sleep(600)\n"
NAPPER = "import time\ntime.sleep(1)\n"
TELLER = "import os\nprint(os.environ.get('TRITON_SAID'), os.environ.get('MY_API_TOKEN'))\n"
FINDER = """
import gc
found = [one for one in gc.get_objects() if isinstance(one, dict) and one.get("environment")]
print("requests in memory:", len(found))
"""
LAUNCH = {
    "kernel": "one_kernel", "grid": [1], "options": {},
    "arguments": [
        {"name": "x_ptr", "kind": "tensor", "type": "*fp32", "value": None, "shape": [16],
         "strides": [1], "divisible_by_16": True}
    ],
}  # fmt: skip


def compile_job(folder: Path, text: str) -> dict[str, object]:
    path = folder / f"module{abs(hash(text))}.py"
    path.write_text(text)
    target = {"backend": "cuda", "arch": "90"}
    return {"kind": "compile", "module": str(path), "launch": LAUNCH, "target": target, "emit": []}


@contextlib.contextmanager
def home_of_its_own(folder: Path, **variables: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_HOME", str(folder))
        patch.setenv("TILEWRIGHT_SERVICE", "1")
        patch.setenv("TILEWRIGHT_SERVICE_IDLE", "60")
        for name, value in variables.items():
            patch.setenv(name, value)
        try:
            yield
        finally:
            stop_services()


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One service, with torch, for the tests that leave it as it is."""
    with home_of_its_own(tmp_path_factory.mktemp("home")):
        yield


@pytest.fixture
def own_home(tmp_path: Path) -> Iterator[None]:
    """A service for one test; those are without torch, which makes them start sooner."""
    with home_of_its_own(tmp_path / "home"):
        yield


def shared_client(*, compile_only: bool = False) -> WorkerClient:
    return WorkerClient(sys.executable, compile_only=compile_only, shared=True)


def wait_for(condition: object, seconds: float = 600.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


def sleeping(mark: str) -> bool:
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (folder / "cmdline").read_bytes() == f"sleep\0{mark}\0".encode():
                return True
    return False


def test_two_clients_share_one_process_and_it_stays_when_they_leave(
    shared_home: None, tmp_path: Path
) -> None:
    job = compile_job(tmp_path, KERNEL)
    with shared_client() as first, shared_client() as second:
        for outcome in (first.run(job, 60), second.run(job, 60)):
            assert outcome.status is JobStatus.OK, outcome.message
            assert outcome.value["ok"]
        assert first.pid == second.pid
        pid = first.pid
    (status,) = (one for one in running_services() if one.pid == pid)
    assert status.answers
    assert status.jobs >= 2
    assert Path(status.socket).parent.stat().st_mode & 0o077 == 0


def test_a_job_sees_its_clients_environment_without_secrets(
    shared_home: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_SAID", "by the client")
    monkeypatch.setenv("MY_API_TOKEN", "do not show")
    with shared_client() as mine:
        outcome = mine.run(compile_job(tmp_path, TELLER), 60)
    assert outcome.output.startswith("by the client None")


def test_a_client_that_dies_takes_its_job_along(shared_home: None, tmp_path: Path) -> None:
    mark = f"60{os.getpid()}"
    job = compile_job(tmp_path, SLEEPER.format(mark=mark))
    script = (
        "import sys\nfrom tilewright.devices.client import WorkerClient\n"
        f"WorkerClient(sys.executable, shared=True).run({job!r}, 300)\n"
    )
    dying = subprocess.Popen([sys.executable, "-c", script])
    assert wait_for(lambda: sleeping(mark))
    before = {status.pid for status in running_services()}
    dying.send_signal(signal.SIGKILL)
    dying.wait()
    assert wait_for(lambda: not sleeping(mark))
    assert {status.pid for status in running_services()} == before


def test_a_job_can_be_cancelled_and_one_that_takes_too_long_is_stopped(
    shared_home: None, tmp_path: Path
) -> None:
    mark = f"61{os.getpid()}"
    job = compile_job(tmp_path, SLEEPER.format(mark=mark))

    def cancel_what_runs() -> None:
        assert wait_for(lambda: sleeping(mark))
        mine.cancel()

    with shared_client() as mine:
        threading.Thread(target=cancel_what_runs).start()
        outcome = mine.run(job, 300)
        assert (outcome.status, outcome.message) == (JobStatus.ERROR, "was cancelled")
        assert mine.run(job, 1.0).status is JobStatus.TIMEOUT


def test_one_clients_many_jobs_do_not_keep_another_waiting(
    shared_home: None, tmp_path: Path
) -> None:
    many = 60 * (os.cpu_count() or 1)  # a minute of naps, of which few are waited for
    nap = compile_job(tmp_path, NAPPER)
    done: list[str] = []
    with shared_client() as busy, shared_client() as other:
        assert busy.hello
        assert other.hello
        threads = [
            threading.Thread(target=lambda: done.append(busy.run(nap, 600).message))
            for _ in range(many)
        ]
        for thread in threads:
            thread.start()
        assert wait_for(lambda: sum(one.waiting for one in running_services()) >= many // 2)
        outcome = other.run(compile_job(tmp_path, FINDER + KERNEL), 60)
        assert outcome.status is JobStatus.OK
        assert outcome.output.strip() == "requests in memory: 0", "those that wait are another's"
        assert len(done) < many
        busy.cancel()
        for thread in threads:
            thread.join()
    assert len(done) == many


def judged(client: WorkerClient, folder: Path, was: str, becomes: str) -> Evaluation:
    """What the cascade finds of softmax with a change, in the interpreter, by a worker."""
    source = EXAMPLES / "softmax.py"
    problem, text = find_problem(source), source.read_text().replace(*SEES_ITS_CLIENT)
    hello = client.hello
    info = DeviceInfo(
        "interpreter", "", None, False, str(hello["torch"]), hello["triton"], hello["python"]
    )
    bench = Workbench(WorkerDevice(client, info), problem, source, folder, 1)
    return Cascade(text, str(source), bench, None).judge(text.replace(was, becomes), text)


def coordinators(service: int | None) -> set[int]:
    """Processes below a service that have not ended."""
    found = set()
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            is_below = fields[0] != "Z" and fields[1] == str(service)
            found |= {int(folder.name)} if is_below else set()
    return found


def test_candidates_of_two_commands_are_judged_by_one_process(
    shared_home: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_SAID", "by the client")
    with shared_client() as first, shared_client() as second:
        right = judged(first, tmp_path, "BLOCK=1024", "BLOCK=2048")
        assert (right.level, right.failed) == (Level.CORRECT, None)
        wrong = judged(second, tmp_path, "exp(x - row_max) / row_sum", "exp(x - row_max)")
        assert wrong.level is Level.REJECTED
        assert first.pid == second.pid
        pid, below = first.pid, coordinators(first.pid)
        assert len(below) >= 2
        second.close()
        assert wait_for(lambda: coordinators(pid) < below)
        again = judged(first, tmp_path, "BLOCK=1024", "BLOCK=512")
        assert again.level is Level.CORRECT, "the other's end takes nothing of this one's along"
    assert wait_for(lambda: not coordinators(pid)), "no client, no coordinator"
    assert pid in {status.pid for status in running_services()}
    assert not list(Path("/dev/shm").glob(f"tilewright-worker-*/trials/judge-{min(below)}"))


def test_a_trial_does_not_wait_for_compile_jobs(
    shared_home: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_SAID", "by the client")
    nap = compile_job(tmp_path, "import time\ntime.sleep(600)\n")
    with shared_client() as busy, shared_client() as other:
        threads = [
            threading.Thread(target=busy.run, args=(nap, 600))
            for _ in range(2 * (os.cpu_count() or 1))
        ]
        assert busy.hello
        for thread in threads:
            thread.start()
        assert wait_for(lambda: any(one.waiting for one in running_services()))
        assert judged(other, tmp_path, "BLOCK=1024", "BLOCK=2048").level is Level.CORRECT
        assert all(thread.is_alive() for thread in threads)
        busy.cancel()
        for thread in threads:
            thread.join()


def test_who_sends_what_is_no_request_is_hung_up_on(shared_home: None, tmp_path: Path) -> None:
    with shared_client() as mine:
        (path,) = (s.socket for s in running_services() if s.pid == mine.hello["pid"])
        for nonsense in (b"\xff" * 64, encode({"job": {}}), *UNREADABLE):
            found = open_socket(Path(path))
            assert found is not None
            with found:
                found.settimeout(60)
                found.sendall(nonsense)
                while found.recv(1 << 16):
                    pass
        assert mine.run(compile_job(tmp_path, KERNEL), 60).status is JobStatus.OK


def test_a_killed_service_is_started_again(own_home: None, tmp_path: Path) -> None:
    with shared_client(compile_only=True) as mine:
        assert mine.hello
        first = mine.pid
        assert first is not None
        (path,) = (status.socket for status in running_services())
        os.kill(first, signal.SIGKILL)
        assert wait_for(lambda: mine.pid is None)
        assert Path(path).exists(), "a killed service leaves its socket"
        assert mine.run({"kind": "nothing"}, 10).status is JobStatus.ERROR
        assert mine.pid not in (None, first)
        folders = list(Path(path).parent.glob("jobs-*"))
        assert len(folders) == 1, "what the killed one left is gone"


def test_clients_that_come_at_once_start_one(own_home: None) -> None:
    script = (
        "import sys\nfrom tilewright.devices.client import WorkerClient\n"
        "with WorkerClient(sys.executable, compile_only=True, shared=True) as mine:\n"
        "    print(mine.hello['pid'])\n"
    )
    clients = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) for _ in range(3)
    ]
    said = [one.communicate(timeout=180)[0].strip() for one in clients]
    assert len(set(said)) == 1
    assert said[0].isdigit()


def test_it_ends_when_nobody_has_wanted_anything_for_a_while(
    own_home: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_SERVICE_IDLE", "0.5")
    with shared_client(compile_only=True) as mine:
        pid = mine.hello["pid"]
        assert wait_for(lambda: not Path(f"/proc/{pid}").exists())
    assert running_services() == ()


def test_without_a_private_folder_it_compiles_without_and_says_so(
    own_home: None, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Path(os.environ["TILEWRIGHT_HOME"]) / "service"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    with caplog.at_level(logging.WARNING), shared_client(compile_only=True) as mine:
        assert mine.hello["triton"]
    assert "started without the worker service" in caplog.text
    assert "chmod 700" in caplog.text
    folder.chmod(0o700)
    assert running_services() == ()


def test_a_file_where_its_folder_goes_is_reported(own_home: None) -> None:
    home = Path(os.environ["TILEWRIGHT_HOME"])
    home.mkdir(exist_ok=True)
    (home / "service").write_text("")
    with pytest.raises(ServiceError, match=str(home / "service")):
        running_services()
    (home / "service").unlink()


def test_it_can_be_turned_off(own_home: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_SERVICE", "0")
    close_all()
    with compiler(sys.executable) as mine:
        assert mine.hello["triton"]
        assert running_services() == ()
    close_all()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_users_listener_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    script = (
        "import os, socket, sys, time\nos.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX)\ns.bind('foreign.sock')\ns.listen()\n"
        "print('there', flush=True)\ntime.sleep(60)\n"
    )
    foreign = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE)
    try:
        assert foreign.stdout is not None
        assert foreign.stdout.readline() == b"there\n"
        with pytest.raises(ServiceError, match="another user's process"):
            open_socket(tmp_path / "foreign.sock")
    finally:
        foreign.kill()
        foreign.communicate()


def test_it_makes_way_once_torch_or_triton_is_another_one(tmp_path: Path) -> None:
    library, path = tmp_path / "library.py", tmp_path / "it.sock"
    library.write_text("1")
    hello = {"pid": os.getpid(), "files": {str(library): stamp(str(library))}}
    lock = os.open(tmp_path / "it.lock", os.O_RDWR | os.O_CREAT)
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    one = served.Service(path, lock, tmp_path, hello, 60.0)
    try:
        with greeted(one, path) as said:
            assert said == {"hello": hello}
        assert one._wanted()
        library.write_text("another one")
        assert not one._wanted(), "without a new client as well"
        with greeted(one, path) as said:
            assert said == {"hello": {"outdated": True}}
        assert not path.exists()
        assert not one._wanted()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextlib.contextmanager
def greeted(one: served.Service, path: Path) -> Iterator[object]:
    """What a new client is told, once the service has had a turn."""
    found = open_socket(path)
    assert isinstance(found, socket.socket)
    with found:
        one._turn()
        yield json.loads(found.recv(1 << 16)[4:])


@pytest.mark.parametrize("niceness", [0, 10])
def test_one_that_gives_way_does_so_in_the_session_that_started_it(
    own_home: None, niceness: int
) -> None:
    """Linux may schedule each session as one: niceness counts within a session alone."""
    program = (
        "import os, sys\n"
        f"os.nice({niceness})\n"
        "from tilewright.devices.client import WorkerClient\n"
        "client = WorkerClient(sys.executable, compile_only=True, shared=True)\n"
        "print(client.hello['pid'], os.getsid(0))\n"
        "client.close()\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    service, session = map(int, done.stdout.split())
    assert os.getsid(service) == (session if niceness + os.nice(0) > 0 else service)
    assert os.getpriority(os.PRIO_PROCESS, service) == min(19, os.nice(0) + niceness)
    assert os.getpgid(service) == service
