"""The SQLite file that holds runs; opened by the engine for writing, by the server for reading."""

import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tilewright.errors import TilewrightError
from tilewright.home import home
from tilewright.store import locks
from tilewright.store.ledger import Ledger, now
from tilewright.store.records import Records
from tilewright.store.transactions import transaction

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE run (
        id TEXT PRIMARY KEY,
        key TEXT NOT NULL,
        path TEXT NOT NULL,
        request TEXT NOT NULL,
        seed INTEGER NOT NULL,
        started TEXT NOT NULL,
        finished TEXT,
        result TEXT
    );
    CREATE INDEX run_by_key ON run (key, finished);
    CREATE TABLE unit (
        run TEXT NOT NULL REFERENCES run (id),
        key TEXT NOT NULL,
        kind TEXT NOT NULL,
        number INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        started TEXT NOT NULL,
        finished TEXT,
        input TEXT NOT NULL,
        value TEXT,
        PRIMARY KEY (run, key)
    );
    """,
    """
    CREATE TABLE text (
        hash TEXT PRIMARY KEY,
        text TEXT NOT NULL
    );
    CREATE TABLE run_text (
        run TEXT NOT NULL REFERENCES run (id),
        hash TEXT NOT NULL REFERENCES text (hash),
        PRIMARY KEY (run, hash)
    );
    CREATE INDEX run_of_text ON run_text (hash);
    CREATE TABLE progress (
        run TEXT NOT NULL REFERENCES run (id),
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (run, name)
    );
    ALTER TABLE unit ADD COLUMN broken TEXT;
    """,
    """
    CREATE TABLE memory (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        key TEXT NOT NULL,
        project TEXT NOT NULL,
        value TEXT NOT NULL,
        UNIQUE (kind, id)
    );
    CREATE INDEX memory_of_project ON memory (project);
    """,
)


class StoreError(TilewrightError):
    """The store cannot be used: unreadable, or written by a newer Tilewright."""


def unusable(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    """What is wrong with a store, and the way out: one that is only in use is not moved away."""
    code = getattr(error, "sqlite_errorcode", 0)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(f"{path}: another process writes to the store ({error}); run again later")
    return StoreError(f"{path}: not a usable store ({error}); move it away and run again")


@dataclass(frozen=True)
class Run:
    """One optimization run. ``seed`` makes its inputs; ``resumed``: it was begun before."""

    id: str
    seed: int
    resumed: bool


def open_store(path: Path | None = None) -> "Store":
    """The store at ``path``, by default in Tilewright's home folder."""
    return Store(path or home() / "store.sqlite")


class Store:
    """Runs by identity; each is worked on by one process at a time, held by a lock file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._connection = sqlite3.connect(path, timeout=30, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._migrate()
        except sqlite3.DatabaseError as error:
            raise unusable(path, error) from error

    def close(self) -> None:
        self._connection.close()

    @property
    def records(self) -> Records:
        """The runs on record, for reading."""
        return Records(self._connection, self.path)

    def _migrate(self) -> None:
        with transaction(self._connection):
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if version > len(MIGRATIONS):
                raise StoreError(
                    f"{self.path}: written by a newer Tilewright (schema {version}, this one "
                    f"knows {len(MIGRATIONS)}); upgrade, or set TILEWRIGHT_HOME to another folder"
                )
            for script in MIGRATIONS[version:]:
                for statement in filter(str.strip, script.split(";")):
                    self._connection.execute(statement)
            self._connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    @contextmanager
    def run(
        self, key: str, path: str, request: Mapping[str, Any], *, same_inputs: bool = False
    ) -> Iterator[tuple[Run, Ledger]]:
        """Take up the unfinished run of ``key`` that no live process holds, or begin one.

        The lock goes with the process, however it ends. Leaving the block without
        ``finish`` leaves the run to be resumed.

        Args:
            same_inputs: begin with the seed of the last run of ``key``, if there is one.
        """
        run, lock = self._claim(key, path, request, same_inputs=same_inputs)
        try:
            yield run, Ledger(self._connection, run.id)
        finally:
            lock.close()

    def _claim(
        self, key: str, path: str, request: Mapping[str, Any], *, same_inputs: bool
    ) -> tuple[Run, IO[str]]:
        rows = self._connection.execute(
            "SELECT id, seed FROM run WHERE key = ? AND finished IS NULL ORDER BY started", (key,)
        ).fetchall()
        for run_id, seed in rows:
            lock = locks.take(self.path, run_id)
            if lock is not None:
                return Run(run_id, seed, resumed=True), lock
        run_id = secrets.token_hex(8)
        seed = self._last_seed(key) if same_inputs else None
        seed = secrets.randbits(48) if seed is None else seed
        lock = locks.take(self.path, run_id)
        assert lock is not None, "a fresh random id cannot be locked by anyone else"
        self._connection.execute(
            "INSERT INTO run (id, key, path, request, seed, started) VALUES (?, ?, ?, ?, ?, ?)",
            (run_id, key, path, json.dumps(request), seed, now()),
        )
        return Run(run_id, seed, resumed=False), lock

    def _last_seed(self, key: str) -> int | None:
        row = self._connection.execute(
            "SELECT seed FROM run WHERE key = ? ORDER BY started DESC, rowid DESC LIMIT 1", (key,)
        ).fetchone()
        return None if row is None else int(row[0])

    def finish(self, run_id: str, result: Mapping[str, Any]) -> None:
        """Mark a run as done, with what it gave; it will not be resumed."""
        self._connection.execute(
            "UPDATE run SET finished = ?, result = ? WHERE id = ?",
            (now(), json.dumps(result), run_id),
        )
        locks.remove(self.path, run_id)
