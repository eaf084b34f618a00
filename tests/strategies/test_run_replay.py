"""A replay makes the decisions of a recorded run again, with no device, and names what differs."""

import json
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tilewright.devices.model import DeviceInfo, JobOutcome, JobStatus
from tilewright.devices.opening import open_device
from tilewright.errors import Stopped
from tilewright.problems.loading import find_problem
from tilewright.search.spec import StrategySpec
from tilewright.store.records import Records, RunState
from tilewright.store.store import Store
from tilewright.strategies.observer import Silent
from tilewright.strategies.optimize import OptimizeRequest, OriginalFailsError, optimize
from tilewright.strategies.present import dump_result
from tilewright.strategies.replay import ReplayError, first_difference, replay
from tilewright.targets.registry import parse_target

EXAMPLES = Path(__file__).parents[2] / "examples"


class NoResults:
    """A device on which every job fails, as on a machine where the original does not run."""

    info = DeviceInfo("interpreter", "a test", None, False, "2.13.0", "3.9.0", "3.11")

    def __init__(self, stop_at: int | None = None) -> None:
        self.jobs: list[str] = []
        self._stop_at = stop_at

    def run(self, job: Mapping[str, Any], timeout_s: float) -> JobOutcome:
        self.jobs.append(job["kind"])
        if len(self.jobs) == self._stop_at:
            raise Stopped("SIGTERM")
        return JobOutcome(JobStatus.ERROR, {}, "the kernel raised ValueError")

    def close(self) -> None: ...


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite")


def softmax(tmp_path: Path, *, target: str | None = "cuda:90") -> OptimizeRequest:
    for name in ("softmax.py", "softmax.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    path = tmp_path / "softmax.py"
    chip = parse_target(target) if target else None
    return OptimizeRequest(path, path.read_text(), find_problem(path), chip, 8)


def last(store: Store) -> tuple[Records, Any]:
    records = store.records
    return records, records.named("last")


def edit_result(store: Store, old: str, new: str) -> None:
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE run SET result = replace(result, ?, ?)", (old, new))


def test_a_run_without_a_problem_is_replayed(store: Store, tmp_path: Path) -> None:
    request = OptimizeRequest(
        tmp_path / "softmax.py", (EXAMPLES / "softmax.py").read_text(), None, None, 8
    )
    result = optimize(request, None, store, Silent())
    replayed = replay(*last(store))
    assert replayed.difference is None
    assert replayed.result == replayed.recorded
    assert replayed.run == result.run
    assert "seconds" not in replayed.recorded


def test_an_original_that_fails_is_replayed_without_the_device(
    store: Store, tmp_path: Path
) -> None:
    device = NoResults()
    with pytest.raises(OriginalFailsError) as raised:
        optimize(softmax(tmp_path), device, store, Silent())
    assert device.jobs
    replayed = replay(*last(store))
    assert replayed.difference is None
    assert replayed.recorded == {"error": str(raised.value)}


def test_a_run_that_was_stopped_is_replayed_to_where_it_was_stopped(
    store: Store, tmp_path: Path
) -> None:
    result = optimize(softmax(tmp_path, target=None), NoResults(stop_at=2), store, Silent())
    assert any("stopped before the end" in note for note in result.notes)
    replayed = replay(*last(store))
    assert replayed.difference is None
    assert replayed.recorded["notes"] == list(result.notes)


def test_the_first_difference_is_named_with_both_values(store: Store, tmp_path: Path) -> None:
    request = OptimizeRequest(
        tmp_path / "softmax.py", (EXAMPLES / "softmax.py").read_text(), None, None, 8
    )
    optimize(request, None, store, Silent())
    records, record = last(store)
    edit_result(store, '"changed": false', '"changed": true')
    replayed = replay(records, records.named(record.id))
    assert replayed.difference == "result.changed: recorded true, replayed false"


def test_a_unit_that_is_missing_is_named(store: Store, tmp_path: Path) -> None:
    with pytest.raises(OriginalFailsError):
        optimize(softmax(tmp_path), NoResults(), store, Silent())
    with sqlite3.connect(store.path) as connection:
        connection.execute("DELETE FROM unit WHERE kind = 'evaluate'")
    difference = replay(*last(store)).difference
    assert difference is not None
    assert "evaluate:" in difference
    assert "not on record" in difference


def test_another_version_is_named_where_it_decides_otherwise(store: Store, tmp_path: Path) -> None:
    request = OptimizeRequest(
        tmp_path / "softmax.py", (EXAMPLES / "softmax.py").read_text(), None, None, 8
    )
    optimize(request, None, store, Silent())
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE run SET request = json_set(request, '$.tilewright', '0.0.1')")
    assert replay(*last(store)).difference is None
    edit_result(store, '"changed": false', '"changed": true')
    assert "recorded by Tilewright 0.0.1" in str(replay(*last(store)).difference)


def test_what_cannot_be_replayed_says_why(store: Store) -> None:
    with store.run("key", "kernel.py", {}):
        records, running = last(store)
        assert running.state is RunState.RUNNING
        with pytest.raises(ReplayError, match="is running"):
            replay(records, running)
    with pytest.raises(ReplayError, match="interrupted"):
        replay(*last(store))
    with store.run("key", "kernel.py", {}) as (run, _):
        store.finish(run.id, {"changed": False})
    with pytest.raises(ReplayError, match="kept no texts"):
        replay(*last(store))


@pytest.mark.parametrize(
    ("recorded", "found", "words"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": [1, 2]}, {"a": [1]}, "result.a[1]: recorded 2, replayed nothing"),
        ({"a": [1]}, {"a": [1, 2]}, "result.a[1]: recorded nothing, replayed 2"),
        ({"a": 1}, {"a": 1.0}, "result.a: recorded 1, replayed 1.0"),
        ({}, {"b": None}, "result.b: recorded nothing, replayed null"),
        ({"a": {"b": float("nan")}}, {"a": {"b": float("nan")}}, None),
    ],
)
def test_first_difference(recorded: Any, found: Any, words: str | None) -> None:
    assert first_difference(recorded, found) == words


@pytest.mark.triton
@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "budget"), [("staged", 64), ("grid", 4)])
def test_a_run_in_the_interpreter_is_replayed_byte_for_byte(
    store: Store, tmp_path: Path, strategy: Any, budget: int
) -> None:
    for name in ("linear_gelu.py", "linear_gelu.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    path = tmp_path / "linear_gelu.py"
    request = OptimizeRequest(
        path, path.read_text(), find_problem(path), parse_target("cuda:90"), budget,
        strategy=StrategySpec(strategy=strategy),
    )  # fmt: skip
    device = open_device("interpreter")
    try:
        result = optimize(request, device, store, Silent())
    finally:
        device.close()
    assert result.changed
    assert (result.search is None) == (strategy == "staged")
    path.unlink()  # the record alone must do
    replayed = replay(*last(store))
    assert replayed.difference is None
    expected = json.loads(json.dumps(dump_result(result)))
    del expected["seconds"]
    assert json.dumps(replayed.result) == json.dumps(expected)
