"""The bank: entries and schedules in the store's SQLite file, numbered as they were learned."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from tilewright.errors import InputError
from tilewright.memory.model import Experience, Schedule
from tilewright.serialize import dump, load
from tilewright.store.store import Store
from tilewright.store.transactions import overwrite, transaction

T = TypeVar("T")
CAPACITY = 1024
"""Most entries of a bank, and most schedules."""
MOST_USES = 8 * CAPACITY
"""Uses of entries that are kept, the newest ones."""


class BankError(InputError):
    """An entry that is not there, or that this version cannot read."""


@dataclass(frozen=True)
class Use:
    """An entry that was shown for a step on a kernel, and whether the step was faster."""

    entry: str
    project: str
    kernel: str
    run: str
    helped: bool


@dataclass(frozen=True)
class Learned:
    """What a run adds to the bank when it finishes."""

    experiences: Sequence[Experience] = ()
    schedules: Sequence[Schedule] = ()
    uses: Sequence[Use] = ()


@dataclass(frozen=True)
class Snapshot:
    """What the bank held at one moment, in the order in which it was learned.

    Attributes:
        number: that of the newest entry, schedule or use.
        misses: of one kernel, by entry: its last uses in a row without gain.
    """

    number: int = 0
    experiences: tuple[Experience, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    misses: dict[str, int] = field(default_factory=dict)


class Bank:
    """The memory of all runs on this machine; nothing of it is sent anywhere.

    Args:
        capacity: most entries, and most schedules. Above it the key with the most entries loses
            its oldest one.
        uses: most uses of entries; of more the oldest are removed.
    """

    def __init__(self, store: Store, capacity: int = CAPACITY, uses: int = MOST_USES) -> None:
        self._connection = sqlite3.connect(store.path, timeout=30, isolation_level=None)
        self._capacity = capacity
        self._most_uses = uses

    def close(self) -> None:
        self._connection.close()

    def number(self) -> int:
        """The number of the newest entry, schedule or use; 0 where there is none."""
        row = self._connection.execute("SELECT max(number) FROM memory").fetchone()
        return int(row[0] or 0)

    def snapshot(self, kernel: str = "", until: int | None = None) -> Snapshot:
        """What the bank held when its newest number was ``until``, by default now."""
        number = self.number() if until is None else until
        return Snapshot(
            number,
            tuple(self._values("experience", Experience, number)),
            tuple(self._values("schedule", Schedule, number)),
            self._misses(kernel, number),
        )

    def _values(self, kind: str, of: type[T], number: int) -> Iterator[T]:
        rows = self._connection.execute(
            "SELECT id, value FROM memory WHERE kind = ? AND number <= ? ORDER BY number",
            (kind, number),
        ).fetchall()
        for name, value in rows:
            yield _read(of, name, value)

    def _misses(self, kernel: str, number: int) -> dict[str, int]:
        misses: Counter[str] = Counter()
        for use in self._values("use", Use, number):
            if use.kernel == kernel:
                misses[use.entry] = 0 if use.helped else misses[use.entry] + 1
        return dict(misses)

    def merge(self, learned: Learned) -> None:
        """Add what a run learned, in its order and at once.

        What was measured again takes the place of what was known of it.
        """
        with transaction(self._connection):
            for one in learned.experiences:
                self._put("experience", one.id, one.key, one.source.project, dump(one))
            for schedule in learned.schedules:
                name = schedule.id
                self._put("schedule", name, "", schedule.source.project, dump(schedule))
            for at, use in enumerate(learned.uses):
                self._put("use", f"{use.run}:{at}", use.entry, use.project, dump(use))
            self._evict("experience")
            self._evict("schedule")
            self._delete(
                "kind = 'use' AND number NOT IN "
                "(SELECT number FROM memory WHERE kind = 'use' ORDER BY number DESC LIMIT ?)",
                self._most_uses,
            )

    def _put(self, kind: str, name: str, key: str, project: str, value: Any) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO memory (kind, id, key, project, value) VALUES (?, ?, ?, ?, ?)",
            (kind, name, key, project, json.dumps(value)),
        )

    def _evict(self, kind: str) -> None:
        while self._count(kind) > self._capacity:
            self._connection.execute(
                "DELETE FROM memory WHERE number = (SELECT min(number) FROM memory WHERE kind = ? "
                "AND key = (SELECT key FROM memory WHERE kind = ? GROUP BY key "
                "ORDER BY count(*) DESC, min(number) LIMIT 1))",
                (kind, kind),
            )

    def _count(self, kind: str) -> int:
        row = self._connection.execute("SELECT count(*) FROM memory WHERE kind = ?", (kind,))
        return int(row.fetchone()[0])

    def uses(self) -> dict[str, tuple[int, int]]:
        """By entry: how often it was shown for a step, and how often the step was faster."""
        found: dict[str, tuple[int, int]] = {}
        for use in self._values("use", Use, self.number()):
            used, helped = found.get(use.entry, (0, 0))
            found[use.entry] = (used + 1, helped + use.helped)
        return found

    def named(self, name: str) -> Experience | Schedule:
        """The entry or schedule of an id, or of the beginning of one.

        Raises:
            BankError: there is none, or several, or it cannot be read.
        """
        full = self.full_id(name)
        kind, value = self._connection.execute(
            "SELECT kind, value FROM memory WHERE kind != 'use' AND id = ?", (full,)
        ).fetchone()
        return (
            _read(Experience, full, value) if kind == "experience" else _read(Schedule, full, value)
        )

    def full_id(self, name: str) -> str:
        """The id that begins with ``name``, whether or not its entry can be read.

        Raises:
            BankError: there is none, or several.
        """
        rows = self._connection.execute(
            "SELECT id FROM memory WHERE (kind != 'use' AND substr(id, 1, ?) = ?) OR id = ?",
            (len(name), name, name),
        ).fetchall()
        if len(rows) != 1 or not name:
            found = f"{name} is the beginning of {len(rows)} entries; add digits"
            missing = f"there is no entry {name}; `tilewright memory list` lists them"
            raise BankError(found if rows and name else missing)
        return str(rows[0][0])

    def forget(
        self, ids: Iterable[str] = (), project: str | None = None, *, everything: bool = False
    ) -> int:
        """Remove entries by id, or all of a project with their uses; how many went.

        Entries that cannot be read are removed like others.

        Raises:
            BankError: they were removed, and their bytes could not be overwritten.
        """
        names = list(ids)
        with transaction(self._connection):
            before = self._count("experience") + self._count("schedule")
            for name in names:
                self._delete("id = ?", name)
            if everything:
                self._delete("1")
            if project is not None:
                self._delete("project = ?", project)
            self._delete("kind = 'use' AND key NOT IN (SELECT id FROM memory WHERE kind != 'use')")
            gone = before - self._count("experience") - self._count("schedule")
        if why := overwrite(self._connection):
            raise BankError(f"the entries are removed, but {why}")
        return gone

    def _delete(self, where: str, *values: str | int) -> None:
        self._connection.execute(f"DELETE FROM memory WHERE {where}", values)


def _read(of: type[T], name: str, value: str) -> T:
    try:
        return load(of, json.loads(value))
    except (ValueError, ValidationError) as error:
        raise BankError(
            f"{name} in the memory cannot be read by this version ({error}); "
            f"`tilewright memory forget {name}` removes it"
        ) from None
