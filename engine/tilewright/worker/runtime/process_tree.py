"""Finding and killing what a job left behind, through /proc."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

from ..sandbox import cgroups

_PR_SET_CHILD_SUBREAPER = 36
_SWEEP_SECONDS = 6.0
_PAUSE_SECONDS = 0.01
_ENDED = (b"Z", b"X")
_TIMES = slice(11, 15)
"""Of what /proc/…/stat says after the name: user and system time, its own and its children's."""
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_KERNEL_LISTS_CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children").exists()


def become_subreaper() -> None:
    """Adopt orphaned descendants, so that a process that daemonizes can still be found.

    Also clears away what workers that were killed have left of control groups.
    """
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    cgroups.remove_left()


def children(process: int) -> set[int]:
    """The processes that ``process`` started, or adopted, and that still run."""
    tasks = Path(f"/proc/{process}/task")
    found: set[int] = set()
    try:
        for task in tasks.iterdir():
            found.update(int(child) for child in (task / "children").read_text().split())
    except OSError:
        return found if _KERNEL_LISTS_CHILDREN else _scanned_children(process)
    return {child for child in found if _runs(child)}


def _scanned_children(process: int) -> set[int]:
    """The same by reading every process there is, for kernels that keep no list."""
    found = set()
    for folder in Path("/proc").iterdir():
        fields = _stat(folder.name) if folder.name.isdigit() else []
        if fields and int(fields[1]) == process and fields[0] not in _ENDED:
            found.add(int(folder.name))
    return found


def _runs(process: int) -> bool:
    fields = _stat(str(process))
    return bool(fields) and fields[0] not in _ENDED


def _stat(process: str) -> list[bytes]:
    """State, parent and what follows, of /proc/…/stat; empty if the process is gone."""
    try:
        return Path("/proc", process, "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def descendants(root: int) -> set[int]:
    """All processes below ``root``, itself not included."""
    found: set[int] = set()
    waiting = [root]
    while waiting:
        new = children(waiting.pop()) - found
        found |= new
        waiting += new
    return found


def cpu_seconds(root: int) -> tuple[float, bool]:
    """(processor time of a process and all below it, whether one of them wants more)."""
    used, is_running = 0, False
    for process in (root, *descendants(root)):
        fields = _stat(str(process))
        if fields:
            used += sum(map(int, fields[_TIMES]))
            is_running = is_running or fields[0] == b"R"
    return used / _TICKS_A_SECOND, is_running


def kill_tree(root: int) -> None:
    """Kill a job's process, its group, and whatever descends from it."""
    below = descendants(root)
    with contextlib.suppress(OSError):
        os.killpg(root, signal.SIGKILL)
    for process in (root, *below):
        _kill(process)
    cgroups.kill(root)


def kill_strays(keep: set[int]) -> bool:
    """Kill what this process adopted, and all below it; True if there was anything."""
    adopted = children(os.getpid()) - keep
    for process in adopted:
        for below in descendants(process):
            _kill(below)
        _kill(process)
        # Of these alone: the code that follows a job reads how its process ended.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process, os.WNOHANG)
    cgroups.remove_ended()
    return bool(adopted)


def kill_marked(mark: str) -> None:
    """Kill every other process that was started with ``NAME=value`` in its environment."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                _kill(int(folder.name))


def kill_all() -> None:
    """Kill every descendant, again and again until none is left or six seconds have passed."""
    end = time.monotonic() + _SWEEP_SECONDS
    while (kill_strays(set()) or cgroups.remove_ended()) and time.monotonic() < end:
        time.sleep(_PAUSE_SECONDS)


def close_all_but(kept: Collection[int | None]) -> None:
    """Close every other descriptor of this process, whichever code opened it.

    What code under test inherits it can write to, and the other end may be a driver's.
    """
    for link in list(Path("/proc/self/fd").iterdir()):
        if int(link.name) not in kept:
            with contextlib.suppress(OSError):  # the listing's own is closed already
                os.close(int(link.name))


def _kill(process: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGKILL)
