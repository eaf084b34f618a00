"""What a marked test needs, and the plain reason when this machine lacks it."""

import gc
import importlib.util
import os
import shutil
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tilewright.collection import collect_seldom
from tilewright.devices.client import WorkerDevice

# Few random examples while one works, more with --hypothesis-profile=ci, all of them with
# --hypothesis-profile=all: see each.examples.
for name in ("dev", "ci", "all"):
    settings.register_profile(name, deadline=None)
settings.load_profile("dev")


def _lacks_triton() -> str | None:
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    return f"needs {' and '.join(missing)}: make setup" if missing else None


def _lacks_gpu() -> str | None:
    return None if shutil.which("nvidia-smi") else "needs an NVIDIA GPU"


def _lacks_editor() -> str | None:
    return None if shutil.which("npm") else "needs Node.js and npm"


# A service outlives whoever starts it; tests of it turn it on.
os.environ.setdefault("TILEWRIGHT_SERVICE", "0")

NEEDS = {
    "triton": _lacks_triton,
    "gpu": _lacks_gpu,
    "editor": _lacks_editor,
    "browser": _lacks_editor,
}


collect_ignore = ["worker"] if _lacks_triton() else []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tests of the worker import torch before any of them could be skipped."""
    if collect_ignore:
        terminalreporter.write_line(f"tests/worker is left out: {_lacks_triton()}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here, saying what is missing."""
    reasons = {marker: lacks() for marker, lacks in NEEDS.items()}
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """The same setting as the programs have; it halves the time of tests on syntax trees."""
    collect_seldom()


def pytest_unconfigure() -> None:
    """What stays hidden from the collector at the exit is reported by nanobind as leaked."""
    gc.unfreeze()


@pytest.fixture
def small_heap() -> Iterator[None]:
    """The collector looks only at what the test makes, not at all that was made before it."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def workers_go_on() -> Iterator[None]:
    """A worker takes seconds to start: what closes its device leaves it to the next test.

    ``tests/devices`` takes this back for tests of the closing itself.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkerDevice, "close", lambda device: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def stores_wait_for_no_disk() -> Iterator[None]:
    """What a test stores outlives its process; it does not have to outlive a power failure."""
    connect = sqlite3.connect

    def connected(*given: Any, **more: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*given, **more)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connected)
        yield
