"""``tries``: a job's confinement put to the test, from inside, as hostile code would."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import posix
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..sandbox import isolation, rlimits

if TYPE_CHECKING:
    from ..messages.jobs import Tried, TryJob

_PTRACE_ATTACH, _PTRACE_DETACH = 16, 17
_PROCESS_VM_READV = 310  # x86_64; elsewhere /proc is tried alone
_CLONE_NEWUSER = 0x10000000
_STACK = 64 << 10
_PARTS = 4
_WAIT_S, _DONE = 20.0, 42
_MORE_THREADS = 64


def perform(job: TryJob) -> Tried:
    """``tries``: for each protection what got through, [] where it holds; and ``confinement``.

    The job has ``memory_bytes``; ``victim``, ``told`` and ``address``: a file, a secret and a Unix
    socket, each behind one letter, so that they are no files of the job; ``port`` of a TCP socket.
    """
    found: dict[str, list[str]] = {}
    for name in job.get("protections") or isolation.PROTECTIONS:
        found[name] = [text for text in _TRIES[name](job) if text]
    return {"tries": found, "confinement": job["confinement"]}


def _writes(job: TryJob) -> Iterator[str]:
    victim = Path(job["victim"][1:])
    with contextlib.suppress(OSError), victim.open("ab"):
        yield f"{victim} could be opened for writing"
    with contextlib.suppress(OSError):
        os.truncate(victim, 0)
        yield f"{victim} could be cut short"
    with contextlib.suppress(OSError):
        beside = victim.with_name("written")
        beside.write_text("")
        yield f"{beside} could be made"


def _reads(job: TryJob) -> Iterator[str]:
    victim = Path(job["victim"][1:])
    with contextlib.suppress(OSError):
        victim.read_bytes()
        yield f"{victim} could be read"
    with contextlib.suppress(OSError):
        list(victim.parent.iterdir())
        yield f"{victim.parent} could be listed"


def _network(job: TryJob) -> Iterator[str]:
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", int(job["port"])), timeout=2.0),
    ):
        yield "a TCP port of this machine could be reached"
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2.0)
        client.connect(job["address"][1:])
        yield "a Unix socket of another process could be reached"
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        datagrams.sendto(b"", ("127.0.0.1", int(job["port"])))
        if _interfaces() > 1:
            yield "a datagram could be sent"


def _interfaces() -> int:
    return len(socket.if_nameindex())


def _processes(job: TryJob) -> Iterator[str]:
    del job
    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(_PTRACE_ATTACH, parent, None, None) == 0:
        libc.ptrace(_PTRACE_DETACH, parent, None, None)
        yield "the worker could be traced"
    for name in ("mem", "environ", "maps"):
        with contextlib.suppress(OSError), Path("/proc", str(parent), name).open("rb"):
            yield f"/proc/PID/{name} of the worker could be opened"
    if os.uname().machine == "x86_64" and _reads_memory(libc, parent):
        yield "the worker's memory could be read"


def _reads_memory(libc: ctypes.CDLL, process: int) -> bool:
    """By the call that debuggers have for it, an address that is there in a fork of the process."""
    here = ctypes.create_string_buffer(16)

    class Span(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    span = Span(ctypes.addressof(here), 16)
    given = libc.syscall(
        _PROCESS_VM_READV, process, ctypes.byref(span), 1, ctypes.byref(span), 1, 0
    )
    # An address that the process does not have is refused only to who may read the others.
    return int(given) >= 0 or ctypes.get_errno() == errno.EFAULT


def _signals(job: TryJob) -> Iterator[str]:
    del job
    with contextlib.suppress(OSError):
        os.kill(os.getppid(), 0)
        yield "the worker could be signalled"


def _privileges(job: TryJob) -> Iterator[str]:
    del job
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", b"/", None, 1 << 18, None) == 0:  # MS_PRIVATE
        yield "mounts could be changed"
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    held = next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff")), 0)
    if held & ~(1 << 1):
        yield f"the process has capabilities ({held:x})"
    if os.fork() == 0:
        os._exit(0 if libc.unshare(_CLONE_NEWUSER) == 0 else 1)
    if os.waitstatus_to_exitcode(os.wait()[1]) == 0:
        yield "a user namespace with privileges of its own could be made"


def _environment(job: TryJob) -> Iterator[str]:
    secret = job["told"][1:]
    if any(secret in value for value in os.environ.values()):
        yield "a secret is in the environment"
    if any(secret.encode() in value for value in posix.environ.values()):
        yield "a secret is in Python's copy of the first environment"
    for place in ("self", str(os.getppid())):
        with contextlib.suppress(OSError):
            if secret.encode() in Path("/proc", place, "environ").read_bytes():
                yield f"a secret is in /proc/{'self' if place == 'self' else 'PID'}/environ"


def _memory(job: TryJob) -> Iterator[str]:
    """Several processes together take more than the job was given."""
    share = int(job["memory_bytes"]) // 2
    children = [_forked(lambda: _take(share)) for _ in range(_PARTS)]
    if all(code == _DONE for code in map(_ended, children)):
        yield (
            f"{_PARTS} processes together took {_PARTS * share >> 20} MiB of "
            f"{int(job['memory_bytes']) >> 20} MiB"
        )


def _take(size: int) -> None:
    """Write to each page of so many bytes, and keep them until the others have theirs."""
    block = mmap.mmap(-1, size)
    for place in range(0, size, mmap.PAGESIZE):
        block[place] = 1
    time.sleep(0.5)


def _forks(job: TryJob) -> Iterator[str]:
    """Threads count as processes do, and are made faster."""
    number = int(job.get("processes") or rlimits.PROCESSES) + _MORE_THREADS
    if _ended(_forked(lambda: _many_threads(number))) == _DONE:
        yield f"{number} threads could be started"


def _many_threads(number: int) -> None:
    threading.stack_size(_STACK)
    end = threading.Event()
    for _ in range(number):
        threading.Thread(target=end.wait, daemon=True).start()


def _forked(what: Callable[[], None]) -> int:
    process = os.fork()
    if process == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(int(_WAIT_S))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            what()
            code = _DONE
        finally:
            os._exit(code)
    return process


def _ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


_TRIES: Mapping[str, Callable[[TryJob], Iterator[str]]] = {
    "writes": _writes,
    "reads": _reads,
    "network": _network,
    "processes": _processes,
    "signals": _signals,
    "privileges": _privileges,
    "environment": _environment,
    "memory": _memory,
    "forks": _forks,
}
