"""Making the environment that Triton for Intel lives in."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tilewright.home import home
from tilewright.targets.ocloc.lock import checksum
from tilewright.targets.steps import (
    InstallError,
    Say,
    build_folder,
    put_in_place,
    require_space,
    run_step,
    size_mb,
)
from tilewright.targets.toolchains import Interpreter, interpreter, xpu_folder

PINS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "triton-xpu==3.3.0b1": (
            "06ced7a5cfddb8123f48cc1da2337dde6e965cbe6f787a6342da41b2eb8111c1",
        ),
        "setuptools==80.9.0": ("062d34222ad13e0cc312a4c02d73f059e86a4acbfbdea8f8f76b28c99f306922",),
    }
)
"""Packages and the checksums that their wheels must have; the first is of CPython 3.11's."""
PYTHON = (3, 11)
NEEDED_MB = 900
_OPTIONS = ("--disable-pip-version-check", "--progress-bar", "off", "--no-input")
_PINNED = ("--no-deps", "--only-binary", ":all:", "--require-hashes", "-r")


def downloads() -> Path:
    """Where the packages stay, so that they can be installed again without a network."""
    return home() / "downloads" / "xpu"


def planned_xpu() -> tuple[str, ...]:
    """What ``install_xpu`` would do now, a sentence a line; raises InstallError if it cannot."""
    place = xpu_folder()
    found = _working(place)
    if found is not None:
        return (f"{found.distribution} {found.version} is there: {found.python}",)
    source = f"the packages in {downloads()}" if _all_kept() else "pip's index, checksums pinned"
    return (
        f"make an environment with {_base_python()} in {place} ({NEEDED_MB} MB with downloads)",
        f"install {' and '.join(PINS)} into it from {source}",
    )


def install_xpu(say: Say) -> Interpreter:
    """Install Triton for Intel below Tilewright's home, or find that it is there.

    It is built next to its place and moved there when it works, so that no half of it is ever
    found. ``say`` gets a line for each step.

    Raises:
        InstallError: no Python that the package is built for, no network, a full disk.
    """
    place = xpu_folder()
    found = _working(place)
    if found is not None:
        say(f"already there: {found.distribution} {found.version} in {place} ({size_mb(place)} MB)")
        return found
    python = _base_python()
    place.parent.mkdir(parents=True, exist_ok=True)
    require_space(place.parent, NEEDED_MB)
    with build_folder(place) as folder:
        _build(python, folder, say)
        put_in_place(folder, place, lambda path: _working(path) is not None)
        interpreter.cache_clear()
    found = _working(place)
    if found is None:
        raise InstallError(
            f"{place} was made, but its Triton does not answer; remove it, try again"
        )
    say(f"installed {found.distribution} {found.version} in {place} ({size_mb(place)} MB)")
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
            f"{next(iter(PINS))} is built for CPython {PYTHON[0]}.{PYTHON[1]} alone; this is "
            f"Python {sys.version_info.major}.{sys.version_info.minor} and there is no {name} on "
            "PATH: install one, then run the command again"
        )
    return other


def _build(python: str, folder: Path, say: Say) -> None:
    say(f"making an environment with {python}; it will take about {NEEDED_MB} MB with downloads")
    run_step([python, "-m", "venv", str(folder)], say)
    inside, kept = str(folder / "bin" / "python"), downloads()
    pins = folder / "pins.txt"
    pins.write_text("".join(_requirement(*pin) for pin in PINS.items()), encoding="utf-8")
    pip = [inside, "-m", "pip"]
    if _all_kept():
        say(f"from the packages kept in {kept}, checksums verified; no network is used")
    else:
        kept.mkdir(parents=True, exist_ok=True)
        run_step([*pip, "download", *_OPTIONS, "-d", str(kept), *_PINNED, str(pins)], say)
    local = ["--no-index", "--find-links", str(kept)]
    run_step([*pip, "install", *_OPTIONS, *local, *_PINNED, str(pins)], say)
    say("looking whether it compiles for Intel")
    run_step([inside, "-c", "from triton.backends import backends; backends['intel']"], say)


def _requirement(name: str, checksums: tuple[str, ...]) -> str:
    return f"{name} {' '.join(f'--hash=sha256:{checksum}' for checksum in checksums)}\n"


def _all_kept() -> bool:
    """Whether an earlier installation left every package, with the checksum it should have."""
    folder = downloads()
    if not folder.is_dir():
        return False
    wheels = (path for path in folder.iterdir() if path.suffix == ".whl")
    found = {checksum(path) for path in wheels}
    return all(found & set(checksums) for checksums in PINS.values())
