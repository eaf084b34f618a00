"""A file system of its own for a job, where the kernel has no Landlock: what is not in it is not.

An empty root in memory, into which what a job may read is bound read-only and what it may write as
it is. Calls and flags are those of mount(2), mount_setattr(2) and pivot_root(2).
"""

from __future__ import annotations

import ctypes
import os
import platform
import stat
from collections.abc import Iterable
from pathlib import Path

_CLONE_NEWNS = 0x00020000
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC = 1, 2, 4, 8, 32, 4096, 16384
_PRIVATE, _DETACH = 1 << 18, 2
_KEPT_FLAGS = _NOSUID | _NODEV | _NOEXEC | os.ST_NOATIME | os.ST_RELATIME
_MOUNT_SETATTR, _ATTR_RDONLY, _RECURSIVE, _HERE = 442, 1, 0x8000, -100
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_DEEPEST = 40


class _Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def enter(scratch: str, writable: Iterable[str], readable: Iterable[str]) -> bool:
    """Move this process into a file system of these paths alone; False where that is not permitted.

    It needs the right to mount: root's, or that of a user namespace which it has made.
    Raises OSError where it fails halfway: the process is then of no use.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    number = _PIVOT_ROOT.get(platform.machine())
    if number is None or libc.unshare(_CLONE_NEWNS) != 0:
        return False
    if libc.mount(None, b"/", None, _REC | _PRIVATE, None) != 0:
        return False
    root = Path(scratch, "root")
    root.mkdir()
    _mount(libc, "tmpfs", str(root), "tmpfs", _NOSUID | _NODEV)
    for path, may_write in _outermost(root, readable, writable).items():
        _bind(libc, path, root, writable=may_write)
    _mount(libc, "/proc", str(_mount_point(root, "/proc", 0o755)), None, _BIND | _REC)
    old = root / "old"
    old.mkdir()
    if libc.syscall(number, os.fsencode(root), os.fsencode(old)) != 0:
        raise _failure("pivot_root")
    os.chdir("/")
    if libc.umount2(b"/old", _DETACH) != 0:
        raise _failure("umount")
    Path("/old").rmdir()
    os.chdir(scratch)
    return True


def _outermost(root: Path, readable: Iterable[str], writable: Iterable[str]) -> dict[str, bool]:
    """Real paths and whether they may be written, without those that a folder above brings along.

    Links on the way to a path are made again below ``root``: programs know both names.
    """
    wanted = {_linked(path, root): False for path in readable}
    wanted |= {_linked(path, root): True for path in writable}
    found: dict[str, bool] = {}
    for path in sorted(wanted, key=len):
        above = [found[str(one)] for one in Path(path).parents if str(one) in found]
        brought = any(above) or (bool(above) and not wanted[path])
        if path != "/" and not path.startswith("/proc") and not brought and Path(path).exists():
            found[path] = wanted[path]
    return found


def _linked(path: str, root: Path) -> str:
    """A path without its links, each of which is made again below ``root``."""
    for _ in range(_DEEPEST):
        links = (part for part in [*reversed(Path(path).parents), Path(path)] if part.is_symlink())
        part = next(links, None)
        if part is None:
            break
        link, target = root / str(part).lstrip("/"), part.readlink()
        link.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(link):
            link.symlink_to(target)
        path = os.path.normpath(part.parent / target / Path(path).relative_to(part))
    return path


def _bind(libc: ctypes.CDLL, path: str, root: Path, *, writable: bool) -> None:
    target = _mount_point(root, path, Path(path).stat().st_mode)
    _mount(libc, path, str(target), None, _BIND | _REC)
    if not writable:
        _read_only(libc, target)


def _mount_point(root: Path, path: str, mode: int) -> Path:
    """The place of a path below the new root, a folder or a file."""
    place = root / path.lstrip("/")
    if stat.S_ISDIR(mode) or path == "/proc":
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    return place


def _read_only(libc: ctypes.CDLL, place: Path) -> None:
    attributes = _Attributes(_ATTR_RDONLY, 0, 0, 0)
    done = libc.syscall(
        _MOUNT_SETATTR, _HERE, os.fsencode(place), _RECURSIVE, ctypes.byref(attributes),
        ctypes.sizeof(attributes),
    )  # fmt: skip
    if done != 0:  # before Linux 5.12: this mount alone, with the flags that it has
        flags = os.statvfs(place).f_flag & _KEPT_FLAGS
        _mount(libc, "none", str(place), None, _REMOUNT | _BIND | _RDONLY | flags)


def _mount(libc: ctypes.CDLL, source: str, target: str, kind: str | None, flags: int) -> None:
    name = kind.encode() if kind else None
    if libc.mount(os.fsencode(source), os.fsencode(target), name, flags, None) != 0:
        raise _failure(f"mount of {source}")


def _failure(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
