"""A Ray cluster of two logical nodes on this machine: verdicts, lost actors, a killed driver."""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tilewright.devices.discovery import close_all
from tilewright.devices.model import JobOutcome, JobStatus
from tilewright.devices.opening import open_device
from tilewright.devices.pool import DevicePool

pytestmark = [
    pytest.mark.triton,
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="needs ray: pip install 'tilewright[ray]'"
    ),
]
EXAMPLES = Path(__file__).parents[2] / "examples"
NODES = """
import sys
from ray.cluster_utils import Cluster
head = {"num_cpus": 1, "ray_client_server_port": int(sys.argv[1])}
cluster = Cluster(initialize_head=True, head_node_args=head)
cluster.add_node(num_cpus=1)
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
SLEEPS = "import time\ndef sleeps(x):\n    time.sleep(x)\n    return x\n"


@dataclass(frozen=True)
class Nodes:
    address: str
    client: str
    home: Path


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    home = tmp_path_factory.mktemp("nodes")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = {
        **os.environ, "TILEWRIGHT_HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DISABLE_IMPORT_WARNING": "1",
    }  # fmt: skip
    held = subprocess.Popen(
        [sys.executable, "-c", NODES, port],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert held.stdout is not None
    lines = iter(held.stdout.readline, "")
    address = next((line.strip() for line in lines if line.strip()[-1:].isdigit()), "")
    assert address, "the cluster did not start"
    yield Nodes(address, f"ray://127.0.0.1:{port}", home)
    held.communicate("", timeout=60)


@pytest.fixture
def devices(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> Iterator[DevicePool]:
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    close_all()
    opened = open_device("ray:auto")
    assert isinstance(opened, DevicePool)
    yield opened
    close_all()


def workers_of(nodes: Nodes) -> list[int]:
    """Processes of workers that the cluster's actors started."""
    return [pid for pid, line in _command_lines() if str(nodes.home) in line]


def actor_processes() -> list[int]:
    return [pid for pid, line in _command_lines() if line.startswith("ray::WorkerActor")]


def _command_lines() -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), (folder / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue


def gone(pids: Any, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while pids() and time.monotonic() < end:
        time.sleep(0.1)
    return not pids()


def tilewright(*arguments: str, nodes: Nodes, home: Path) -> dict[str, Any]:
    environment = {**os.environ, "TILEWRIGHT_HOME": str(home), "RAY_ADDRESS": nodes.address}
    ran = subprocess.run(
        [sys.executable, "-m", "tilewright", *arguments, "--format", "json"],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode in (0, 1), ran.stderr
    value: dict[str, Any] = json.loads(ran.stdout)
    return value


def test_verdicts_are_those_of_the_local_device(nodes: Nodes, tmp_path: Path) -> None:
    original = EXAMPLES / "softmax.py"
    wrong = tmp_path / "softmax.py"
    wrong.write_text(original.read_text().replace("tl.exp(", "tl.exp2(", 1))
    for candidate, device in ((wrong, nodes.client), (original, "ray:auto")):
        found = tilewright(
            "verify", str(original), str(candidate), "--device", device,
            nodes=nodes, home=tmp_path / "home",
        )  # fmt: skip
        expected = (False, "correctness") if candidate is wrong else (True, None)
        assert verdict(found) == expected, "as on the local device"
    assert gone(lambda: workers_of(nodes))


def verdict(value: dict[str, Any]) -> tuple[bool, str | None]:
    return value["accepted"], value["failed"] and value["failed"]["step"]


def test_a_job_whose_actor_is_killed_is_done_again(
    devices: DevicePool, nodes: Nodes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    outcomes = during(devices, tmp_path, lambda: kill_one_that_works(nodes))
    assert [outcome.status for outcome in outcomes] == [JobStatus.OK, JobStatus.OK]
    assert all(outcome.value["outputs"][0]["value"] == 4 for outcome in outcomes)
    assert caplog.text.count("Ray restarted the actor of") == 1, "one job went on undisturbed"
    assert len(devices.members) == 2, "an actor that Ray restarted stays"


def test_a_command_whose_actor_is_killed_prints_its_result_alone(
    nodes: Nodes, tmp_path: Path
) -> None:
    original = str(EXAMPLES / "softmax.py")
    killed = threading.Thread(target=kill_the_first_that_works, args=(nodes,))
    killed.start()
    value = tilewright(
        "verify", original, original, "--device", "ray:auto", nodes=nodes, home=tmp_path / "home"
    )
    killed.join()
    assert verdict(value) == (True, None)


def kill_the_first_that_works(nodes: Nodes) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and not workers_of(nodes):
        time.sleep(0.05)
    os.kill(actor_processes()[0], signal.SIGKILL)


def during(devices: DevicePool, folder: Path, disturb: Any) -> list[JobOutcome]:
    """A job of four seconds on each member, while something happens."""
    job = {
        "kind": "run", "module": str(folder / "sleeps.py"), "out": str(folder / "out"),
        "entry": {"kind": "function", "name": "sleeps", "path": None},
        "case": {"category": "ci", "index": 0, "dims": {}, "inputs": []},
        "inputs": [{"name": "x", "value": 4}],
    }  # fmt: skip
    outcomes: list[JobOutcome] = []

    def work(number: int) -> None:
        outcomes.append(devices.run_on(devices.members[number], job, 60))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(2)
    disturb()
    for thread in threads:
        thread.join()
    return outcomes


def kill_one_that_works(nodes: Nodes) -> None:
    actors = actor_processes()
    assert len(actors) == 2
    assert workers_of(nodes)
    os.kill(actors[0], signal.SIGKILL)


def test_a_killed_driver_leaves_nothing_and_its_run_goes_on(nodes: Nodes, tmp_path: Path) -> None:
    for name in ("linear_gelu.py", "linear_gelu.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    command = ["optimize", str(tmp_path / "linear_gelu.py"), "--target", "cuda:90"]
    command += ["--budget", "3", "--device"]
    expected = tilewright(*command, "interpreter", nodes=nodes, home=tmp_path / "local")
    environment = {
        **os.environ, "TILEWRIGHT_HOME": str(tmp_path / "home"), "RAY_ADDRESS": nodes.address,
    }  # fmt: skip
    arguments = [sys.executable, "-m", "tilewright", *command, "ray:auto", "--format", "events"]
    driver = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    for line in driver.stdout:
        if json.loads(line)["event"] == "trial":
            break
    driver.kill()
    driver.wait()
    assert gone(lambda: workers_of(nodes)), "the killed driver's actors ended with their workers"
    resumed = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    events = [json.loads(line) for line in resumed.stdout.splitlines()]
    assert next(e["resumed"] for e in events if e["event"] == "started") is True
    assert decisions(events[-1]["result"]) == decisions(expected)
    assert gone(lambda: workers_of(nodes))


def decisions(result: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (t["number"], t["proposer"], t["level"], t["kept"], t["rationale"])
        for t in result["trials"]
    ] + [(result["level"], result["final"])]
