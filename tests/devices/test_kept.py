"""What is known of an interpreter and of a file without asking a worker again."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tilewright.devices import hello_cache
from tilewright.devices.client import WorkerDevice
from tilewright.devices.hello_cache import keep_gpus, keep_hello, known_gpus, known_hello
from tilewright.devices.model import DeviceInfo, JobOutcome, JobStatus
from tilewright.targets.cache import ReportCache
from tilewright.worker.loading.import_stamps import stamp

INFO = DeviceInfo("interpreter", "", None, False, "2.0", "3.0", "3.11")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))


class Recorder:
    """Stands for a worker: tells how often it was asked."""

    def __init__(self, depends: Path, status: JobStatus = JobStatus.OK) -> None:
        self.asked = 0
        self._depends = depends
        self._status = status

    def run(self, job: dict[str, Any], timeout_s: float) -> JobOutcome:
        self.asked += 1
        seen = {str(self._depends): stamp(str(self._depends))}
        return JobOutcome(self._status, {"launches": [self.asked], "depends": seen})

    def cancel(self) -> None: ...

    def close(self) -> None: ...


def recorded(job: dict[str, Any], worker: Recorder) -> JobOutcome:
    return WorkerDevice(worker, INFO).run(job, 1.0)


@pytest.fixture
def job(tmp_path: Path) -> dict[str, Any]:
    module = tmp_path / "ops.py"
    module.write_text("x = 1\n")
    return {"kind": "capture", "module": str(module), "case": {"index": 0}}


def test_the_same_text_and_case_are_recorded_once(job: dict[str, Any], tmp_path: Path) -> None:
    library = tmp_path / "library.py"
    library.touch()
    worker = Recorder(library)
    for _ in range(3):
        assert recorded(job, worker).value["launches"] == [1]
    recorded({**job, "case": {"index": 1}}, worker)
    assert worker.asked == 2
    Path(job["module"]).write_text("x = 2\n")
    recorded(job, worker)
    assert worker.asked == 3


def test_what_it_imported_elsewhere_may_have_changed(job: dict[str, Any], tmp_path: Path) -> None:
    library = tmp_path / "library.py"
    library.touch()
    worker = Recorder(library)
    recorded(job, worker)
    library.write_text("changed")
    assert recorded(job, worker).value["launches"] == [2]
    library.unlink()
    assert recorded(job, worker).value["launches"] == [3]


def test_a_failure_is_tried_again(job: dict[str, Any], tmp_path: Path) -> None:
    worker = Recorder(tmp_path, JobStatus.ERROR)
    for asked in (1, 2):
        assert recorded(job, worker).status is JobStatus.ERROR
        assert worker.asked == asked
    missing = {**job, "module": str(tmp_path / "nowhere.py")}
    recorded(missing, worker)
    assert worker.asked == 3


def test_an_interpreters_versions_are_known_until_its_files_are_others(tmp_path: Path) -> None:
    library = tmp_path / "triton.py"
    library.touch()
    assert known_hello(sys.executable) is None
    hello = {"torch": "2.0", "triton": "3.0", "files": {str(library): stamp(str(library))}}
    keep_hello(sys.executable, hello)
    assert known_hello(sys.executable) == hello
    library.write_text("3.1")
    assert known_hello(sys.executable) is None


def test_a_report_on_a_file_that_is_another_one_is_not_given_back(tmp_path: Path) -> None:
    library, cache = tmp_path / "library.py", ReportCache(tmp_path / "cache")
    library.touch()
    cache.put("abkey", {"ok": True, "depends": {str(library): stamp(str(library))}})
    assert cache.get("abkey") is not None
    library.write_text("changed")
    assert cache.get("abkey") is None


def test_a_cache_is_kept_below_its_bytes(tmp_path: Path) -> None:
    cache = ReportCache(tmp_path, max_bytes=20_000, prune_every=1)
    for number in range(60):
        cache.put(f"{number:02x}key", {"text": "x" * 1000})
    left = list(tmp_path.rglob("*.json"))
    assert sum(path.stat().st_size for path in left) <= 20_000
    assert len(left) >= 15
    assert cache.get("3bkey") is not None


GPU = {
    "id": "cuda:0", "backend": "cuda", "name": "a GPU", "arch": "90", "memory_bytes": 1,
    "multiprocessors": 1, "l2_bytes": 1,
}  # fmt: skip


def test_gpus_are_known_until_the_system_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home" / "worker").mkdir(parents=True)
    monkeypatch.setattr(hello_cache, "_NODES", (f"{str(tmp_path)[1:]}/node*",))
    assert known_gpus(sys.executable) is None
    keep_gpus(sys.executable, [])
    assert known_gpus(sys.executable) == [], "no device node, no GPU"
    (tmp_path / "node0").touch()
    assert known_gpus(sys.executable) is None
    keep_gpus(sys.executable, [])
    assert known_gpus(sys.executable) is None, "a driver may say otherwise in a moment"
    keep_gpus(sys.executable, [GPU])
    assert known_gpus(sys.executable) == [GPU]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert known_gpus(sys.executable) is None
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert known_gpus(sys.executable) == [GPU]
    (tmp_path / "node1").touch()
    assert known_gpus(sys.executable) is None
