"""Limits of the system on one process, and how much memory there is to give.

``RLIMIT_NPROC`` counts all processes of a user and does not hold root; where control groups can be
made (``cgroups``) a job's own processes are counted.
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..messages.envelope import Job

FILE_BYTES = 8 << 30
PROCESSES = 4096
_PROCESSES_OF_A_USER = 8192
OPEN_FILES = 4096
_SHARE = 0.8


def limit(job: Job[Any], timeout_s: float, on_gpu: bool) -> None:
    """Core dumps, file size, open files, CPU time, processes, memory.

    Memory is the address space, and on a GPU, whose driver reserves all there is of that, what is
    written privately.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_FSIZE, int(job.get("file_bytes") or FILE_BYTES))
    _lower(resource.RLIMIT_NOFILE, OPEN_FILES)
    _lower(resource.RLIMIT_CPU, int(timeout_s * (os.cpu_count() or 1)) + 10)
    _lower(resource.RLIMIT_NPROC, _PROCESSES_OF_A_USER)
    allowance = memory_allowance(job)
    if not on_gpu:
        _lower(resource.RLIMIT_AS, _pages(0) + allowance)
    _lower(resource.RLIMIT_DATA, _pages(5) + allowance)


def limit_processes(number: int) -> None:
    """Processes of this user in this user namespace, which should be a job's own."""
    _lower(resource.RLIMIT_NPROC, number)


def counts_by_namespace(release: str | None = None) -> bool:
    """Whether the system counts a user's processes in each user namespace by itself: Linux 5.14.

    Before that all of the user's count, and a number that does for a job may be reached already.
    """
    numbers = (release or os.uname().release).split("-")[0].split(".")
    try:
        return (int(numbers[0]), int(numbers[1])) >= (5, 14)
    except (IndexError, ValueError):
        return False


def memory_allowance(job: Job[Any]) -> int:
    """Bytes that a job may take: what it names, or four fifths of what is available."""
    return int(job.get("memory_bytes") or available_memory() * _SHARE)


def available_memory() -> int:
    """MemAvailable in bytes, lowered to what the control group still allows."""
    free = 0
    with contextlib.suppress(OSError), Path("/proc/meminfo").open(encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    total, used = _number("/sys/fs/cgroup/memory.max"), _number("/sys/fs/cgroup/memory.current")
    if total is not None and used is not None:
        free = min(free, max(0, total - used))
    return free


def _pages(field: int) -> int:
    """A field of /proc/self/statm in bytes: 0 is the address space, 5 data and stack."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[field]
    return int(pages) * resource.getpagesize()


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))
