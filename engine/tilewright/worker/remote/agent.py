"""Agent next to a remote worker: forwards the engine's messages and cleans up.

On the way there each message begins with one byte, its kind, and four bytes, its length:

- ``J``: a request, handed to the worker as it is.
- ``P``: files, put below the folder ``at`` under the paths that they have on the engine's side; see
  ``mirror``.
- ``B``: the engine is there; one that is silent for ``QUIET_S`` is assumed dead.

What the worker answers goes back without passing here; before it says hello, the keeper says one of
``place``, ``host`` and ``python``.
"""

from __future__ import annotations

import contextlib
import os
import platform
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from ..protocol import FOLDER_PREFIX, MARKER
from ..runtime import process_tree
from ..runtime.connections import write_message
from .file_sync import Mirror

LINK = struct.Struct(">cI")
REQUEST, FILES, BEAT = b"J", b"P", b"B"
BEAT_S = 5.0
QUIET_S = 30.0
_ENDING_S = 8.0
_PREFIX = "tilewright-"
_MEMORY = "/dev/shm"


class _Gone(Exception):  # noqa: N818 - no error: the engine, or the worker, has ended
    """There is nobody left to keep anything for."""


def main(mark: str, place: str, archive: str, arguments: list[str]) -> NoReturn:
    """Start the worker and relay until the engine or the worker is gone; leaves nothing behind."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    code = 1
    try:
        process_tree.become_subreaper()
        _sweep()
        code = _keep(mark, place, archive, arguments)
    except (_Gone, BrokenPipeError):
        code = 0
    except OSError as error:
        sys.stderr.write(f"{error.strerror or error}: {error.filename or place}\n")
    finally:
        _clean_up(mark, place)
        os._exit(code)


def _keep(mark: str, place: str, archive: str, arguments: list[str]) -> int:
    os.write(1, mark.encode())
    told = {"place": place, "host": platform.node(), "python": sys.executable}
    write_message(1, {"hello": told})
    environment = {
        **os.environ, MARKER: mark, "TMPDIR": place, "TRITON_CACHE_DIR": f"{place}/triton",
    }  # fmt: skip
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")  # as on this machine: devices/local_process
    environment.pop("TRITON_INTERPRET", None)
    os.mkdir(environment["TRITON_CACHE_DIR"])  # noqa: PTH102
    worker = subprocess.Popen(
        [sys.executable, archive, *arguments],
        stdin=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    assert worker.stdin is not None
    # Only the worker answers from here on: its end must be the end of the stream.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        _relay(worker, worker.stdin.fileno(), Mirror(place))
    finally:
        with contextlib.suppress(OSError):
            worker.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(_ENDING_S)
        if worker.poll() is None:
            worker.kill()
    return worker.wait()


def _relay(worker: subprocess.Popen[bytes], there: int, mirror: Mirror) -> None:
    ended = os.pidfd_open(worker.pid)
    heard = time.monotonic()
    while True:
        left = heard + QUIET_S - time.monotonic()
        ready, _, _ = select.select([0, ended], [], [], max(0.0, left))
        if ended in ready or not ready:
            return
        kind, body = _message()
        heard = time.monotonic()
        if kind == REQUEST:
            _write(there, body)
        elif kind == FILES:
            mirror.put(body)


def _message() -> tuple[bytes, bytes]:
    kind, length = LINK.unpack(_read(LINK.size))
    return kind, _read(length)


def _read(size: int) -> bytes:
    """So many bytes of standard input; raises _Gone where they do not come."""
    parts = []
    while size:
        ready, _, _ = select.select([0], [], [], QUIET_S)
        data = os.read(0, min(size, 1 << 20)) if ready else b""
        if not data:
            raise _Gone
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def _write(there: int, body: bytes) -> None:
    view = memoryview(body)
    while view:
        view = view[os.write(there, view) :]


def _clean_up(mark: str, place: str) -> None:
    """End whatever was started here, and remove what was written."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    process_tree.kill_all()
    process_tree.kill_marked(f"{MARKER}={mark}")
    for folder in (place, f"{_MEMORY}/{FOLDER_PREFIX}{mark}"):
        shutil.rmtree(folder, ignore_errors=True)


def _sweep() -> None:
    """Remove this user's folders whose keeper was killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        number = path.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            mine = path.stat().st_uid == os.getuid() and (path / "worker.zip").is_file()
            if mine and number.isdigit() and not Path(f"/proc/{number}").exists():
                shutil.rmtree(path, ignore_errors=True)


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise _Gone
