"""The fork server's side of trials: a coordinator per client and device, and its runners."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..jobs import uses_gpu
from ..protocol import FOLDER_PREFIX, LOST, MARKER
from ..runtime.connections import Line, Peer
from ..runtime.job_processes import Deliver

if TYPE_CHECKING:
    from ..messages.envelope import Answer, Job, Request
    from ..messages.jobs import CoordinatorJob

_IN_MEMORY = Path("/dev/shm")
_FOREVER_S = 86_400.0
_LEAST_BYTES = 1 << 30


@dataclass
class _Court:
    """A coordinator with its trials by number, and the processes of its runners by key.

    ``peer``: who asks for its trials; ``environment``: what its processes get in the place of the
    fork server's own; ``folder``: where its tensors are exchanged.
    """

    line: Line
    device: str
    peer: Peer
    environment: dict[str, str] | None
    folder: Path
    process: int = 0
    trials: dict[int, Deliver] = field(default_factory=dict)
    runners: dict[str, int] = field(default_factory=dict)


class Coordinators:
    """Starts coordinators and runners by what the fork server lends it, and passes messages on.

    Args:
        fork: ``fork(job, timeout_s, deliver, channel, environment) -> process``: start a child
            that has ``channel`` open as ``job["channel"]``; ``deliver`` gets its answer when it has
            ended.
        kill: stop a child for a status and a reason.
        watch: have a line's messages passed to ``read``.
        put: write a message to a line without waiting.
    """

    def __init__(
        self,
        fork: Callable[[Job[Any], float, Deliver, int, dict[str, str] | None], int],
        kill: Callable[[int, str, str], None],
        watch: Callable[[Line], None],
        put: Callable[[Line, Mapping[str, object]], None],
    ) -> None:
        self._fork = fork
        self._kill = kill
        self._watch = watch
        self._put = put
        self._courts: list[_Court] = []
        self._next = 0

    @property
    def devices(self) -> list[str]:
        """Those that coordinators have open, once for each."""
        return [court.device for court in self._courts]

    @property
    def processes(self) -> set[int]:
        """Coordinators and their runners."""
        return {p for court in self._courts for p in (court.process, *court.runners.values())}

    def take(self, peer: Peer, request: Request, deliver: Deliver) -> int:
        """Hand a trial to the peer's coordinator of its device; returns its number."""
        from .warm_up import warm_up  # a worker that only compiles has no torch

        warm_up(compiles=uses_gpu(request["job"]))
        court = self._coordinator_of(peer, request)
        self._next += 1
        court.trials[self._next] = deliver
        sent = {"job": request["job"], "timeout_s": request["timeout_s"]}
        self._put(court.line, {"trial": self._next, **sent})
        return self._next

    def cancel(self, trial: int) -> None:
        """Have a trial stopped; the client that asked gets the answer."""
        for court in self._courts:
            if trial in court.trials:
                self._put(court.line, {"cancel": trial})

    def end(self, peer: Peer) -> None:
        """End the coordinators of a peer, which hold devices and memory as long as they live."""
        for court in [court for court in self._courts if court.peer is peer]:
            self._kill(court.process, LOST, "its client is gone, or the worker was stopped")

    def drop_all(self) -> None:
        """In a child: keep no coordinator's data in its memory."""
        self._courts.clear()

    def read(self, line: Line) -> None:
        """Do what a coordinator has asked."""
        court = next((one for one in self._courts if one.line is line), None)
        if court is None:
            return
        for message in line.receive():
            if "perform" in message:
                self._perform(court, message)
            elif "kill" in message:
                self._stop(court, message)
            elif "answer" in message:
                deliver = court.trials.pop(message["answer"], None)
                if deliver is not None:
                    deliver(message)

    def _perform(self, court: _Court, message: Any) -> None:
        # The coordinator sends its end of a socket pair with each such message. Descriptors keep
        # the order of messages, so the oldest one belongs to this message.
        key, channel = message["perform"], court.line.descriptors.popleft()

        def ended(answer: Answer) -> None:
            court.runners.pop(key, None)
            told = {name: answer.get(name) for name in ("status", "message", "output")}
            self._put(court.line, {"ended": key, **told})

        try:
            limit_s = message["timeout_s"] or _FOREVER_S
            process = self._fork(message["job"], limit_s, ended, channel, court.environment)
            court.runners[key] = process
            self._put(court.line, {"begun": key, "process": process})
        except OSError as error:
            text = f"no process could be started for it: {error.strerror or error}"
            self._put(court.line, {"ended": key, "status": LOST, "message": text, "output": ""})
        finally:
            # The child has its own copy. While this one is open, the coordinator would see no end
            # of file when the child dies.
            os.close(channel)

    def _stop(self, court: _Court, message: Any) -> None:
        process = court.runners.get(message["kill"])
        if process is not None:
            self._kill(process, message["status"], message["message"])

    def _coordinator_of(self, peer: Peer, request: Request) -> _Court:
        device = str(request["job"].get("device"))
        for court in self._courts:
            if court.peer is peer and court.device == device:
                return court
        folder = shared_folder()
        ours, theirs = socket.socketpair()
        court = _Court(Line(ours), device, peer, request.get("environment"), folder)
        job: CoordinatorJob = {"kind": "judge", "device": device, "folder": str(folder)}
        try:
            court.process = self._fork(
                job, _FOREVER_S, lambda answer: self._end_lost(court, answer), theirs.fileno(),
                court.environment,
            )  # fmt: skip
        finally:
            theirs.close()
        self._courts.append(court)
        self._watch(court.line)
        return court

    def _end_lost(self, court: _Court, answer: Answer) -> None:
        """End the runners of a coordinator that is gone, and answer its trials."""
        self._courts.remove(court)
        court.line.gone = True
        for process in list(court.runners.values()):
            self._kill(process, LOST, "its coordinator has ended")
        shutil.rmtree(court.folder / f"judge-{court.process}", ignore_errors=True)
        text = (
            f"the coordinator of {court.device} ended: {answer.get('message') or 'reason unknown'}"
        )
        output = str(answer.get("output") or "").strip()[-400:]
        for deliver in court.trials.values():
            message = f"{text} (it printed: {output})" if output else text
            deliver({"status": LOST, "message": message, "value": {}, "seconds": 0.0})


def shared_folder() -> Path:
    """Where tensors are exchanged: in memory where there is room for it, else in the temp folder.

    Named after the worker's mark, so that the engine finds it should the worker be killed.
    """
    mark = os.environ.get(MARKER) or str(os.getpid())
    for parent in (_IN_MEMORY, Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError):
            status = os.statvfs(parent)
            if parent == _IN_MEMORY and status.f_bavail * status.f_frsize < _LEAST_BYTES:
                continue
            folder = parent / f"{FOLDER_PREFIX}{mark}" / "trials"
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return folder
    raise OSError("no folder for tensors could be made in /dev/shm or the temporary folder")


def remove_shared_folders(mark: str) -> None:
    """Remove what a worker's trials left in memory."""
    shutil.rmtree(_IN_MEMORY / f"{FOLDER_PREFIX}{mark}", ignore_errors=True)
