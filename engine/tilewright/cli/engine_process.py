"""One process that has imported the command line, and forks a child for each command.

``python -P -m tilewright.cli.engine_process SOCKET`` is what an editor's server starts once, in
place of a new interpreter for each save. SOCKET is the number of an inherited Unix socket. A
request is its length (4 bytes, big-endian), with which come three file descriptors (the command's
standard input, output and error), then JSON: ``id``, ``arguments``, ``folder``, ``environment``.
Answers are JSON lines on standard output: ``{"ready": PID}``, then for each command
``{"id", "pid"}`` as it starts and ``{"id", "code"}`` as it ends, negative for a signal.

A child leads a process group of its own and is like a process started anew: nothing of a workspace
is imported in the parent. The parent ends when the socket closes, or without work for
``_IDLE_S``; it takes its children along.
"""

import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from tilewright.collection import collect_seldom

_IDLE_S = 600.0
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_STREAMS = 3
_PRELOADED = (
    "tilewright.cli.optimize",
    "tilewright.cli.inspect",
    "tilewright.cli.profile",
    "tilewright.cli.verify",
)


def main() -> None:
    """Import what commands need, and serve until no client is left."""
    from tilewright.cli.app import app
    from tilewright.cli.boundary import run
    from tilewright.knowledge.base import taxonomy

    for name in _PRELOADED:
        import_module(name)
    taxonomy()
    serve(int(sys.argv[1]), partial(run, app))


def serve(descriptor: int, command: Callable[[], object], idle_s: float = _IDLE_S) -> None:
    """Fork a child that calls ``command`` for each request, until the socket closes."""
    gc.collect()
    collect_seldom()  # what is shared with the children is not written to by their collectors
    wakes, wakened = os.pipe()
    os.set_blocking(wakened, False)
    signal.set_wakeup_fd(wakened)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    with socket.socket(fileno=descriptor) as line:
        _answer(ready=os.getpid())
        _Host(line, wakes, command).serve(idle_s)


class _Host:
    """The children that run, by process id."""

    def __init__(self, line: socket.socket, wakes: int, command: Callable[[], object]) -> None:
        self._line = line
        self._wakes = wakes
        self._command = command
        self._running: dict[int, str] = {}

    def serve(self, idle_s: float) -> None:
        last = time.monotonic()
        while self._running or time.monotonic() - last < idle_s:
            left = max(0.0, last + idle_s - time.monotonic())
            door = self._line.fileno()
            waits_s = None if self._running else left
            ready, _, _ = select.select([door, self._wakes], [], [], waits_s)
            if self._wakes in ready:
                os.read(self._wakes, 4096)
                self._reap()
                last = time.monotonic()
            if door in ready:
                if not self._take():
                    return
                last = time.monotonic()

    def _take(self) -> bool:
        """Start what is asked for; False where the socket is closed."""
        head, streams, _, _ = socket.recv_fds(self._line, 4, _STREAMS)
        if len(head) < 4 or len(streams) < _STREAMS:
            return False
        data = bytearray()
        wanted = int.from_bytes(head, "big")
        while len(data) < wanted:
            chunk = self._line.recv(wanted - len(data))
            if not chunk:
                return False
            data += chunk
        request: dict[str, Any] = json.loads(data)
        parent = os.getpid()
        leads, closes = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)  # in the session of this process, and so with its priority
            for inherited in (leads, closes, self._wakes):
                os.close(inherited)
            self._line.close()
            _prepare(request, streams, parent)
            self._command()
            raise SystemExit  # ends as a process of its own does: threads, exit handlers, streams
        os.close(closes)
        os.read(leads, 1)  # until the child leads its group: who gets its id may kill the group
        os.close(leads)
        for stream in streams:
            os.close(stream)
        self._running[pid] = request["id"]
        _answer(id=request["id"], pid=pid)
        return True

    def _reap(self) -> None:
        for pid in list(self._running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                _answer(id=self._running.pop(pid), code=code)


def _answer(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def _prepare(request: dict[str, Any], streams: list[int], parent: int) -> None:
    """Make a forked child what a process started anew for the command would be."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # For lists of processes: the command line there is the parent's. At most 15 bytes count.
        library.prctl(_PR_SET_NAME, f"tw-{request['arguments'][0]}".encode()[:15])
        if os.getppid() != parent:
            os._exit(1)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in set(streams) - set(range(_STREAMS)):
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = ["tilewright", *request["arguments"]]


if __name__ == "__main__":
    main()
