"""What the store knows of runs, for reading; and the removal of runs."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tilewright.errors import InputError, TilewrightError
from tilewright.store import locks
from tilewright.store.ledger import RecordedLedger
from tilewright.store.transactions import overwrite, transaction

LAST = "last"


class RunState(StrEnum):
    """``RUNNING``: a process works on it. ``INTERRUPTED``: the same command takes it up again."""

    FINISHED = "finished"
    RUNNING = "running"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class RunRecord:
    """A run as it is on record.

    Attributes:
        request: what was asked; a run of an older version has fewer entries.
        result: None as long as the run is not finished.
        progress: how far it is: ``plan``, ``trial:1``, and so on.
    """

    id: str
    path: str
    request: Mapping[str, Any]
    seed: int
    started: str
    finished: str | None
    result: Mapping[str, Any] | None
    state: RunState
    progress: Mapping[str, Any]


@dataclass(frozen=True)
class UnitRecord:
    """A unit of work. ``value`` is None as long as it is not done."""

    kind: str
    key: str
    attempts: int
    started: str
    finished: str | None
    input: Mapping[str, Any]
    value: Any
    broken: Any


class NoRunError(InputError):
    """No run, or more than one, goes by the name that was given."""


class Records:
    """The runs of one store. Reading never waits for a run that is being worked on."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def runs(self, limit: int | None = None) -> list[RunRecord]:
        """The newest runs first."""
        ids = self._connection.execute(
            "SELECT id FROM run ORDER BY started DESC, rowid DESC LIMIT ?",
            (-1 if limit is None else limit,),
        ).fetchall()
        return [self._record(run_id) for (run_id,) in ids]

    def count(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM run").fetchone()[0])

    def named(self, name: str) -> RunRecord:
        """The run of an id, of the beginning of one, or the last one for ``last``.

        Raises NoRunError where that is none or several.
        """
        if name == LAST:
            found = [record.id for record in self.runs(1)]
        else:
            rows = self._connection.execute(
                "SELECT id FROM run WHERE substr(id, 1, ?) = ? ORDER BY started DESC",
                (len(name), name),
            )
            found = [run_id for (run_id,) in rows]
        if len(found) == 1:
            return self._record(found[0])
        if found and name:
            some = ", ".join(found[:5])
            raise NoRunError(f"{name} is the beginning of {len(found)} runs ({some}); add digits")
        what = f"there is no run {name}" if name and name != LAST else "there is no run"
        raise NoRunError(
            f"{what} in {self._path}; `tilewright runs` lists the runs, and "
            "`tilewright optimize FILE` starts one"
        )

    def _record(self, run_id: str) -> RunRecord:
        path, request, seed, started, finished, result = self._connection.execute(
            "SELECT path, request, seed, started, finished, result FROM run WHERE id = ?",
            (run_id,),
        ).fetchone()
        progress = self._connection.execute(
            "SELECT name, value FROM progress WHERE run = ?", (run_id,)
        )
        return RunRecord(
            id=run_id,
            path=path,
            request=json.loads(request),
            seed=seed,
            started=started,
            finished=finished,
            result=json.loads(result) if result else None,
            state=self._state(run_id, finished),
            progress={name: json.loads(value) for name, value in progress},
        )

    def _state(self, run_id: str, finished: str | None) -> RunState:
        if finished is not None:
            return RunState.FINISHED
        taken = locks.is_taken(self._path, run_id)
        return RunState.RUNNING if taken else RunState.INTERRUPTED

    def units(self, run_id: str) -> list[UnitRecord]:
        """The units of a run, in the order begun."""
        rows = self._connection.execute(
            "SELECT kind, key, attempts, started, finished, input, value, broken FROM unit "
            "WHERE run = ? ORDER BY number",
            (run_id,),
        )
        return [UnitRecord(*row[:5], *map(_json, row[5:])) for row in rows]

    def text(self, name: str) -> str | None:
        """The text of a hash; None where it is not on record."""
        row = self._connection.execute("SELECT text FROM text WHERE hash = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def ledger(self, run_id: str, end: BaseException | None = None) -> RecordedLedger:
        """The units of a run for a replay; close it after use."""
        return RecordedLedger(self._connection, run_id, end)

    def older_than(self, moment: str) -> list[RunRecord]:
        """Runs begun before a time in ISO 8601 (UTC)."""
        rows = self._connection.execute(
            "SELECT id FROM run WHERE started < ? ORDER BY started", (moment,)
        ).fetchall()
        return [self._record(run_id) for (run_id,) in rows]

    def size(self) -> int:
        """Bytes that the store takes on disk, without its write-ahead log."""
        pages, page = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "page_size")
        )
        return int(pages * page)

    def forget(self, run_ids: Sequence[str]) -> list[str]:
        """Remove runs, and texts that no other run refers to; the ids of those removed.

        One that a process works on is left.

        Raises:
            TilewrightError: they were removed, and their bytes could not be overwritten.
        """
        removed = []
        for run_id in run_ids:
            lock = locks.take(self._path, run_id)
            if lock is None:
                continue
            with lock:
                self._remove(run_id)
            locks.remove(self._path, run_id)
            removed.append(run_id)
        if removed and (why := overwrite(self._connection)):
            raise TilewrightError(f"{len(removed)} runs are removed, but {why}")
        return removed

    def _remove(self, run_id: str) -> None:
        with transaction(self._connection):
            for table in ("unit", "progress", "run_text"):
                self._connection.execute(f"DELETE FROM {table} WHERE run = ?", (run_id,))
            self._connection.execute("DELETE FROM run WHERE id = ?", (run_id,))
            self._connection.execute(
                "DELETE FROM text WHERE hash NOT IN (SELECT hash FROM run_text)"
            )


def _json(value: str | None) -> Any:
    return None if value is None else json.loads(value)
