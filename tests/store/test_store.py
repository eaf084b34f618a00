"""The store: units are done once, runs are taken up again, nobody works on one run twice."""

import json
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tilewright.store.store import Store, StoreError, open_store

WORKER = """
import sys, time
from pathlib import Path
from tilewright.store.store import Store

store = Store(Path(sys.argv[1]))
log = Path(sys.argv[2])
with store.run("key", "kernel.py", {}) as (run, ledger):
    for number in range(12):
        def work(number=number):
            time.sleep(0.03)
            with log.open("a") as out:
                out.write(f"{number}\\n")
            return {"number": number}
        value = ledger.once("evaluate", f"unit-{number}", {}, work)
        assert value == {"number": number}
    store.finish(run.id, {"units": len(ledger.rows())})
print(run.id, run.seed)
"""


def test_a_unit_is_done_once_and_answered_from_the_record(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    calls: list[int] = []
    with store.run("key", "kernel.py", {}) as (_, ledger):
        for _ in range(3):
            value = ledger.once("evaluate", "unit", {"a": 1}, lambda: calls.append(1) or [1, 2])
            assert value == [1, 2]
    assert calls == [1]


def test_a_unit_that_failed_is_tried_again_and_counts_its_attempts(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")

    def broken() -> None:
        raise RuntimeError("the device went away")

    with store.run("key", "kernel.py", {}) as (_, ledger):
        with pytest.raises(RuntimeError):
            ledger.once("evaluate", "unit", {}, broken)
        assert ledger.rows() == [{"kind": "evaluate", "key": "unit", "attempts": 1, "done": False}]
        assert ledger.once("evaluate", "unit", {}, lambda: 7) == 7
        assert ledger.rows()[0] == {
            "kind": "evaluate",
            "key": "unit",
            "attempts": 2,
            "done": True,
        }


def test_an_unfinished_run_is_resumed_with_its_seed_and_a_finished_one_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path).run("key", "kernel.py", {}) as (first, _):
        assert not first.resumed
    store = Store(path)
    with store.run("key", "kernel.py", {}) as (second, _):
        assert (second.id, second.seed, second.resumed) == (first.id, first.seed, True)
        store.finish(second.id, {})
    with Store(path).run("key", "kernel.py", {}) as (third, _):
        assert third.id != first.id


def test_two_processes_at_once_never_share_a_run(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with (
        Store(path).run("key", "kernel.py", {}) as (one, _),
        Store(path).run("key", "kernel.py", {}) as (two, _),
    ):
        assert one.id != two.id


def test_threads_may_record_units_side_by_side(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite").run("key", "kernel.py", {}) as (_, ledger):
        threads = [
            threading.Thread(target=ledger.once, args=("screen", f"u{n}", {}, partial(int, n)))
            for n in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(row["done"] for row in ledger.rows()) == 16


def test_a_unit_may_be_begun_by_two_ledgers_of_a_run_at_once(tmp_path: Path) -> None:
    """A thread of an interrupted run may still be at work when the run is taken up again."""
    path = tmp_path / "store.sqlite"
    with Store(path).run("key", "kernel.py", {}) as (first, late):
        pass
    with Store(path).run("key", "kernel.py", {}) as (second, ledger):
        assert second.id == first.id

        class Meanwhile(dict[str, int]):
            """The input of a unit, which is read once the unit was not found on record."""

            def items(self) -> Any:
                late.once("call", "unit", {}, lambda: 1)
                return super().items()

        assert ledger.once("call", "unit", Meanwhile(a=1), lambda: 1) == 1
        assert ledger.rows() == [{"kind": "call", "key": "unit", "attempts": 2, "done": True}]


def test_killed_at_any_point_no_unit_is_lost_and_at_most_the_one_in_flight_is_repeated(
    tmp_path: Path,
) -> None:
    path, log = tmp_path / "store.sqlite", tmp_path / "log"
    log.touch()
    kill_after = (1, 3, 6, 9)
    for lines in kill_after:
        worker = subprocess.Popen([sys.executable, "-c", WORKER, str(path), str(log)])
        while len(log.read_text().splitlines()) < lines:
            time.sleep(0.005)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    ended = subprocess.run(
        [sys.executable, "-c", WORKER, str(path), str(log)], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    numbers = [int(line) for line in log.read_text().split()]
    assert set(numbers) == set(range(12))
    assert len(numbers) <= 12 + len(kill_after)


def test_a_store_of_a_newer_tilewright_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = Store(path)
    store._connection.execute("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(StoreError, match=r"store\.sqlite.*newer Tilewright"):
        Store(path)


def test_a_file_that_is_no_database_is_reported_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_text(json.dumps({"not": "a database"}) * 100)
    with pytest.raises(StoreError, match="not a usable store"):
        Store(path)
    assert path.read_text().startswith("{")


def test_the_default_store_follows_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))
    open_store().close()
    assert (tmp_path / "home" / "store.sqlite").exists()
