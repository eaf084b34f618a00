"""Making the environment that Triton for Intel lives in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tilewright.errors import TilewrightError
from tilewright.targets.toolchains import Interpreter, interpreter, xpu_folder

PACKAGES = ("triton-xpu==3.3.0b1", "setuptools")
PYTHON = (3, 11)
NEEDED_MB = 700
_TELLING = re.compile(r"^\s*(Collecting|Downloading|Installing|Using cached|ERROR|WARNING)")

Say = Callable[[str], None]


class InstallError(TilewrightError):
    """The environment could not be made; nothing is left of the attempt."""


def install_xpu(say: Say) -> Interpreter:
    """Install Triton for Intel below Tilewright's home, or find that it is there.

    It is built beside its place and moved there when it works, so that no half of it is ever
    found. ``say`` gets a line for each step.

    Raises:
        InstallError: no Python that the package is built for, no network, a full disk.
    """
    place = xpu_folder()
    found = _working(place)
    if found is not None:
        say(
            f"already there: {found.distribution} {found.version} in {place} ({_size_mb(place)} MB)"
        )
        return found
    python = _base_python()
    place.parent.mkdir(parents=True, exist_ok=True)
    _require_space(place.parent)
    folder = Path(tempfile.mkdtemp(prefix=".xpu-", dir=place.parent))
    try:
        _build(python, folder, say)
        _move(folder, place)
        interpreter.cache_clear()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = _working(place)
    if found is None:
        raise InstallError(
            f"{place} was made, but its Triton does not answer; remove it, try again"
        )
    say(f"installed {found.distribution} {found.version} in {place} ({_size_mb(place)} MB)")
    return found


def _working(place: Path) -> Interpreter | None:
    """The Triton for Intel in an environment, if there is one that answers."""
    try:
        found = interpreter(str(place / "bin" / "python"))
    except OSError:
        return None
    return found if "intel" in found.backends else None


def _base_python() -> str:
    """A CPython that the package has a wheel for."""
    name = f"python{PYTHON[0]}.{PYTHON[1]}"
    own = getattr(sys, "_base_executable", None) or sys.executable
    if sys.version_info[:2] == PYTHON and sys.implementation.name == "cpython":
        return str(own)
    other = shutil.which(name)
    if other is None:
        raise InstallError(
            f"{PACKAGES[0]} is built for CPython {PYTHON[0]}.{PYTHON[1]} alone; this is Python "
            f"{sys.version_info.major}.{sys.version_info.minor} and there is no {name} on PATH: "
            "install one, then run the command again"
        )
    return other


def _require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free // 1_000_000
    if free < NEEDED_MB:
        raise InstallError(
            f"{folder} has {free} MB free, {NEEDED_MB} MB are needed; make room, or name another "
            "place with TILEWRIGHT_HOME"
        )


def _build(python: str, folder: Path, say: Say) -> None:
    say(f"making an environment with {python}; it will take about {NEEDED_MB} MB")
    _run([python, "-m", "venv", str(folder)], say)
    inside = str(folder / "bin" / "python")
    options = ["--disable-pip-version-check", "--progress-bar", "off", "--no-input"]
    _run([inside, "-m", "pip", "install", "--pre", *options, *PACKAGES], say)
    say("looking whether it compiles for Intel")
    _run([inside, "-c", "from triton.backends import backends; backends['intel']"], say)


def _run(command: list[str], say: Say) -> None:
    """Run a step, handing on the lines that tell of progress; its last words in the error."""
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
    except OSError as error:
        raise InstallError(f"cannot run {command[0]}: {error.strerror}") from None
    lines: list[str] = []
    with process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            if _TELLING.match(line):
                say(line.strip())
    if process.returncode != 0:
        last = "\n".join(line for line in lines if line)[-1500:]
        raise InstallError(f"`{' '.join(command)}` ended with {process.returncode}:\n{last}")


def _move(folder: Path, place: Path) -> None:
    """Put the environment in its place; one that does not work makes room for it."""
    if place.exists():
        broken = Path(tempfile.mkdtemp(prefix=".xpu-", dir=place.parent))
        os.replace(place, broken)  # noqa: PTH105 - onto an empty folder, which Path.replace hides
        shutil.rmtree(broken, ignore_errors=True)
    try:
        folder.replace(place)
    except OSError:
        if _working(place) is None:
            raise


def _size_mb(folder: Path) -> int:
    """What the files of a folder take on disk, in 10^6 bytes."""
    files = (path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
    return sum(files) // 1_000_000
