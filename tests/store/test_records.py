"""What the store gives back of runs, and what is left of them once they are removed."""

import sqlite3
from pathlib import Path

import pytest

from tilewright.errors import TilewrightError
from tilewright.store.ledger import BrokenOffError, NotRecordedError
from tilewright.store.records import NoRunError, RunState
from tilewright.store.store import MIGRATIONS, Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite")


def run_of(store: Store, key: str, *texts: str, finished: bool = True) -> str:
    with store.run(key, f"{key}.py", {"key": key}) as (run, ledger):
        for text in texts:
            ledger.keep(text)
        ledger.once("evaluate", "unit", {}, lambda: 1)
        if finished:
            store.finish(run.id, {"changed": False})
        ledger.close()
    return run.id


def test_states(store: Store) -> None:
    finished = run_of(store, "one")
    interrupted = run_of(store, "two", finished=False)
    records = store.records
    with store.run("three", "three.py", {}) as (running, _):
        states = {record.id: record.state for record in records.runs()}
        assert states == {
            finished: RunState.FINISHED,
            interrupted: RunState.INTERRUPTED,
            running.id: RunState.RUNNING,
        }
    assert records.named(running.id).state is RunState.INTERRUPTED


def test_the_newest_come_first_and_the_limit_holds(store: Store) -> None:
    ids = [run_of(store, f"run {number}") for number in range(4)]
    assert [record.id for record in store.records.runs(3)] == ids[:0:-1]
    assert store.records.count() == 4
    assert store.records.named("last").id == ids[-1]


def test_a_run_goes_by_the_beginning_of_its_id(store: Store) -> None:
    ids = [run_of(store, f"run {number}") for number in range(2)]
    with sqlite3.connect(store.path) as connection:
        for old, new in zip(ids, ("abcd1", "abcd2"), strict=True):
            connection.execute("UPDATE run SET id = ? WHERE id = ?", (new, old))
    records = store.records
    assert records.named("abcd2").id == "abcd2"
    with pytest.raises(NoRunError, match=r"abcd is the beginning of 2 runs .*add digits"):
        records.named("abcd")
    with pytest.raises(NoRunError, match=r"no run x.*tilewright runs"):
        records.named("x")
    with pytest.raises(NoRunError, match="no run %"):
        records.named("%")
    with pytest.raises(NoRunError, match="tilewright runs"):
        records.named("")


def test_an_empty_store_has_no_last_run(store: Store) -> None:
    assert store.records.runs() == []
    with pytest.raises(NoRunError, match="tilewright optimize FILE"):
        store.records.named("last")


def test_a_text_is_kept_once_and_goes_with_the_last_run_that_refers_to_it(store: Store) -> None:
    one = run_of(store, "one", "shared", "only one")
    two = run_of(store, "two", "shared")
    records = store.records
    with sqlite3.connect(store.path) as connection:
        texts = connection.execute("SELECT hash, text FROM text ORDER BY text").fetchall()
    assert [text for _, text in texts] == ["only one", "shared"]
    (only, _), (shared, _) = texts
    assert records.forget([one]) == [one]
    assert (records.text(only), records.text(shared)) == (None, "shared")
    assert records.forget([two]) == [two]
    with sqlite3.connect(store.path) as connection:
        for table in ("run", "unit", "text", "run_text", "progress"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert not list((store.path.parent / "locks").iterdir())


def test_bytes_of_removed_runs_are_gone_or_reported(store: Store) -> None:
    def bytes_left() -> bool:
        files = [path for path in store.path.parent.iterdir() if path.is_file()]
        return any(b"proprietary_name" in path.read_bytes() for path in files)

    ids = [run_of(store, f"proprietary_name {number}") for number in range(2)]
    assert bytes_left()
    store._connection.execute("PRAGMA busy_timeout = 0")
    reader = sqlite3.connect(store.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM run").fetchone()
    with pytest.raises(TilewrightError, match="1 runs are removed, but their bytes are still in"):
        store.records.forget(ids[:1])
    reader.close()
    assert store.records.forget(ids[1:]) == ids[1:]
    assert not bytes_left()


def test_a_run_that_is_running_is_not_removed(store: Store) -> None:
    with store.run("key", "kernel.py", {}) as (run, _):
        assert store.records.forget([run.id]) == []
    assert store.records.forget([run.id]) == [run.id]


def test_runs_older_than_a_moment(store: Store) -> None:
    ids = [run_of(store, f"run {number}") for number in range(2)]
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE run SET started = '2020-01-01' WHERE id = ?", (ids[0],))
    assert [one.id for one in store.records.older_than("2021-01-01")] == [ids[0]]


def test_what_was_seen_of_a_unit_that_broke_off_is_on_record(store: Store) -> None:
    def broken() -> None:
        raise BrokenOffError({"seen": 1})

    with store.run("key", "kernel.py", {}) as (run, ledger):
        for _ in range(2):
            with pytest.raises(BrokenOffError):
                ledger.once("evaluate", "unit", {}, broken)
        recorded = store.records.ledger(run.id)
        with pytest.raises(BrokenOffError) as raised:
            recorded.once("evaluate", "unit", {}, lambda: 7)
        assert raised.value.value == {"seen": 1}
        (unit,) = store.records.units(run.id)
        assert (unit.attempts, unit.value, unit.broken) == (2, None, {"seen": 1})
        assert ledger.once("evaluate", "unit", {}, lambda: 7) == 7
        assert recorded.once("evaluate", "unit", {}, lambda: 8) == 7


def test_a_recorded_ledger_does_no_work_and_writes_nothing(store: Store) -> None:
    run_id = run_of(store, "one")
    done: list[int] = []
    recorded = store.records.ledger(run_id)
    assert recorded.once("evaluate", "unit", {}, lambda: done.append(1)) == 1
    with pytest.raises(NotRecordedError, match=r"other .*not on record"):
        recorded.once("evaluate", "other", {}, lambda: done.append(1))
    recorded.put("trial:1", {})
    name = recorded.keep("a text")
    assert done == []
    assert store.records.text(name) is None
    assert store.records.named(run_id).progress == {}
    assert len(store.records.units(run_id)) == 1


def test_a_store_of_the_first_schema_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(MIGRATIONS[0])
        connection.execute("PRAGMA user_version = 1")
        connection.execute(
            "INSERT INTO run VALUES ('old', 'key', 'k.py', '{}', 1, '2020', '2020', '{}')"
        )
        connection.execute(
            "INSERT INTO unit VALUES ('old', 'u', 'evaluate', 1, 1, '2020', '2020', '{}', '5')"
        )
    records = Store(path).records
    assert records.named("old").state is RunState.FINISHED
    assert [unit.value for unit in records.units("old")] == [5]
