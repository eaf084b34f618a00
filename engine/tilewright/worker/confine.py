"""What is taken away from a job's process before any code under test is imported."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import landlock
from .protocol import SECRET

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_DEVICE_NODES = (
    "null", "zero", "full", "random", "urandom", "tty",
    "nvidia*", "nvidia-caps/*", "kfd", "dri/*", "shm/cuda*",
)  # fmt: skip
_THREAD_NAMES = "/proc/self/task"  # CUDA's driver names its threads there and fails if it cannot
_DEFAULT_FILE_BYTES = 8 << 30
_MAX_PROCESSES = 8192


def die_with_parent(parent: int) -> None:
    """Be killed when the process that forked this one ends, even if it has ended already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def scrub_environment() -> None:
    """Drop every variable whose name speaks of a secret."""
    for name in [name for name in os.environ if SECRET.search(name)]:
        del os.environ[name]


def use_scratch(scratch: str) -> None:
    """Work, and put temporary files, in ``scratch``."""
    os.chdir(scratch)
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    os.environ["CUDA_CACHE_PATH"] = scratch
    sys.dont_write_bytecode = True


def limit_resources(job: dict[str, Any], timeout_s: float, on_gpu: bool) -> None:
    """Core dumps, file size, CPU time, processes; address space where no GPU driver maps it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_FSIZE, int(job.get("file_bytes") or _DEFAULT_FILE_BYTES))
    _lower(resource.RLIMIT_CPU, int(timeout_s * (os.cpu_count() or 1)) + 10)
    _lower(resource.RLIMIT_NPROC, _MAX_PROCESSES)
    if not on_gpu:
        allowance = job.get("memory_bytes") or int(available_memory() * 0.8)
        _lower(resource.RLIMIT_AS, _own_address_space() + int(allowance))


def writable_paths(job: dict[str, Any], scratch: str) -> list[str]:
    """The folders and device nodes a job needs to write."""
    paths = [scratch, _THREAD_NAMES]
    for named in (job.get("out"), job.get("gpu_lock"), os.environ.get("TRITON_CACHE_DIR")):
        if isinstance(named, str) and named:
            paths.append(named)
    for pattern in _DEVICE_NODES:
        paths += [str(node) for node in Path("/dev").glob(pattern)]
    return paths


def restrict_files(paths: list[str]) -> int:
    """Landlock over ``paths``, unless TILEWRIGHT_LANDLOCK=0; the ABI in force, 0 for none."""
    if os.environ.get("TILEWRIGHT_LANDLOCK") == "0":
        return 0
    return landlock.restrict_writes(paths)


def leave_network() -> bool:
    """Move into an empty network namespace; False where the system does not permit it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) == 0:
        return True
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")
    return True


def can_leave_network() -> bool:
    """Whether ``leave_network`` would work, tried in a process of its own."""
    process = os.fork()
    if process == 0:
        try:
            os._exit(0 if leave_network() else 1)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def available_memory() -> int:
    """MemAvailable in bytes, lowered to what the control group still allows."""
    free = 0
    with Path("/proc/meminfo").open(encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    limit, used = _number("/sys/fs/cgroup/memory.max"), _number("/sys/fs/cgroup/memory.current")
    if limit is not None and used is not None:
        free = min(free, max(0, limit - used))
    return free


def _own_address_space() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * resource.getpagesize()


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="ascii")


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))
