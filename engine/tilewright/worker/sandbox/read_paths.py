"""What a job may read: the interpreter and its packages, the system, drivers, and its own files.

Of its own files: those it names, and with each Python file what that file could import from its
place. A user's home, other projects, other users' files and /tmp are not among them.
``TILEWRIGHT_ALLOW_READ`` names more folders, as PATH does.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

MORE = "TILEWRIGHT_ALLOW_READ"
_SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/opt", "/proc", "/sys",
    "/nix/store", "/gnu/store", "/run/opengl-driver", "/run/nvidia", "/run/udev/data", "/snap",
)  # fmt: skip
# Of /etc, which also has keys and passwords, what libraries and compilers look up.
_SETTINGS = (
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "passwd", "group", "hosts",
    "host.conf", "hostname", "nsswitch.conf", "resolv.conf", "localtime", "timezone", "locale.conf",
    "locale.alias", "os-release", "lsb-release", "debian_version", "redhat-release", "machine-id",
    "alternatives", "OpenCL", "vulkan", "nvidia", "nvidia-container-runtime", "ssl/certs",
    "ssl/openssl.cnf", "pki/tls/certs", "mime.types", "magic", "libnl", "libnl-3", "amd",
    "level-zero", "python3", "debuginfod", "inputrc", "glvnd",
)  # fmt: skip
_FOLDER_LISTS = ("LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "PYTHONPATH")
_MOST_NEIGHBOURS = 4000
_LONGEST_PATH = 4096


def readable_paths(job: Mapping[str, Any]) -> list[str]:
    """All that the process of a job may read, in addition to what it may write."""
    own: dict[str, None] = {}
    for folder in job.get("reads") or ():
        own[str(folder)] = None
    for path in named_files(job):
        own[path] = None
        if path.endswith(".py"):
            own.update(dict.fromkeys(importable_from(Path(path))))
        elif os.access(path, os.X_OK):
            own[str(_program(path))] = None
    more = [part for part in os.environ.get(MORE, "").split(os.pathsep) if part]
    return [*everyones(), *_from_environment(), *more, *own]


def named_files(value: Any) -> Iterator[str]:
    """Absolute paths of files anywhere in a job."""
    if isinstance(value, str):
        if value.startswith("/") and len(value) < _LONGEST_PATH and os.path.isfile(value):  # noqa: PTH113
            yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from named_files(name)
            yield from named_files(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from named_files(inner)


def importable_from(file: Path) -> list[str]:
    """What a file may import from where it lies: its outermost package, and what lies next to that.

    Hidden files and folders are left out; next to a file in a home or in the temporary folder only
    modules and packages count. Links are followed one step: a placed candidate's neighbours are
    links.
    """
    file = file.absolute()
    root = file.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    found = [str(file)]
    for place in _folders_between(root, file):
        found += _neighbours(place, strict=place == root and _is_everyones(root))
    return found


def _folders_between(root: Path, file: Path) -> list[Path]:
    """``root`` and the folders from there to the file."""
    return [root, *(p for p in reversed(file.parents) if root in p.parents)]


def _neighbours(folder: Path, *, strict: bool) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))[:_MOST_NEIGHBOURS]
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if not strict or entry.name.endswith(".py") or _is_package(entry):
            yield os.path.realpath(entry.path) if entry.is_symlink() else entry.path


def _is_package(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir() and Path(entry.path, "__init__.py").is_file()


def _is_everyones(folder: Path) -> bool:
    """Whether a folder holds what has nothing to do with each other."""
    shared = {
        Path(tempfile.gettempdir()).resolve(),
        *map(Path, ("/", "/tmp", "/var/tmp", "/dev/shm")),
    }
    homes = {Path(os.environ.get("HOME") or "/").resolve(), *_homes()}
    folder = folder.resolve()
    return any(folder == place or folder in place.parents for place in shared | homes)


@cache
def _homes() -> frozenset[Path]:
    try:
        return frozenset({Path("~").expanduser().resolve()})
    except RuntimeError:
        return frozenset()


def listable_paths(job: Mapping[str, Any]) -> list[str]:
    """Folders whose names alone may be seen: importing lists them."""
    found = []
    for path in named_files(job):
        if path.endswith(".py"):
            root = Path(path).absolute().parent
            found.append(str(root))
            while (root / "__init__.py").is_file():
                root = root.parent
                found.append(str(root))
    return [*found, "/dev"]


@cache
def everyones() -> tuple[str, ...]:
    """What every job needs; the same for the life of a worker."""
    found = [*_SYSTEM, *(f"/etc/{name}" for name in _SETTINGS)]
    found += [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    found += [str(Path(sys.executable).resolve().parent.parent)]
    found += [path for path in sys.path if path]
    found += _editable()
    found += [str(Path(tool)) for tool in _compilers()]
    existing = dict.fromkeys(_existing(found))
    return tuple(path for path in existing if not _is_everyones(Path(path)))


def _editable() -> Iterator[str]:
    """Folders of packages that are installed by a finder, as setuptools does it."""
    for finder in sys.meta_path:
        module = sys.modules.get(getattr(finder, "__module__", ""))
        mapping = getattr(module, "MAPPING", None)
        if isinstance(mapping, dict):
            yield from (path for path in mapping.values() if isinstance(path, str))


def _compilers() -> Iterator[Path]:
    """Trees of the C compilers that Triton builds its launchers with."""
    for name in (os.environ.get("CC"), "gcc", "clang", "cc"):
        found = shutil.which(name) if name else None
        if found:
            yield _program(found)


def _program(path: str) -> Path:
    """A program's tree: what lies next to its folder ``bin``, or in its own folder."""
    real = Path(path).resolve()
    return real.parent.parent if real.parent.name == "bin" else real.parent


def _from_environment() -> list[str]:
    """Variables that give drivers and compilers their paths."""
    found = []
    for name, value in os.environ.items():
        if name in _FOLDER_LISTS:
            found += value.split(os.pathsep)
        elif name.startswith(("CUDA_", "ROCM_", "HIP_", "TRITON_")) and value.startswith("/"):
            found.append(value)
    return [path for path in _existing(found) if not _is_everyones(Path(path))]


def _existing(paths: Iterable[str]) -> Iterator[str]:
    return (path for path in paths if path and Path(path).exists())
