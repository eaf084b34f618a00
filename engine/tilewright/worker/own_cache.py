"""Triton's cache for a candidate: it finds what others have compiled, and keeps its own to itself.

A candidate that could write where the next one reads could leave a binary there that is not what
its text says.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

VARIABLE = "TRITON_CACHE_DIR"
LINKED, EMPTY = "triton", "triton-empty"
"""Caches in a job's scratch folder: with what the shared one holds, and without."""

_NEWEST = 500


def use(folder: str) -> str | None:
    """Have Triton write to ``folder``; the shared cache, which may only be read from now on.

    Its files are linked into the folder: what launches a kernel is compiled once for all kernels of
    a signature. Several processes of a candidate may do so at the same time. A folder that is named
    ``EMPTY`` stays empty, and there is no shared cache to read: None.
    """
    shared = os.environ.get(VARIABLE)
    own = Path(folder).absolute()
    own.mkdir(parents=True, exist_ok=True)
    os.environ[VARIABLE] = str(own)
    if not shared or own.name == EMPTY:
        return None
    for entry in _newest(Path(shared)):
        place = own / entry.name
        place.mkdir(exist_ok=True)
        with contextlib.suppress(OSError), os.scandir(entry) as files:
            for file in files:
                with contextlib.suppress(FileExistsError):
                    (place / file.name).symlink_to(file.path)
    return shared


def _newest(folder: Path) -> list[Path]:
    """Entries that were written last; more would take longer to link than to make again."""
    written = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_dir():
                    written.append((entry.stat().st_mtime, entry.path))
    return [Path(path) for _, path in sorted(written, reverse=True)[:_NEWEST]]
