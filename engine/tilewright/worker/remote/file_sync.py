"""Files of the engine's side on another host, under the paths that they have there, below ``at``.

A message is one line of JSON and then the contents, in order: ``[{"path", "size", "mtime_ns"} or
{"path", "link"}]``. Paths, of links too, are absolute, as on the engine's side.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

AT = "at"


class Mirror:
    """Keeps files below ``at`` in a keeper's folder."""

    def __init__(self, place: str) -> None:
        self._root = Path(place, AT)
        self._root.mkdir(mode=0o700)

    def put(self, body: bytes) -> None:
        """Write what a message brings; raises OSError where the disk does not take it."""
        line, _, contents = body.partition(b"\n")
        start = 0
        for entry in json.loads(line):
            size = entry.get("size", 0)
            self._place(entry, contents[start : start + size])
            start += size

    def _place(self, entry: dict[str, Any], contents: bytes) -> None:
        path = self._inside(entry["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        if "link" in entry:
            path.symlink_to(self._inside(entry["link"]))
            return
        path.write_bytes(contents)
        # What is kept by a file's stamp on the engine's side has the same one here.
        os.utime(path, ns=(entry["mtime_ns"], entry["mtime_ns"]))

    def _inside(self, path: str) -> Path:
        inside = Path(os.path.normpath(f"{self._root}/{path}"))
        if self._root not in inside.parents:
            raise PermissionError(1, "a path that leads out of its folder", path)
        return inside
