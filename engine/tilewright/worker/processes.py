"""Finding and killing what a job left behind, through /proc."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_SWEEP_SECONDS = 3.0


def become_subreaper() -> None:
    """Adopt orphaned descendants, so that a process that daemonizes can still be found."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def parents() -> dict[int, int]:
    """Every process's parent; zombies are left out."""
    table = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] not in (b"Z", b"X"):
            table[int(folder.name)] = int(fields[1])
    return table


def descendants(root: int, table: dict[int, int]) -> set[int]:
    """All processes below ``root``, itself not included."""
    children: dict[int, list[int]] = {}
    for child, parent in table.items():
        children.setdefault(parent, []).append(child)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def kill_tree(root: int) -> None:
    """Kill a job's process, its group, and whatever descends from it."""
    below = descendants(root, parents())
    with contextlib.suppress(OSError):
        os.killpg(root, signal.SIGKILL)
    for process in (root, *below):
        _kill(process)


def kill_strays(keep: set[int]) -> bool:
    """Kill every descendant of this process that is not ``keep`` or below it; True if any lived."""
    table = parents()
    kept = set(keep)
    for job in keep:
        kept |= descendants(job, table)
    strays = descendants(os.getpid(), table) - kept
    for process in strays:
        _kill(process)
    return bool(strays)


def kill_all() -> None:
    """Kill every descendant, again and again until none is left or three seconds have passed."""
    end = time.monotonic() + _SWEEP_SECONDS
    while kill_strays(set()) and time.monotonic() < end:
        reap()


def reap() -> dict[int, int]:
    """Wait status of every child that has ended, by process id."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                break
            ended[process] = status
    return ended


def _kill(process: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGKILL)
