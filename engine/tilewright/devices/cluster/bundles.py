"""Files of jobs as objects of the cluster: each is put there once, whichever actors need it.

A job carries the references of all that it needs. So Ray can do it again on an actor that has
just been restarted and has nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tilewright.devices.remote.uploads import Parcel, parcel_of
from tilewright.worker.messages.parts import SentFile
from tilewright.worker.remote.file_sync import Mirror

ROOT = "/tilewright-node"
"""What stands in a request for the folder of the actor that does it."""


class Bundles:
    """Bundles of files, numbered in order; ``put`` makes an object of bytes."""

    def __init__(self, put: Callable[[bytes], Any]) -> None:
        self._put = put
        self._lock = threading.Lock()
        self._references: list[Any] = []
        self._holds: dict[Path, tuple[object, int]] = {}

    def with_files(self, paths: Iterable[str]) -> tuple[list[tuple[int, Any]], dict[Path, str]]:
        """Numbers and references of bundles with these files; what could not go along, and why."""
        parcels = [parcel_of(Path(path)) for path in sorted(paths)]
        left_out = {path: why for parcel in parcels for path, why in parcel.left_out.items()}
        with self._lock:
            numbers = {number for parcel in parcels for number in self._placed(parcel)}
            return [(number, self._references[number]) for number in sorted(numbers)], left_out

    def _placed(self, parcel: Parcel) -> set[int]:
        entries: list[SentFile] = []
        contents: list[bytes] = []
        next_one = len(self._references)
        holds: dict[Path, tuple[object, int]] = {}
        for file in parcel.files:
            found = file.stat()
            stamp = (found.st_mtime_ns, found.st_size)
            if self._holds.get(file, (None, 0))[0] != stamp:
                contents.append(file.read_bytes())
                size = len(contents[-1])
                entries.append({"path": str(file), "size": size, "mtime_ns": stamp[0]})
                holds[file] = (stamp, next_one)
        for place, target in parcel.links.items():
            if self._holds.get(place, (None, 0))[0] != target:
                entries.append({"path": str(place), "link": str(target)})
                holds[place] = (target, next_one)
        if entries:
            body = json.dumps(entries).encode() + b"\n" + b"".join(contents)
            self._references.append(self._put(body))
            self._holds |= holds  # only now: what could not be put is in no bundle
        return {self._holds[path][1] for path in (*parcel.files, *parcel.links)}


class BundledFiles:
    """The engine's files below an actor's folder, as far as jobs needed them.

    ``fetch`` reads objects by their references.
    """

    def __init__(self, folder: Path, fetch: Callable[[list[Any]], list[bytes]]) -> None:
        self._fetch = fetch
        self._mirror = Mirror(str(folder))
        self._lock = threading.Lock()
        self._there: set[int] = set()
        self._newest: dict[str, int] = {}

    def bring(self, bundles: Sequence[tuple[int, Any]]) -> None:
        """Write what is not there yet; of two versions of a file the later bundle's stays."""
        with self._lock:
            wanted = sorted((b for b in bundles if b[0] not in self._there), key=lambda b: b[0])
            for (number, _), body in zip(wanted, self._fetch([b[1] for b in wanted]), strict=True):
                self._mirror.put(self._current(number, body))
                self._there.add(number)

    def _current(self, number: int, body: bytes) -> bytes:
        """The bundle without files of which a later bundle brought another version."""
        line, _, contents = body.partition(b"\n")
        entries, parts, start = [], [], 0
        for entry in json.loads(line):
            size = entry.get("size", 0)
            if self._newest.get(entry["path"], -1) < number:
                self._newest[entry["path"]] = number
                entries.append(entry)
                parts.append(contents[start : start + size])
            start += size
        return json.dumps(entries).encode() + b"\n" + b"".join(parts)
