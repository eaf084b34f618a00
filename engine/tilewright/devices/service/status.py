"""The services of this user that are there, and ending them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tilewright.devices.service.connection import ServiceChannel, join
from tilewright.devices.service.places import ServiceError, folder

_ANSWER_SECONDS = 5.0
_END_SECONDS = 8.0


@dataclass(frozen=True)
class ServiceStatus:
    """One service.

    Attributes:
        python, torch, triton: versions of what it has imported; torch is None where it needs none.
        idle_s: after how long without a job it ends.
        jobs: those it has taken so far.
        devices: those that its clients' trials hold, once for each client.
        answers: whether it does; if not, only ``socket`` and ``pid`` are known.
    """

    socket: str
    pid: int | None
    python: str = ""
    torch: str | None = None
    triton: str = ""
    up_s: float = 0.0
    idle_s: float = 0.0
    clients: int = 0
    running: int = 0
    waiting: int = 0
    jobs: int = 0
    devices: tuple[str, ...] = ()
    answers: bool = True


def running_services() -> tuple[ServiceStatus, ...]:
    """Those that are there; what a killed one left of itself is removed."""
    found = (_status(path) for path in sorted(folder().glob("*.sock")))
    return tuple(status for status in found if status is not None)


def stop_services() -> tuple[ServiceStatus, ...]:
    """End all of them, and their jobs; one that does not answer is killed. Those that were."""
    stopped = running_services()
    for status in stopped:
        path = Path(status.socket)
        with contextlib.suppress(ServiceError), _joined(path) as channel:
            channel.ask("stop").done.wait(_ANSWER_SECONDS)
        if not _gone_soon(path) and status.pid is not None:
            with contextlib.suppress(OSError):
                os.kill(status.pid, signal.SIGKILL)
    return stopped


def _status(path: Path) -> ServiceStatus | None:
    try:
        with _joined(path) as channel:
            pending = channel.ask("status")
            pending.done.wait(_ANSWER_SECONDS)
    except ServiceError:
        return _silent(path)
    if pending.answer is None:
        return _silent(path)
    value = pending.answer["value"]
    names = ServiceStatus.__dataclass_fields__.keys() & value.keys()
    return ServiceStatus(socket=str(path), **{name: value[name] for name in names})


@contextlib.contextmanager
def _joined(path: Path) -> Iterator[ServiceChannel]:
    channel: ServiceChannel | None = join(path)
    if channel is None:
        raise ServiceError(f"no service answers at {path}")
    try:
        yield channel
    finally:
        channel.close()


def _silent(path: Path) -> ServiceStatus | None:
    """A service that has the lock and does not answer; None, and no socket left, without one."""
    if not _locked(path):
        path.unlink(missing_ok=True)
        return None
    try:
        pid = int(json.loads(path.with_suffix(".lock").read_bytes())["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        pid = None
    return ServiceStatus(str(path), pid, answers=False)


def _locked(path: Path) -> bool:
    """Whether a service's process holds the socket's lock."""
    try:
        with path.with_suffix(".lock").open("rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _gone_soon(path: Path) -> bool:
    end = time.monotonic() + _END_SECONDS
    while _locked(path):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
