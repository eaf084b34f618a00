"""Which files a job needs on another host: the named ones, with what they may import or read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FILE_BYTES = 4 << 20
PARCEL_BYTES = 64 << 20
MOST_FILES = 5000
_SKIPPED = frozenset({"__pycache__", "node_modules", "venv", "site-packages", "build", "dist"})


@dataclass
class Parcel:
    """What goes along with one file.

    Attributes:
        files: real files, the named one first.
        links: links to files or folders, and where they lead, by the link's path.
        left_out: files that did not go along, with the reason.
    """

    files: list[Path] = field(default_factory=list)
    links: dict[Path, Path] = field(default_factory=dict)
    left_out: dict[Path, str] = field(default_factory=dict)


def parcel_of(path: Path) -> Parcel:
    """A Python file with the modules and packages next to it, or the whole package it is in.

    Links are followed, so that what they lead to is there under its own path; any other file goes
    alone. Hidden files, caches and environments stay.
    """
    return _Packing(path).parcel


class _Packing:
    def __init__(self, path: Path) -> None:
        self.parcel = Parcel()
        self._bytes = 0
        self._seen: set[Path] = set()
        self._add(path)
        for neighbour in _neighbours(path) if path.suffix == ".py" else ():
            self._add(neighbour)

    def _add(self, path: Path) -> None:
        if path in self._seen:
            return
        self._seen.add(path)
        if path.is_symlink():
            target = path.resolve()
            if target.exists():
                self.parcel.links[path] = target
                self._add(target)
        elif path.is_dir():
            for below in _members(path):
                self._add(below)
        elif path.is_file():
            self._add_file(path)

    def _add_file(self, path: Path) -> None:
        size = path.stat().st_size
        if size > FILE_BYTES:
            self.parcel.left_out[path] = f"{size >> 20} MiB, over {FILE_BYTES >> 20} MiB"
        elif len(self.parcel.files) >= MOST_FILES or self._bytes + size > PARCEL_BYTES:
            self.parcel.left_out[path] = (
                f"beyond the first {MOST_FILES} files or {PARCEL_BYTES >> 20} MiB"
            )
        else:
            self._bytes += size
            self.parcel.files.append(path)


def _neighbours(path: Path) -> Iterator[Path]:
    """Modules and packages in the file's folder; of a member of a package, its whole package."""
    top = path.parent
    if not (top / "__init__.py").is_file():
        yield from (one for one in _members(top) if _importable(one))
        return
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    yield top


def _importable(path: Path) -> bool:
    return path.suffix == ".py" or (path / "__init__.py").is_file()


def _members(folder: Path) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - only names are needed
    except OSError:
        return
    for name in names:
        if not name.startswith(".") and name not in _SKIPPED and not name.endswith(".pyc"):
            yield folder / name
