"""Runs on disk, so that a window that was reloaded or a server that ended finds them again.

One file a run in ``$TILEWRIGHT_HOME/editor``: what was asked, the text as it was sent, and, once
the engine is done, the result that a person has not decided about yet. A lock says whose run it is:
it goes with the process that holds it. What was judged is in the engine's own store, which takes an
interrupted run up where it was.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from pydantic import TypeAdapter, ValidationError

from tilewright.home import home
from tilewright.store import locks

_FOLDER = "editor"
_OLDEST_S = 30 * 86400.0


@dataclass(frozen=True)
class KeptRun:
    """A run as it is kept.

    Attributes:
        text: of the document as it was sent.
        models: whether language models were asked, which costs.
        result: the engine's; None while it works.
        around: what its verdict depends on outside the file, as ``surroundings`` has it; None in
            files that were kept without it.
        seen: when a server last worked on it, in seconds since 1970.
    """

    run: str
    uri: str
    path: str
    target: str
    kernel: str | None
    text: str
    models: bool
    record: str | None = None
    result: Mapping[str, Any] | None = None
    around: Mapping[str, str] | None = None
    seen: float = 0.0


_KEPT = TypeAdapter(KeptRun)


class RunJournal:
    """The files of runs; the methods read and write, so they are called off the event loop."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._held: dict[str, IO[str]] = {}

    @property
    def folder(self) -> Path:
        return self._folder or home() / _FOLDER

    def keep(self, run: KeptRun) -> None:
        """Write a run and hold its lock; another server's run is not taken from it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if run.run not in self._held:
            lock = locks.take(self._place(run.run), run.run)
            if lock is None:
                return
            self._held[run.run] = lock
        data = json.dumps({**asdict(run), "seen": time.time()})
        draft = self._place(run.run).with_suffix(".draft")
        draft.write_text(data, encoding="utf-8")
        draft.replace(self._place(run.run))

    def touch(self, run: str) -> None:
        """A server works on it at this moment."""
        if run in self._held and self._place(run).exists():
            self._place(run).touch()

    def drop(self, run: str) -> None:
        """It was decided about: remove it."""
        self._place(run).unlink(missing_ok=True)
        lock = self._held.pop(run, None)
        if lock is not None:
            locks.remove(self._place(run), run)
            lock.close()

    def release(self) -> None:
        """Let other servers take the runs of this one."""
        for lock in self._held.values():
            lock.close()
        self._held.clear()

    def adopt_runs(self, path: str) -> tuple[KeptRun, ...]:
        """The runs of a file that no server works on, now held by this one, the oldest first."""
        if not self.folder.is_dir():
            return ()
        runs = []
        for place in sorted(self.folder.glob("*.json"), key=lambda one: one.name):
            if place.stem in self._held:
                continue
            if _is_outdated(place):
                place.unlink(missing_ok=True)
            elif _is_of(path, _read(place)) and (lock := locks.take(place, place.stem)) is not None:
                one = _read(place)  # another server may have decided about it before the lock
                if one is None:
                    lock.close()
                    continue
                self._held[one.run] = lock
                runs.append(one)
        return tuple(sorted(runs, key=lambda one: one.seen))

    def _place(self, run: str) -> Path:
        return self.folder / f"{run}.json"


def _is_outdated(place: Path) -> bool:
    """Whether no server had to do with it for long; what cannot be read now may be of a newer
    server, or be readable later."""
    try:
        return time.time() - place.stat().st_mtime > _OLDEST_S
    except OSError:
        return False


def _is_of(path: str, run: KeptRun | None) -> bool:
    return run is not None and run.path == path


def _read(place: Path) -> KeptRun | None:
    """A run with the time of its last sign of life; None for a file that is not one."""
    try:
        data = json.loads(place.read_text(encoding="utf-8"))
        run = _KEPT.validate_python({**data, "seen": place.stat().st_mtime})
        return run if run.run == place.stem else None
    except (OSError, ValueError, TypeError, ValidationError):
        return None
