"""Socket paths of worker services, their keys, and whether services are enabled."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import stat
import struct
from pathlib import Path

from tilewright.devices.local_process import worker_environment
from tilewright.devices.package import worker_hash
from tilewright.errors import TilewrightError
from tilewright.home import home
from tilewright.worker.sandbox.environment import allowed

SWITCH = "TILEWRIGHT_SERVICE"
IDLE = "TILEWRIGHT_SERVICE_IDLE"
IDLE_SECONDS = 600.0
# What an interpreter and libraries read as they start: a service cannot get it from a client.
_READ_AT_START = re.compile(
    "PYTHONPATH|PYTHONHOME|LD_LIBRARY_PATH|LD_PRELOAD|GLIBC_TUNABLES|"
    "(OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|MALLOC|JEMALLOC|ATEN|TORCH|PYTORCH)_.*"
)
_CREDENTIALS = struct.Struct("3i")


class ServiceError(TilewrightError):
    """There is no service to be had; the message says why."""


def enabled() -> bool:
    """Whether jobs go to a service; ``TILEWRIGHT_SERVICE=0`` says no."""
    return os.environ.get(SWITCH) != "0"


def idle_seconds() -> float:
    """After how long without a job a service ends: ``$TILEWRIGHT_SERVICE_IDLE``, or ten minutes."""
    try:
        return max(0.0, float(os.environ.get(IDLE) or IDLE_SECONDS))
    except ValueError:
        return IDLE_SECONDS


def folder() -> Path:
    """The folder of the sockets; raises ServiceError where others may enter it, or it is none."""
    path = home() / "service"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise ServiceError(f"cannot make the folder {path}: {error.strerror}") from error
    private = not stat.S_IMODE(found.st_mode) & 0o077
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or not private:
        raise ServiceError(f"{path} is not this user's alone; run `chmod 700 {path}` or remove it")
    return path


def socket_path(python: str, *, compile_only: bool) -> Path:
    """The socket of an interpreter's service, another one for each version of the worker."""
    parts = [
        str(Path(python).absolute()),
        worker_hash(),
        str(compile_only),
        *(f"{n}={v}" for n, v in sorted(os.environ.items()) if _READ_AT_START.fullmatch(n)),
        # A service has the priority and the processors of the process that starts it.
        str(os.getpriority(os.PRIO_PROCESS, 0)),
        str(sorted(os.sched_getaffinity(0))),
    ]
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return folder() / f"{name}.sock"


def sent_environment() -> dict[str, str]:
    """The variables of this process that a job's child may have."""
    return allowed(worker_environment())


def open_socket(path: Path) -> socket.socket | None:
    """A connection to the process that listens at ``path``; None if there is none.

    A path may be longer than an address may be; its folder's descriptor is not.

    Raises:
        ServiceError: another user's process listens there.
    """
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    place = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        client.connect(f"/proc/self/fd/{place}/{path.name}")
    except OSError:
        client.close()
        return None
    finally:
        os.close(place)
    data = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    if _CREDENTIALS.unpack(data)[1] != os.getuid():
        client.close()
        raise ServiceError(f"another user's process listens at {path}")
    return client
