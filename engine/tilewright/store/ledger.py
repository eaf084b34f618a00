"""Units of work of one run, each done once: the record is there before the work and after it."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from tilewright.errors import TilewrightError
from tilewright.evaluation.model import text_hash


class BrokenOffError(Exception):
    """A unit's work came to no result that counts; ``value`` says what was seen instead.

    The next time the unit is asked for, its work is done again.
    """

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class NotRecordedError(TilewrightError):
    """A replay asked for a unit of work that the recorded run did not finish."""


class Ledger:
    """Remembers every unit of a run by key.

    A unit that is on record as done is answered from the record, so replaying a run's
    decisions after a crash repeats none of its work. One that was under way when the
    process died is done again, and its ``attempts`` say so. Safe to use from several threads.
    """

    def __init__(self, connection: sqlite3.Connection, run_id: str) -> None:
        self._path = connection.execute("PRAGMA database_list").fetchone()[2]
        self._run = run_id
        self._lock = Lock()
        self._shared: sqlite3.Connection | None = None

    def _connect(self) -> sqlite3.Connection:
        if self._shared is None:
            self._shared = sqlite3.connect(
                self._path, timeout=30, isolation_level=None, check_same_thread=False
            )
        return self._shared

    def once(
        self, kind: str, key: str, describe: Mapping[str, Any], work: Callable[[], Any]
    ) -> Any:
        """The JSON value of ``work()``, from the record if it was done before.

        Raises:
            BrokenOffError: ``work`` raised it; what was seen is on record, the unit is not done.
        """
        done = self._begin(kind, key, describe)
        if done is not None:
            return json.loads(done)
        try:
            value = work()
        except BrokenOffError as broken_off:
            self._write("broken = ?", (json.dumps(broken_off.value),), key)
            raise
        self._write("finished = ?, value = ?", (now(), json.dumps(value)), key)
        return value

    def _write(self, columns: str, values: tuple[str, ...], key: str) -> None:
        with self._lock:
            self._connect().execute(
                f"UPDATE unit SET {columns} WHERE run = ? AND key = ?", (*values, self._run, key)
            )

    def _begin(self, kind: str, key: str, describe: Mapping[str, Any]) -> str | None:
        with self._lock:
            connection = self._connect()
            row = connection.execute(
                "SELECT value FROM unit WHERE run = ? AND key = ?", (self._run, key)
            ).fetchone()
            if row is not None and row[0] is not None:
                return str(row[0])
            # One statement: a call of an interrupted run may still be under way in a thread, and
            # begin the same unit through its own connection.
            connection.execute(
                "INSERT INTO unit (run, key, kind, number, attempts, started, input) VALUES "
                "(?, ?, ?, (SELECT count(*) + 1 FROM unit WHERE run = ?), 1, ?, ?) "
                "ON CONFLICT (run, key) DO UPDATE SET "
                "attempts = attempts + 1, started = excluded.started",
                (self._run, key, kind, self._run, now(), json.dumps(describe)),
            )
            return None

    def units(self, kind: str) -> list[tuple[int, Any]]:
        """Attempts and value of each unit of a kind, in the order begun; None while not done."""
        with self._lock:
            rows = (
                self._connect()
                .execute(
                    "SELECT attempts, value FROM unit WHERE run = ? AND kind = ? ORDER BY number",
                    (self._run, kind),
                )
                .fetchall()
            )
        return [(attempts, json.loads(value) if value else None) for attempts, value in rows]

    def keep(self, text: str) -> str:
        """Keep a text that this run refers to, once for all runs; its hash."""
        name = text_hash(text)
        with self._lock:
            connection = self._connect()
            connection.execute(
                "INSERT OR IGNORE INTO text (hash, text) VALUES (?, ?)", (name, text)
            )
            connection.execute(
                "INSERT OR IGNORE INTO run_text (run, hash) VALUES (?, ?)", (self._run, name)
            )
        return name

    def put(self, name: str, value: Any) -> None:
        """Record how far the run is, for readers; the last value of a name counts."""
        with self._lock:
            self._connect().execute(
                "INSERT OR REPLACE INTO progress (run, name, value) VALUES (?, ?, ?)",
                (self._run, name, json.dumps(value)),
            )

    def rows(self) -> list[dict[str, Any]]:
        """Every unit on record, in the order begun: kind, key, attempts, done."""
        with self._lock:
            rows = self._connect().execute(
                "SELECT kind, key, attempts, finished IS NOT NULL FROM unit WHERE run = ? "
                "ORDER BY number",
                (self._run,),
            )
            return [
                {"kind": kind, "key": key, "attempts": attempts, "done": bool(done)}
                for kind, key, attempts, done in rows
            ]

    def close(self) -> None:
        if self._shared is not None:
            self._shared.close()


class RecordedLedger(Ledger):
    """The units of a run as they are on record: no work is done, and nothing is written.

    ``end``: what ended the recorded run before its time; raised where its record ends.
    """

    def __init__(
        self, connection: sqlite3.Connection, run_id: str, end: BaseException | None = None
    ) -> None:
        super().__init__(connection, run_id)
        self._end = end

    def once(
        self, kind: str, key: str, describe: Mapping[str, Any], work: Callable[[], Any]
    ) -> Any:
        """The value on record.

        Raises:
            BrokenOffError: the unit broke off in the recorded run, too.
            NotRecordedError: the recorded run did not finish such a unit.
        """
        del describe, work
        with self._lock:
            row = (
                self._connect()
                .execute(
                    "SELECT value, broken FROM unit WHERE run = ? AND key = ?", (self._run, key)
                )
                .fetchone()
            )
        if row is not None and row[0] is not None:
            return json.loads(row[0])
        if row is not None and row[1] is not None:
            raise BrokenOffError(json.loads(row[1]))
        if self._end is not None:
            raise self._end
        raise NotRecordedError(f"the unit {key} (kind {kind}) is not on record as finished")

    def keep(self, text: str) -> str:
        """The hash of a text; nothing is written."""
        return text_hash(text)

    def put(self, name: str, value: Any) -> None:
        """Nothing is written."""


def now() -> str:
    """The time as ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
