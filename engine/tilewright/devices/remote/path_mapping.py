"""Between the engine's paths and another host's: what leaves is rewritten, and so is what comes.

There each path of this side lies below the keeper's folder ``at``. Only this module knows:
requests name local files, answers name them again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.devices.remote.uplink import Link
from tilewright.devices.remote.uploads import Parcel, parcel_of
from tilewright.scratch import in_scratch
from tilewright.worker.messages.envelope import Answer, Job
from tilewright.worker.messages.parts import SentFile
from tilewright.worker.protocol import ERROR
from tilewright.worker.remote.file_sync import AT

# What names a file or a folder in every job; other strings do where they name one of the engine's.
_NAMES_A_PATH = {
    "module", "original", "candidate", "path", "file", "out", "gpu_lock", "reads", "cache",
    "caches",
}  # fmt: skip
_MADE_THERE = "file"
_WRITTEN_TO = "out"


class GoneError(Exception):
    """A job names what an earlier connection kept on the host and this one does not have."""


@dataclass
class Outgoing:
    """A job as it is on the other side.

    Attributes:
        files: files of this side that it names.
        made_there: it names what an earlier job wrote there.
    """

    job: Job[Any]
    files: set[str]
    made_there: bool = False


class PathMapping:
    """The names of files on the other side: each path lies below ``root`` there."""

    def __init__(self, root: str) -> None:
        self.left_out: dict[Path, str] = {}
        self._root = root
        self._written: set[str] = set()

    def outgoing(self, job: Job[Any]) -> Outgoing:
        """The job as it is there, and the files that it names.

        Raises GoneError: it names what is no longer there.
        """
        found = Outgoing({}, set())
        found.job = self._rewritten(job, "", found)
        return found

    def incoming(self, answer: Answer) -> Answer:
        """An answer with paths as they are here, in texts too."""
        made: Answer = self._local(answer)
        return made

    def names_left_out(self, answer: Answer, host: str) -> Answer:
        """The answer; where it misses a file, its message also names those that were not sent."""
        left_out = self.left_out
        if answer.get("status") == ERROR and left_out and _misses_a_file(answer["message"]):
            named = ", ".join(f"{path} ({why})" for path, why in list(left_out.items())[:3])
            more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
            answer["message"] += f"; not sent to {host}: {named}{more}"
        return answer

    def _rewritten(self, value: Any, key: str, found: Outgoing) -> Any:
        if isinstance(value, Mapping):
            return {
                self._path(str(name), "", found): self._rewritten(part, str(name), found)
                for name, part in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._rewritten(part, key, found) for part in value]
        return self._path(value, key, found) if isinstance(value, str) else value

    def _path(self, text: str, key: str, found: Outgoing) -> str:
        if not text.startswith("/") or not (key in _NAMES_A_PATH or _is_own(text)):
            return text
        if key == _WRITTEN_TO:
            self._written.add(text)
        elif Path(text).is_file():
            found.files.add(text)
        elif key == _MADE_THERE:
            if not self._was_written(text):
                raise GoneError(text)
            found.made_there = True
        return self._root + text

    def _was_written(self, path: str) -> bool:
        return any(path.startswith(f"{folder}/") for folder in self._written)

    def _local(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._local(name): self._local(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._local(part) for part in value]
        return value.replace(self._root, "") if isinstance(value, str) else value


class Edge(PathMapping):
    """One connection's view of which files are there.

    Args:
        link: takes the files that are not there yet.
        place: the keeper's folder.
    """

    def __init__(self, link: Link, place: str) -> None:
        super().__init__(f"{place}/{AT}")
        self._link = link
        self._lock = threading.Lock()
        self._sent: dict[Path, tuple[int, int] | Path] = {}

    def sent(self, job: Job[Any]) -> Job[Any]:
        """The job as it is there, after its files.

        Raises:
            GoneError: it names what is no longer there.
            OSError: the connection is cut.
        """
        found = self.outgoing(job)
        with self._lock:
            self._send(found.files)
        return found.job

    def _send(self, paths: Iterable[str]) -> None:
        entries: list[SentFile] = []
        contents: list[bytes] = []
        for path in sorted(paths):
            parcel = parcel_of(Path(path))
            self.left_out |= parcel.left_out
            self._pack(parcel, entries, contents)
        if entries:
            self._link.put(entries, b"".join(contents))

    def _pack(self, parcel: Parcel, entries: list[SentFile], contents: list[bytes]) -> None:
        for file in parcel.files:
            found = file.stat()
            stamp = (found.st_mtime_ns, found.st_size)
            if self._sent.get(file) != stamp:
                data = file.read_bytes()
                self._sent[file] = stamp
                contents.append(data)
                entries.append({"path": str(file), "size": len(data), "mtime_ns": stamp[0]})
        for place, target in parcel.links.items():
            if self._sent.get(place) != target:
                self._sent[place] = target
                entries.append({"path": str(place), "link": str(target)})


def _misses_a_file(message: str) -> bool:
    return any(words in message for words in ("No such file", "No module named", "ImportError"))


def _is_own(text: str) -> bool:
    """Whether a string can only be a path of the engine's: a module, or a part of its scratch."""
    return in_scratch(text) or (text.endswith(".py") and Path(text).is_file())
