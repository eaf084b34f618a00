"""Candidates that hang, flood, fork, delete, leave early or take everything."""

import os
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from worker_bench import Bench, case_of, tensor

from tilewright.devices.client import WorkerClient
from tilewright.devices.model import JobStatus

pytestmark = pytest.mark.triton

CASE = case_of(tensor("x", 4))


def below(process: int) -> set[int]:
    """Every process that descends from this one."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] != b"Z":
                parents[int(folder.name)] = int(fields[1])
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def left_over(client: WorkerClient, within_s: float = 60.0) -> set[int]:
    """What still runs below the worker after a moment."""
    assert client.pid is not None
    end = time.monotonic() + within_s
    while (found := below(client.pid)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def carrying(marker: str) -> set[int]:
    """Processes with this in their environment."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if marker.encode() in environment:
                found.add(int(folder.name))
    return found


def test_an_endless_loop_is_stopped(bench: Bench) -> None:
    start = time.monotonic()
    outcome = bench.run("hostile.py", "loops_forever", CASE, timeout_s=1.0)
    assert outcome.status is JobStatus.TIMEOUT
    assert "within 1 s" in outcome.message
    assert time.monotonic() - start < 60
    assert not left_over(bench.client)


def test_a_gigabyte_of_output_costs_nothing(bench: Bench) -> None:
    outcome = bench.run("hostile.py", "prints_a_gigabyte", CASE)
    assert outcome.status is JobStatus.OK
    assert 0 < len(outcome.output) <= 16 * 1024
    peak = Path(f"/proc/{bench.client.pid}/status").read_text()
    resident = next(line for line in peak.splitlines() if line.startswith("VmHWM"))
    assert int(resident.split()[1]) < 1_500_000


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("daemonizes", JobStatus.OK),
        ("starts_a_sleeper_and_loops", JobStatus.TIMEOUT),
        pytest.param("forks_without_end", JobStatus.TIMEOUT, marks=pytest.mark.slow),
    ],
)
def test_no_process_is_left_behind(bench: Bench, name: str, status: JobStatus) -> None:
    outcome = bench.run("hostile.py", name, CASE, timeout_s=2.0)
    assert outcome.status is status
    assert not left_over(bench.client)


@pytest.mark.parametrize("name", ["deletes_files", "overwrites_files"])
def test_files_outside_the_scratch_survive(bench: Bench, worker_home: Path, name: str) -> None:
    if bench.get("probe")["landlock"] == 0:
        pytest.skip("this kernel has no Landlock")
    outcome = bench.run("hostile.py", name, CASE)
    assert outcome.status is JobStatus.ERROR
    assert "PermissionError" in outcome.message
    assert (worker_home / "victim.txt").read_text() == "precious"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("leaves_at_once", "ended without giving a result"),
        ("exits", "called sys.exit(0)"),
        ("aborts", "SIGABRT"),
    ],
)
def test_leaving_early_is_a_crash(bench: Bench, name: str, words: str) -> None:
    outcome = bench.run("hostile.py", name, CASE)
    assert outcome.status is JobStatus.CRASHED
    assert words in outcome.message


@pytest.mark.parametrize("name", ["takes_too_much", "grows_a_list"])
def test_too_much_memory_is_an_outcome(bench: Bench, name: str) -> None:
    outcome = bench.run("hostile.py", name, CASE, memory_bytes=512 << 20)
    assert outcome.status is JobStatus.OUT_OF_MEMORY


def test_inputs_too_large_for_memory_are_refused_with_sizes(bench: Bench) -> None:
    case = case_of(tensor("huge", 1 << 20, 1 << 20, dtype="float16"))
    outcome = bench.ask("inputs", case=case, seed=0, out=bench.out())
    assert outcome.status is JobStatus.OUT_OF_MEMORY
    assert "huge 2048.0 GiB" in outcome.message


def test_a_file_that_is_too_large_is_refused(bench: Bench) -> None:
    outcome = bench.run("hostile.py", "fills_the_disk", CASE, file_bytes=16 << 20)
    assert outcome.status in (JobStatus.ERROR, JobStatus.CRASHED)


def test_the_worker_cannot_be_killed_from_inside(bench: Bench) -> None:
    if bench.get("probe")["landlock"] < 6:
        pytest.skip("this kernel's Landlock does not scope signals")
    pid = bench.client.pid
    outcome = bench.run("hostile.py", "kills_its_parent", CASE)
    assert outcome.status is JobStatus.ERROR
    assert bench.client.pid == pid


def test_the_network_is_out_of_reach(bench: Bench) -> None:
    found = bench.get("probe")
    if not found["netns"] and not found["tcp_denied"]:
        pytest.skip("neither a network namespace nor Landlock's TCP rules here")
    outcome = bench.run("hostile.py", "connects", CASE)
    assert outcome.status is JobStatus.ERROR


def test_secrets_do_not_reach_candidates(bench: Bench) -> None:
    outcome = bench.run("hostile.py", "shows_secrets", CASE)
    assert outcome.output.strip() == "[]"


def test_a_printed_result_is_not_believed(bench: Bench) -> None:
    outcome = bench.run("hostile.py", "forges_a_result", CASE)
    assert outcome.status is JobStatus.ERROR
    assert outcome.message.startswith("ValueError: no")


def test_scratch_folders_are_removed(bench: Bench) -> None:
    bench.ran("rows.py", "reference", case_of(tensor("x", 4, 4)))
    marker = bench.client._live()._marker
    folder = Path(tempfile.gettempdir(), f"tilewright-worker-{marker}")
    assert folder.is_dir()
    assert list(folder.iterdir()) == []


@pytest.fixture
def own_client(worker_home: Path, monkeypatch: pytest.MonkeyPatch) -> WorkerClient:
    """A worker that a test may kill."""
    monkeypatch.setenv("TILEWRIGHT_HOME", str(worker_home))
    return WorkerClient(sys.executable)


@pytest.mark.slow
def test_a_killed_worker_takes_its_children_along_and_comes_back(
    own_client: WorkerClient, bench: Bench
) -> None:
    mine = Bench(own_client, bench.folder)
    with own_client:
        marker = "TILEWRIGHT_WORKER_ID=" + own_client._live()._marker
        inputs = mine.inputs(CASE)
        thread = threading.Thread(
            target=mine.run, args=("hostile.py", "starts_a_sleeper_and_loops", CASE, 2.0),
            kwargs={"inputs": inputs},
        )  # fmt: skip
        thread.start()
        pid = own_client.pid
        assert pid is not None
        end = time.monotonic() + 600
        while len(below(pid)) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        assert len(below(pid)) >= 2
        os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + 600
        while carrying(marker) and time.monotonic() < end:
            time.sleep(0.05)
        assert not carrying(marker)
        thread.join()
        assert own_client.pid not in (None, pid)
        assert mine.ask("probe").status is JobStatus.OK


def test_the_unused_port_is_really_refused_by_the_confinement() -> None:
    """Port 9 is closed, so an open one shows that the refusal is the confinement's."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with socket.create_connection(listener.getsockname(), timeout=60):
            pass
