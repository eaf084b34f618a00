"""One worker for all tests of this folder."""

import sys
from collections.abc import Iterator
from pathlib import Path

import faulting
import pretended_device
import pytest
from worker_bench import Bench

from tilewright.devices.client import WorkerClient


@pytest.fixture(scope="session")
def worker_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    (home / "victim.txt").write_text("precious")
    return home


@pytest.fixture(scope="session")
def client(worker_home: Path) -> Iterator[WorkerClient]:
    with WorkerClient(sys.executable) as client:
        with pytest.MonkeyPatch.context() as patch:
            _surround(patch, worker_home)
            client.hello  # noqa: B018 - starts it while the environment is set
        yield client


@pytest.fixture(scope="session")
def interpreter_worker() -> Iterator[faulting.Worker]:
    """A worker asked over its pipes, with little patience, for trials in the interpreter."""
    with faulting.worker("interpreter") as started:
        assert started.accepts(faulting.ORIGINAL)
        yield started


@pytest.fixture(scope="session")
def gpu_worker() -> Iterator[faulting.Worker]:
    """The same with a device that pretends to be a GPU."""
    with pretended_device.worker() as started:
        yield started


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, worker_home: Path) -> None:
    """The same for a worker that is started again, and for no test of another folder."""
    _surround(monkeypatch, worker_home)


def _surround(patch: pytest.MonkeyPatch, worker_home: Path) -> None:
    patch.setenv("TILEWRIGHT_HOME", str(worker_home))
    patch.setenv("SOME_API_TOKEN", "do not show")
    patch.setenv("VICTIM", str(worker_home / "victim.txt"))
    patch.setenv("PORT", "9")
    patch.setenv("TILEWRIGHT_ALLOW_ENV", "VICTIM,PORT")


@pytest.fixture
def bench(client: WorkerClient, tmp_path: Path) -> Bench:
    return Bench(client, tmp_path)
