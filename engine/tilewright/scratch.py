"""Folders for what a process needs for a while, and the sweeping of those whose process is gone."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "tilewright-"


def parent_folder() -> Path:
    """Memory where the system has such a place, else the usual temporary folder."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder of this process, gone afterwards; a killed process's is swept by the next one."""
    sweep()
    path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent_folder()))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def in_scratch(path: str) -> bool:
    """Whether a path can only lie in such a folder."""
    return path.startswith(f"{parent_folder()}/{_PREFIX}")


def sweep() -> None:
    """Remove this user's scratch folders whose process has ended."""
    for path in parent_folder().glob(f"{_PREFIX}*-*"):
        number = path.name.removeprefix(_PREFIX).partition("-")[0]
        if number.isdigit() and _owned(path) and not Path(f"/proc/{number}").exists():
            shutil.rmtree(path, ignore_errors=True)


def _owned(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.getuid()
    except OSError:
        return False
