"""Units of work of one run, each done once: the record is there before the work and after it."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from threading import Lock
from typing import Any


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
        """The JSON value of ``work()``, from the record if it was done before."""
        done = self._begin(kind, key, describe)
        if done is not None:
            return json.loads(done)
        value = work()
        with self._lock:
            self._connect().execute(
                "UPDATE unit SET finished = ?, value = ? WHERE run = ? AND key = ?",
                (now(), json.dumps(value), self._run, key),
            )
        return value

    def _begin(self, kind: str, key: str, describe: Mapping[str, Any]) -> str | None:
        with self._lock:
            connection = self._connect()
            row = connection.execute(
                "SELECT value FROM unit WHERE run = ? AND key = ?", (self._run, key)
            ).fetchone()
            if row is None:
                connection.execute(
                    "INSERT INTO unit (run, key, kind, number, attempts, started, input) VALUES "
                    "(?, ?, ?, (SELECT count(*) + 1 FROM unit WHERE run = ?), 1, ?, ?)",
                    (self._run, key, kind, self._run, now(), json.dumps(describe)),
                )
                return None
            if row[0] is None:
                connection.execute(
                    "UPDATE unit SET attempts = attempts + 1, started = ? "
                    "WHERE run = ? AND key = ?",
                    (now(), self._run, key),
                )
                return None
            return str(row[0])

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


def now() -> str:
    """The time as ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
