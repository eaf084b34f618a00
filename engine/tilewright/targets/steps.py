"""Shared parts of installations: reported steps, and an atomic target folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tilewright.errors import TilewrightError

_TELLING = re.compile(
    r"^\s*(Collecting|Downloading|Installing|Using cached|Saved|Get:|Fetched|Err:|E:|W:"
    r"|ERROR|WARNING)"
)
_LAST_WORDS = 1500
_ABANDONED_SECONDS = 3600

Say = Callable[[str], None]


class InstallError(TilewrightError):
    """A compiler could not be installed; nothing is left in its place of the attempt."""


def run_step(command: Sequence[str], say: Say, environment: Mapping[str, str] | None = None) -> str:
    """Run a step, handing on the lines that tell of progress; returns all that it printed.

    Raises InstallError with the step's last words if it fails.
    """
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", env={**os.environ, **(environment or {})},
        )  # fmt: skip
    except OSError as error:
        raise InstallError(f"cannot run {command[0]}: {error.strerror}") from None
    lines: list[str] = []
    with process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            if _TELLING.match(line):
                say(line.strip())
    if process.returncode != 0:
        last = "\n".join(line for line in lines if line)[-_LAST_WORDS:]
        raise InstallError(f"`{' '.join(command)}` ended with {process.returncode}:\n{last}")
    return "\n".join(lines)


@contextmanager
def build_folder(place: Path) -> Iterator[Path]:
    """A folder to build in, on the disk of ``place``; removed if it was not moved there.

    What an installation left that was killed is removed when it is old enough not to be at work.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    for left in place.parent.glob(f".{place.name}-*"):
        if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put_in_place(folder: Path, place: Path, whole: Callable[[Path], bool]) -> None:
    """Move what was built to its place; something there that is not whole makes room for it."""
    if place.exists() or place.is_symlink():
        broken = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
        os.replace(place, broken / "old")  # noqa: PTH105 - a link is moved, not followed
        shutil.rmtree(broken, ignore_errors=True)
    try:
        folder.replace(place)
    except OSError:
        if not whole(place):  # else another installation was quicker
            raise


def require_space(folder: Path, needed_mb: int) -> None:
    """Raise InstallError if the disk of ``folder`` has less than ``needed_mb`` free."""
    free = shutil.disk_usage(folder).free // 1_000_000
    if free < needed_mb:
        raise InstallError(
            f"{folder} has {free} MB free, {needed_mb} MB are needed; free space, or name another "
            "place with TILEWRIGHT_HOME"
        )


def size_mb(folder: Path) -> int:
    """What the files of a folder take on disk, in 10^6 bytes."""
    files = (path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
    return sum(files) // 1_000_000
