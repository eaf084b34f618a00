"""The long-lived process that has imported torch and triton, and forks one child for each job.

``main`` is where an engine's own worker starts; that of all of a user's processes is a ``service``.
"""

from __future__ import annotations

import fcntl
import gc
import os
import platform
import selectors
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .. import jobs
from ..loading.import_stamps import stamp
from ..protocol import COMPILE_ONLY, ERROR, FOLDER_PREFIX, LOST, MARKER, VERSION
from ..sandbox import confinement
from ..trials.coordinators import Coordinators, remove_shared_folders
from . import process_tree
from .connections import Line, Peer, write_message
from .job_processes import Children, forget

if TYPE_CHECKING:
    from ..messages.envelope import Answer, Hello, Request

_TICK_S = 1.0
_SWEEP_S = 0.5
_WATCH_S = 0.2
_PRIORITY_TRIES = 20
_PRIORITY_PAUSE_S = 0.03
_STAMPED = ("triton", "triton._C.libtriton", "torch", "torch.version")


def main() -> int:
    """Serve until the engine closes stdin; 1 if torch or triton cannot be imported."""
    requests, answers = private_channels()
    confinement.scrub_environment()
    _keep_priority()
    _watch_for_the_engine()
    hello = import_what_is_slow()
    write_message(answers, {"hello": hello})
    if "error" in hello:
        return 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    ForkServer((Peer(requests, answers),)).serve()
    return 0


class ForkServer:
    """Serves requests until its input ends or its parent is gone.

    Args:
        folder: where jobs have their scratch folders; removed in the end.
        limit: how many jobs may run at a time; the others wait. None: all that come.
    """

    def __init__(
        self, peers: tuple[Peer, ...], folder: Path | None = None, limit: int | None = None
    ) -> None:
        self._limit = limit
        self._selector = selectors.DefaultSelector()
        self._peers: list[Peer] = []
        self._waiting: list[tuple[Peer, Request]] = []
        self._parent = os.getppid()
        self._next_sweep = 0.0
        self._folder = folder or _own_folder()
        self._children = Children(self._selector, self._folder, self._drop_requests)
        self._coordinators = Coordinators(
            self._children.start, self._children.stop, self._add_line, self._put
        )
        # Who asked, and under which number: by a job's process, and by a trial's own number.
        self._asked: dict[int, tuple[Peer, int]] = {}
        self._trials: dict[int, tuple[Peer, int]] = {}
        for peer in peers:
            self._add(peer)

    def serve(self) -> None:
        """Loop until no client is left, then kill everything that was started."""
        # Code under test may daemonize. Its orphans become children of this process, which is
        # what lets `kill_strays` find them.
        process_tree.become_subreaper()
        # Jobs of the same user could otherwise attach to this process, which is trusted.
        confinement.hide_from_ptrace()
        # Children share these pages copy on write. A collection in a child would mark every
        # object of torch and triton, and so copy the pages; frozen objects are skipped.
        gc.collect()
        gc.freeze()
        try:
            while self._wanted():
                self._turn()
        finally:
            self._shut_down()

    def _wanted(self) -> bool:
        """Whether there is anybody to serve."""
        return bool(self._peers) and os.getppid() == self._parent

    def _turn(self) -> None:
        for key, _ in self._selector.select(min(self._tick(), self._children.time_left())):
            handler: Callable[[int], None] = key.data
            handler(key.fd)
        self._children.stop_what_took_too_long()
        self._start_what_waits()
        self._drop_who_is_gone()
        now = time.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + _SWEEP_S
            process_tree.kill_strays(self._children.processes)

    def _tick(self) -> float:
        """The longest time to sleep."""
        return _TICK_S

    def _add(self, peer: Peer) -> None:
        self._peers.append(peer)
        read = partial(self._read_requests, peer)
        self._selector.register(peer.requests, selectors.EVENT_READ, read)

    def _read_requests(self, peer: Peer, descriptor: int) -> None:
        del descriptor
        for request in peer.receive():
            self._take(peer, request)

    def _take(self, peer: Peer, request: Request) -> None:
        """Do what a message asks."""
        if "cancel" in request:
            self._cancel(peer, request["cancel"])
        else:
            self._waiting.append((peer, request))

    def _put(self, peer: Peer, message: Mapping[str, object]) -> None:
        """Answer; what cannot be written at once is written when it can."""
        peer.put(message)
        if peer.unsent and peer.answers not in self._selector.get_map():
            self._selector.register(
                peer.answers, selectors.EVENT_WRITE, partial(self._write_more, peer)
            )

    def _write_more(self, peer: Peer, descriptor: int) -> None:
        peer.flush()
        if not peer.unsent:
            self._forget(descriptor)

    def _drop_who_is_gone(self) -> None:
        for peer in [peer for peer in self._peers if peer.gone]:
            self._peers.remove(peer)
            for descriptor in (peer.requests, peer.answers):
                self._forget(descriptor)
            self._waiting = [one for one in self._waiting if one[0] is not peer]
            self._end_what(peer)
            self._coordinators.end(peer)
            peer.close()

    def _cancel(self, peer: Peer, request: int) -> None:
        for one in [one for one in self._waiting if one[0] is peer and one[1]["id"] == request]:
            self._waiting.remove(one)
            self._put(peer, _answer(request, ERROR, "was cancelled"))
        self._end_what(peer, request)

    def _end_what(self, peer: Peer, request: int | None = None) -> None:
        """Cancel what a peer has under way under a number; without one, all of it."""

        def ends(asked: dict[int, tuple[Peer, int]]) -> list[int]:
            everything = request is None
            return [
                one
                for one, (by, number) in asked.items()
                if by is peer and (everything or number == request)
            ]

        for process in ends(self._asked):
            self._children.finish(process, ERROR, "was cancelled")
        for trial in ends(self._trials):
            self._coordinators.cancel(trial)

    def _start_what_waits(self) -> None:
        """Start jobs up to the limit, those of the peer with the fewest first; trials
        at once: their coordinator lets them take turns."""
        while (one := self._next_to_start()) is not None:
            peer, request = one
            if peer.gone:
                continue
            if self._limit is not None:
                self._put(peer, {"id": request["id"], "started": True})
            try:
                self._start(peer, request)
            except OSError as error:
                text = f"no process could be started for it: {error.strerror or error}"
                self._put(peer, _answer(request["id"], LOST, text))

    def _next_to_start(self) -> tuple[Peer, Request] | None:
        """Take one off those that wait; None where none may start now."""
        startable = self._startable()
        if not startable:
            return None
        running = Counter(id(peer) for peer, _ in self._asked.values())
        one = min(startable, key=lambda waiting: running[id(waiting[0])])
        self._waiting.remove(one)
        return one

    def _startable(self) -> list[tuple[Peer, Request]]:
        if self._limit is None or len(self._asked) < self._limit:
            return self._waiting
        return [one for one in self._waiting if one[1]["job"].get("kind") == "trial"]

    def _start(self, peer: Peer, request: Request) -> None:
        job, number = request["job"], int(request["id"])
        timeout_s = request["timeout_s"] = float(request.get("timeout_s") or 60.0)
        if job.get("kind") == "trial":
            self._try(peer, number, request)
            return

        def deliver(answer: Answer) -> None:
            del self._asked[process]
            self._put(peer, {**answer, "id": number})

        environment = request.get("environment")
        process = self._children.start(job, timeout_s, deliver, None, environment)
        self._asked[process] = (peer, number)

    def _try(self, peer: Peer, number: int, request: Request) -> None:
        jobs.warm_up_for(request["job"])
        start = time.monotonic()

        def deliver(answer: Answer) -> None:
            self._trials.pop(trial, None)
            seconds = time.monotonic() - start
            told = {name: answer.get(name) for name in ("status", "message", "value")}
            self._put(peer, {**_answer(number, ERROR, ""), **told, "seconds": seconds})

        trial = self._coordinators.take(peer, request, deliver)
        self._trials[trial] = (peer, number)

    def _add_line(self, line: Line) -> None:
        def read(descriptor: int) -> None:
            del descriptor
            self._coordinators.read(line)
            if line.gone:
                for end in (line.requests, line.answers):
                    self._forget(end)
                line.close()

        self._selector.register(line.requests, selectors.EVENT_READ, read)

    def _drop_requests(self) -> None:
        """In a child, whose memory code under test can read: keep nothing of other requests."""
        for requests in (self._waiting, self._peers, self._asked, self._trials):
            requests.clear()
        self._coordinators.drop_all()

    def _forget(self, descriptor: int) -> None:
        forget(self._selector, descriptor)

    def _shut_down(self) -> None:
        self._children.kill_all()
        process_tree.kill_all()
        shutil.rmtree(self._folder, ignore_errors=True)
        remove_shared_folders(os.environ.get(MARKER) or str(os.getpid()))


def _own_folder() -> Path:
    """Where this worker's jobs have their scratch; the engine removes it should the worker be
    killed."""
    folder = Path(tempfile.gettempdir(), f"{FOLDER_PREFIX}{os.environ.get(MARKER) or os.getpid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _answer(request: int, status: str, message: str) -> Answer:
    """The answer to a request that had no process."""
    return {
        "id": request, "status": status, "message": message, "value": {}, "output": "",
        "seconds": 0.0,
    }  # fmt: skip


def private_channels() -> tuple[int, int]:
    """(requests, answers): private copies of stdin and stdout, which then lead nowhere."""
    requests = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    answers = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return requests, answers


def import_what_is_slow() -> Hello:
    """Import it, and say what it was; ``error`` where that cannot be.

    With ``COMPILE_ONLY`` on the command line torch is not asked for, and only compilers are served.
    """
    # Triton's advice would be in every job's output.
    warnings.filterwarnings("ignore", module=r"triton\.")
    start = time.perf_counter()
    hello: Hello = {
        "protocol": VERSION,
        "python": platform.python_version(),
        "pid": os.getpid(),
    }
    try:
        hello |= _versions(COMPILE_ONLY in sys.argv[1:])
    except ImportError as error:
        return {**hello, "error": str(error)}
    hello["files"] = _stamps()
    return {**hello, "seconds": time.perf_counter() - start}


def _versions(compile_only: bool) -> Hello:
    """Of what is imported; torch is None where it is not needed."""
    import triton

    if compile_only:
        jobs.preload(compile_only=True)
        return {"torch": None, "triton": triton.__version__}
    import numpy  # noqa: F401
    import torch

    jobs.preload()
    return {"torch": torch.__version__, "triton": triton.__version__}


def _stamps() -> dict[str, list[int]]:
    """Files that are others once torch or triton is: when each was written, and its size."""
    found = {}
    for name in _STAMPED:
        path = getattr(sys.modules.get(name), "__file__", None)
        if path and (seen := stamp(path)):
            found[path] = seen
    return found


def _watch_for_the_engine() -> None:
    """Leave while still importing, which takes seconds, if the engine is killed meanwhile.

    Not by a parent-death signal: that follows the thread that started this process, not the engine.
    """
    parent = os.getppid()

    def check(number: int, frame: object) -> None:
        del number, frame
        if os.getppid() != parent:
            os._exit(0)

    signal.signal(signal.SIGALRM, check)
    signal.setitimer(signal.ITIMER_REAL, _WATCH_S, _WATCH_S)


def _keep_priority() -> None:
    """Give the session that this process leads the niceness of the process.

    Linux may schedule each session as one (autogroup), whose niceness begins at 0.
    """
    if os.getsid(0) != os.getpid():
        return
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    for _ in range(_PRIORITY_TRIES if niceness > 0 else 0):
        try:
            Path("/proc/self/autogroup").write_text(str(niceness), encoding="ascii")
        except BlockingIOError:  # one change in a tenth of a second, of all sessions
            time.sleep(_PRIORITY_PAUSE_S)
        except OSError:
            return
        else:
            return
