"""Triton's cache for a candidate: it finds what others have compiled, and keeps its own to itself.

A candidate that could write where the next one reads could leave a binary there that is not what
its text says.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

VARIABLE = "TRITON_CACHE_DIR"
LINKED, LAUNCHERS, EMPTY = "triton", "triton-launchers", "triton-empty"
"""Caches in a job's scratch folder: with what others hold, with what launches kernels alone (for a
kernel that was not compiled yet), with nothing."""

_NEWEST = 500


def use(folder: str, others: Sequence[str] = ()) -> list[str]:
    """Have Triton write to ``folder``; the caches that may be read, and only read, from now on.

    These are the shared one and ``others``. Their files are linked into the folder: what launches a
    kernel is compiled once for all kernels of a signature. Several processes of a candidate may do
    so at the same time. A folder named ``LAUNCHERS`` gets libraries alone; one named ``EMPTY``
    stays empty, and nothing else is read.
    """
    shared = os.environ.get(VARIABLE)
    own = Path(folder).absolute()
    own.mkdir(parents=True, exist_ok=True)
    os.environ[VARIABLE] = str(own)
    if own.name == EMPTY:
        return []
    linked = [cache for cache in (shared, *others) if cache and Path(cache).is_dir()]
    for cache in linked:
        for entry in _newest(Path(cache)):
            with contextlib.suppress(OSError):
                _link(entry, own / entry.name, libraries=own.name == LAUNCHERS)
    return linked


def _link(entry: Path, place: Path, *, libraries: bool) -> None:
    """Link an entry's files; with ``libraries`` only if there is one among them."""
    files = [Path(file) for file in os.scandir(entry)]
    if libraries and not any(file.suffix == ".so" for file in files):
        return
    place.mkdir(exist_ok=True)
    for file in files:
        with contextlib.suppress(FileExistsError):
            (place / file.name).symlink_to(file)


def _newest(folder: Path) -> list[Path]:
    """Entries that were written last; more would take longer to link than to make again."""
    written = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_dir():
                    written.append((entry.stat().st_mtime, entry.path))
    return [Path(path) for _, path in sorted(written, reverse=True)[:_NEWEST]]
