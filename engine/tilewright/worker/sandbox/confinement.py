"""What is taken away from a job's process before any code under test is imported.

One module a means: ``environment``, ``limits``, ``own_cache``, ``cgroups``, ``network``,
``own_user``, ``landlock`` (with ``readable`` for what it lets through), ``capabilities``,
``seccomp``; where there is no Landlock, ``mounts``. ``isolation`` says what all of it comes to.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import (
    capabilities,
    cgroups,
    environment,
    isolation,
    landlock,
    mount_namespace,
    network_namespace,
    read_paths,
    rlimits,
    seccomp,
    triton_cache,
    uid,
)

if TYPE_CHECKING:
    from ..messages.envelope import Job
    from ..messages.parts import Confinement

available_memory = rlimits.available_memory
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_DEVICE_NODES = (
    "null", "zero", "full", "random", "urandom", "tty",
    "nvidia*", "nvidia-caps/*", "kfd", "dri/*", "dxg", "accel/*", "neuron*",
    "shm/cuda*", "shm/hsakmt*",
)  # fmt: skip
_THREAD_NAMES = "/proc/self/task"  # CUDA's driver names its threads there and fails if it cannot


def die_with_parent(parent: int) -> None:
    """Be killed when the process that forked this one ends, even if it has ended already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def hide_from_ptrace() -> None:
    """Let no process without privileges of its own trace this one or read its memory.

    Children made by a fork are hidden as well, until they start another program or call
    ``show_to_ptrace``.
    """
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def show_to_ptrace() -> None:
    """Undo ``hide_from_ptrace``: a hidden process cannot map its user into a namespace."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def scrub_environment() -> None:
    """Keep the variables that a job may have, and no trace of the others."""
    environment.replace(environment.allowed(os.environ))


def use_scratch(scratch: str) -> None:
    """Work, put temporary files, and be at home in ``scratch``."""
    os.chdir(scratch)
    for name in ("TMPDIR", "TEMP", "TMP", "HOME", "CUDA_CACHE_PATH"):
        os.environ[name] = scratch
    tempfile.tempdir = scratch
    sys.dont_write_bytecode = True


def confined(
    job: Job[Any], scratch: str, timeout_s: float, *, on_gpu: bool, untrusted: bool
) -> Confinement:
    """Confine this process for good; what could be had of it, as ``isolation.report`` says.

    Args:
        job: what it is about to do. It may read the files that it names and the folders in
            ``reads``, and write ``out``, its scratch folder and Triton's cache; with ``cache``
            that folder is Triton's cache; the shared one and ``caches`` are only read.
        untrusted: whether code under test will run; other jobs may read everything, and keep
            their network.
    """
    if not untrusted:
        limited(job, scratch, timeout_s, on_gpu=on_gpu)
        return {"landlock": restrict_files(writable_paths(job, scratch)), "netns": False}
    may_read, may_list = read_paths.readable_paths(job), read_paths.listable_paths(job)
    limited(job, scratch, timeout_s, on_gpu=on_gpu)
    if job.get("cache"):
        may_read += triton_cache.use(str(job["cache"]), job.get("caches") or ())
    processes = int(job.get("processes") or rlimits.PROCESSES)
    groups = cgroups.enter(rlimits.memory_allowance(job), processes)
    away = network_namespace.leave()
    apart = (
        away
        and without_landlock()
        and mount_namespace.enter(scratch, writable_paths(job, scratch), may_read)
    )
    own = uid.become()
    of_a_namespace = away and os.getuid() != 0 and rlimits.counts_by_namespace()
    if own or of_a_namespace:  # nobody else's processes count any more
        rlimits.limit_processes(processes)
    show_to_ptrace()  # changing the user has hidden this process from itself
    version = restrict_files(writable_paths(job, scratch), may_read, may_list)
    dropped = capabilities.drop()
    filtered = seccomp.restrict()
    lacks = isolation.lacking(
        landlock=version, mounts=apart, netns=away, filtered=filtered, dropped=dropped,
        groups=groups, own_user=own, is_root=os.getuid() == 0,
    )  # fmt: skip
    return isolation.report(lacks, landlock=version, netns=away)


def limited(job: Job[Any], scratch: str, timeout_s: float, *, on_gpu: bool) -> Confinement:
    """Limits and an environment alone, for a process that starts the one to be confined."""
    show_to_ptrace()
    scrub_environment()
    use_scratch(scratch)
    rlimits.limit(job, timeout_s, on_gpu)
    return {"landlock": 0, "netns": False}


def writable_paths(job: Job[Any], scratch: str) -> list[str]:
    """The folders and device nodes a job needs to write."""
    paths = [scratch, _THREAD_NAMES]
    for named in (job.get("out"), job.get("gpu_lock"), os.environ.get("TRITON_CACHE_DIR")):
        if isinstance(named, str) and named:
            paths.append(named)
    for pattern in _DEVICE_NODES:
        paths += [str(node) for node in Path("/dev").glob(pattern)]
    return paths


def without_landlock() -> bool:
    """Whether mounts have to do what Landlock does, or TILEWRIGHT_LANDLOCK=mounts asks for it."""
    switch = os.environ.get("TILEWRIGHT_LANDLOCK")
    return switch == "mounts" or (switch != "0" and landlock.abi() == 0)


def restrict_files(
    writable: list[str], may_read: list[str] | None = None, may_list: list[str] | None = None
) -> int:
    """Landlock, unless TILEWRIGHT_LANDLOCK turns it off; the ABI in force, 0 for none.

    Everything may be read where ``may_read`` is None.
    """
    if os.environ.get("TILEWRIGHT_LANDLOCK") in ("0", "mounts"):
        return 0
    return landlock.restrict(writable, may_read, may_list or [])
