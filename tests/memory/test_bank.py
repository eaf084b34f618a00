"""The bank: snapshots, order, capacity, removal, and what it refuses to read."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_entries import ROWS, entry

from tilewright.memory.bank import Bank, BankError, Learned, Use
from tilewright.memory.model import Origin, Provenance, Schedule, Step
from tilewright.store.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "store.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def bank(store: Store) -> Iterator[Bank]:
    opened = Bank(store)
    yield opened
    opened.close()


def schedule(project: str = "/p") -> Schedule:
    steps = (Step("rewrite:hoist_load", "Hoist", "loop_invariant_code", None, 1.2),)
    source = Provenance(project, "kernel.py", "e" * 32, "run", Origin.CONTEST)
    return Schedule(ROWS, steps, 1.2, 1.1, 1.3, source)


def test_what_goes_in_comes_out_in_order(bank: Bank) -> None:
    entries = [entry(kernel=str(n)) for n in range(5)]
    bank.merge(Learned(entries, [schedule()]))
    held = bank.snapshot()
    assert list(held.experiences) == entries
    assert held.schedules == (schedule(),)


def test_a_snapshot_is_fixed(bank: Bank) -> None:
    bank.merge(Learned([entry(kernel="a")]))
    number = bank.number()
    bank.merge(Learned([entry(kernel="b")], [schedule()], [Use("x", "/p", "k", "r", False)]))
    held = bank.snapshot("k", until=number)
    assert [one.source.kernel for one in held.experiences] == ["a"]
    assert held.schedules == ()
    assert held.misses == {}
    assert len(bank.snapshot().experiences) == 2


def test_what_is_measured_again_takes_the_place_of_what_was_known(bank: Bank) -> None:
    bank.merge(Learned([entry(ratio=1.3), entry(kernel="other")]))
    bank.merge(Learned([entry(ratio=1.5)]))
    held = bank.snapshot().experiences
    assert [one.measured.ratio for one in held] == [1.3, 1.5]
    assert [one.source.kernel for one in held] == ["other", "f" * 32]


def test_over_capacity_the_most_frequent_key_loses_its_oldest(store: Store) -> None:
    bank = Bank(store, capacity=4)
    rare = entry("rewrite:sigmoid", "sigmoid_slow_exp", kernel="rare")
    bank.merge(Learned([rare, *(entry(kernel=str(n)) for n in range(6))]))
    assert [one.source.kernel for one in bank.snapshot().experiences] == ["rare", "3", "4", "5"]
    bank.close()


def test_uses_in_a_row_without_gain_are_counted_by_kernel(bank: Bank) -> None:
    name = entry().id
    bank.merge(Learned([entry()], uses=[Use(name, "/p", "k", "r1", True)]))
    bank.merge(
        Learned(uses=[Use(name, "/p", "k", "r2", False), Use(name, "/p", "other", "r3", False)])
    )
    bank.merge(Learned(uses=[Use(name, "/p", "k", "r4", False)]))
    assert bank.snapshot("k").misses == {name: 2}
    assert bank.snapshot("other").misses == {name: 1}
    assert bank.uses() == {name: (4, 1)}


def test_a_run_that_is_merged_twice_counts_once(bank: Bank) -> None:
    learned = Learned([entry()], [schedule()], [Use(entry().id, "/p", "k", "r", False)])
    bank.merge(learned)
    bank.merge(learned)
    held = bank.snapshot("k")
    assert len(held.experiences) == len(held.schedules) == 1
    assert held.misses == {entry().id: 1}


def test_a_project_is_forgotten_with_its_uses_and_its_bytes(bank: Bank, store: Store) -> None:
    secret = entry(project="/secret", diff="+ proprietary_name = 1", kernel="s")
    used = Use(secret.id, "/secret", "k", "r", False)
    bank.merge(Learned([entry(), secret], [schedule("/secret")], [used]))
    assert bank.forget(project="/secret") == 2
    held = bank.snapshot("k")
    assert [one.source.project for one in held.experiences] == ["/p"]
    assert held.schedules == ()
    assert held.misses == {}
    files = [path for path in store.path.parent.iterdir() if path.is_file()]
    assert files
    assert not any(b"proprietary_name" in path.read_bytes() for path in files)


def test_an_entry_is_named_by_its_first_digits(bank: Bank) -> None:
    bank.merge(Learned([entry()], [schedule()]))
    assert bank.named(entry().id[:6]) == entry()
    assert bank.named(schedule().id) == schedule()
    for name in ("", "zzzz"):
        with pytest.raises(BankError, match="there is no entry"):
            bank.named(name)


def test_an_entry_of_another_version_is_named_with_the_way_out(bank: Bank, store: Store) -> None:
    bank.merge(Learned([entry()]))
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE memory SET value = '{}'")
    with pytest.raises(BankError, match=f"tilewright memory forget {entry().id}"):
        bank.snapshot()
    assert bank.forget([entry().id]) == 1
    assert bank.snapshot().experiences == ()


def test_the_way_out_of_an_unreadable_entry_works(bank: Bank, store: Store) -> None:
    bank.merge(Learned([entry()], [schedule()], [Use(entry().id, "/p", "k", "r", False)]))
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE memory SET value = '{}'")
    assert bank.full_id(entry().id[:6]) == entry().id
    with pytest.raises(BankError, match="tilewright memory forget r:0"):
        bank.uses()
    bank.forget([bank.full_id("r:0")])
    assert bank.uses() == {}
    assert bank.forget(everything=True) == 2
    assert bank.snapshot().schedules == ()


def test_uses_of_a_project_without_entries_leave_no_bytes_either(bank: Bank, store: Store) -> None:
    used = Use(entry().id, "/secret", "/secret:proprietary_name.py", "r", False)
    bank.merge(Learned([entry()], uses=[used]))
    assert bank.forget(project="/secret") == 0
    files = [path for path in store.path.parent.iterdir() if path.is_file()]
    assert not any(b"proprietary_name" in path.read_bytes() for path in files)


def test_the_oldest_uses_are_left_out(store: Store) -> None:
    bank = Bank(store, uses=3)
    used = [Use(entry().id, "/p", "k", "r", number > 2) for number in range(5)]
    bank.merge(Learned([entry()], [schedule()], used))
    assert bank.uses() == {entry().id: (3, 2)}
    assert len(bank.snapshot().schedules) == 1
    bank.close()


def test_bytes_that_another_process_holds_are_reported(bank: Bank, store: Store) -> None:
    bank.merge(Learned([entry()]))
    bank._connection.execute("PRAGMA busy_timeout = 0")
    reader = sqlite3.connect(store.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM memory").fetchone()
    with pytest.raises(BankError, match="their bytes are still in the file"):
        bank.forget([entry().id])
    reader.close()
    assert bank.forget() == 0
    assert bank.snapshot().experiences == ()
