"""A fork server shared by all of a user's processes: commands find torch and triton imported.

It listens on a Unix socket in a folder that only its user may enter, and takes only clients of
that user. One process has a socket's lock at a time. It ends when it has been idle for a
while, when its socket is gone, and, once its jobs are done, when torch or triton is no longer the
one that it has imported.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import shutil
import signal
import socket
import struct
import sys
import termios
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from ..loading.import_stamps import stamp
from ..protocol import ERROR, MARKER, OK, SERVICE
from . import process_tree
from .connections import Peer, encode, write_message
from .fork_server import ForkServer, import_what_is_slow, private_channels

if TYPE_CHECKING:
    from ..messages.envelope import Answer, Hello, Request

_TICK_S = 20.0
_CREDENTIALS = struct.Struct("3i")
_BACKLOG = 64
_IN_USE_S = 30.0


def main() -> int:
    """``SERVICE SOCKET SECONDS`` on the command line: serve there; stdout gets one hello as soon as
    it does.

    1 if torch or triton cannot be imported, 0 where another process serves already.
    """
    _, answers = private_channels()
    at = sys.argv.index(SERVICE)
    path, idle_s = Path(sys.argv[at + 1]), float(sys.argv[at + 2])
    _leave_whoever_started_this()
    lock = _lock(path)
    if lock is None:
        write_message(answers, {"hello": {"taken": True}})
        return 0
    folder = _fresh_folder(path, lock)
    said: Hello = {
        **import_what_is_slow(), "pid": os.getpid(),
        "executable": sys.executable, "worker": sys.argv[0],
    }  # fmt: skip
    if "error" in said:
        write_message(answers, {"hello": said})
        shutil.rmtree(folder, ignore_errors=True)
        return 1
    service = Service(path, lock, folder, said, idle_s)
    with contextlib.suppress(OSError):
        write_message(answers, {"hello": said})
    os.close(answers)
    service.serve()
    return 0


class Service(ForkServer):
    """Serves each client that connects to ``path``."""

    def __init__(self, path: Path, lock: int, folder: Path, hello: Hello, idle_s: float) -> None:
        super().__init__((), folder, len(os.sched_getaffinity(0)))
        self._path = path
        self._lock = lock
        self._hello = hello
        self._idle_s = idle_s
        self._started = self._last = time.monotonic()
        self._done = 0
        self._ending = False
        self._socket = _listen(path)
        self._inode = path.lstat().st_ino
        self._selector.register(self._socket.fileno(), selectors.EVENT_READ, self._accept)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._asked_to_end)

    def _wanted(self) -> bool:
        now = time.monotonic()
        if self._children or self._waiting:
            self._last = now
            return True
        if self._ending or not self._in_place() or self._outdated():
            return False
        return now - self._last < self._idle_s

    def _tick(self) -> float:
        if self._children:
            return super()._tick()
        return min(_TICK_S, max(0.0, self._idle_s - (time.monotonic() - self._last)))

    def _in_place(self) -> bool:
        """Whether the socket is still there for clients to find, and this process's own."""
        try:
            return self._path.lstat().st_ino == self._inode
        except OSError:
            return False

    def _accept(self, descriptor: int) -> None:
        del descriptor
        try:
            connection, _ = self._socket.accept()
        except OSError:
            return
        with connection:
            if self._ending or _peer_user(connection) != os.getuid():
                return
            if self._outdated():
                with contextlib.suppress(OSError):
                    connection.sendall(encode({"hello": {"outdated": True}}))
                self._make_way()
                return
            peer = Peer(os.dup(connection.fileno()), os.dup(connection.fileno()))
        self._add(peer)
        self._put(peer, {"hello": self._hello})

    def _outdated(self) -> bool:
        return any(stamp(path) != seen for path, seen in self._hello["files"].items())

    def _make_way(self) -> None:
        """Let another process take the place; end as soon as the jobs under way are done."""
        if self._ending:
            return
        self._ending = True
        self._forget(self._socket.fileno())
        self._socket.close()
        if self._in_place():
            self._path.unlink(missing_ok=True)
        os.ftruncate(self._lock, 0)
        os.close(self._lock)

    def _take(self, peer: Peer, request: Request) -> None:
        if not _is_request(request):
            peer.gone = True
        elif "service" in request:
            self._put(peer, self._status_answer(request))
            if request["service"] == "stop":
                self._stop()
            elif request["service"] == "retire" and time.monotonic() - self._last > _IN_USE_S:
                self._make_way()
        else:
            self._last = time.monotonic()
            self._done += "job" in request
            super()._take(peer, request)

    def _status_answer(self, request: Request) -> Answer:
        value = {
            **self._hello,
            "up_s": time.monotonic() - self._started,
            "idle_s": self._idle_s,
            "clients": len(self._peers),
            "running": len(self._children),
            "waiting": len(self._waiting),
            "jobs": self._done,
            "devices": self._coordinators.devices,
        }
        return {"id": request["id"], "status": OK, "value": value}

    def _stop(self) -> None:
        self._make_way()
        self._waiting.clear()
        for peer in self._peers:
            self._coordinators.end(peer)
        for process in self._children.processes - self._coordinators.processes:
            self._children.finish(process, ERROR, "the worker service was stopped")

    def _asked_to_end(self, number: int, frame: object) -> None:
        del number, frame
        raise SystemExit(0)

    def _shut_down(self) -> None:
        self._make_way()
        super()._shut_down()


def _is_request(request: Request) -> bool:
    """Whether a message is one that ``protocol`` knows."""
    if isinstance(request.get("cancel"), int):
        return True
    asked = _is_job_request(request) or isinstance(request.get("service"), str)
    return asked and isinstance(request.get("id"), int)


def _is_job_request(request: Request) -> bool:
    """Whether the service can start what a message asks for; the child reads the job's own part."""
    job, environment = request.get("job"), request.get("environment", {})
    timeout_s = request.get("timeout_s", 0.0)
    return (
        isinstance(job, dict)
        and isinstance(job.get("kind"), str)
        and isinstance(timeout_s, int | float)
        and timeout_s >= 0
        and isinstance(environment, dict)
        and all(isinstance(text, str) for text in environment.values())
    )


def _leave_whoever_started_this() -> None:
    """Become a daemon without a terminal, in a working directory of its own.

    One that gives way, as an editor's does, stays in the session that it was started in: Linux may
    schedule each session as one (autogroup), and niceness counts among its processes alone.
    """
    if os.fork() > 0:
        os._exit(0)
    if os.getpriority(os.PRIO_PROCESS, 0) > 0:
        os.setpgid(0, 0)
        _give_up_terminal()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    else:
        os.setsid()
    os.chdir("/")


def _give_up_terminal() -> None:
    """What runs here may not write to the terminal of the session."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return  # the session has none
    fcntl.ioctl(terminal, termios.TIOCNOTTY)
    os.close(terminal)


def _lock(path: Path) -> int | None:
    """A descriptor that holds the socket's lock until it is closed; None where another has it."""
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _fresh_folder(path: Path, lock: int) -> Path:
    """A scratch folder and a mark of its own, after what a killed service left has been removed.

    The lock's file names the service that has it.
    """
    try:
        before = json.loads(os.pread(lock, 4096, 0))
    except ValueError:
        before = {}
    if isinstance(before, dict) and isinstance(before.get("mark"), str):
        process_tree.kill_marked(f"{MARKER}={before['mark']}")
        shutil.rmtree(path.parent / f"jobs-{Path(before['mark']).name}", ignore_errors=True)
    mark = uuid.uuid4().hex
    os.environ[MARKER] = mark
    os.ftruncate(lock, 0)
    os.pwrite(lock, json.dumps({"pid": os.getpid(), "mark": mark}).encode(), 0)
    folder = path.parent / f"jobs-{mark}"
    folder.mkdir(mode=0o700)
    return folder


def _listen(path: Path) -> socket.socket:
    """A socket at ``path``, whose predecessor has no process: this one holds the lock.

    The path may be longer than an address may be; the folder's descriptor is not.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        listening.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    listening.listen(_BACKLOG)
    listening.setblocking(False)
    return listening


def _peer_user(connection: socket.socket) -> int:
    """The user that a client's process runs as."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(data)[1])
