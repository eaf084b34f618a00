"""Start a service: at most one per socket, daemonized, without inherited descriptors."""

from __future__ import annotations

import fcntl
import os
import selectors
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tilewright.devices.local_process import cannot_start, way_out
from tilewright.devices.model import DeviceError
from tilewright.devices.package import worker_zip
from tilewright.devices.service.places import (
    ServiceError,
    idle_seconds,
    open_socket,
    sent_environment,
)
from tilewright.worker.messages.envelope import Hello
from tilewright.worker.protocol import COMPILE_ONLY, SECRET, SERVICE, MessageBuffer

START_SECONDS = 180.0
_PAUSE_SECONDS = 0.05


def start_service(python: str, path: Path, *, compile_only: bool) -> None:
    """Start a service at ``path`` and wait until it listens; one that does already is left alone.

    Raises:
        ServiceError: it does not start; its words are beside the socket, in a file ``.log``.
        DeviceError: the interpreter lacks what a worker needs, as service or not.
    """
    with _alone(path.with_suffix(".starting")):
        found = open_socket(path)
        if found is not None:
            found.close()
            return
        hello = _hello(_started(python, path, compile_only), path)
    if "error" in hello:
        raise cannot_start(python, hello["error"], compile_only=compile_only)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time."""
    with path.open("ab") as file:
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    raise ServiceError(f"another process has been starting {path.stem}") from None
                time.sleep(_PAUSE_SECONDS)
        yield


def _started(python: str, path: Path, compile_only: bool) -> BinaryIO:
    """What it will say; the process that was started has already left it to itself."""
    arguments = [SERVICE, str(path), str(idle_seconds()), *([COMPILE_ONLY] if compile_only else [])]
    with path.with_suffix(".log").open("wb") as log:
        try:
            process = subprocess.Popen(
                [python, str(worker_zip()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={n: v for n, v in sent_environment().items() if not SECRET.search(n)},
                start_new_session=True,
            )
        except OSError as error:
            raise DeviceError(
                f"cannot start {python}: {error.strerror}; {way_out(compile_only=compile_only)}"
            ) from error
    try:
        process.wait(START_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdout is not None
    said: BinaryIO = process.stdout  # type: ignore[assignment]
    return said


def _hello(said: BinaryIO, path: Path) -> Hello:
    with said:
        data = _all_of(said.fileno())
    messages = MessageBuffer().feed(data)
    if not messages:
        lines = path.with_suffix(".log").read_text(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else f"no answer within {START_SECONDS:g} s"
        raise ServiceError(f"the service did not start: {reason}")
    hello: Hello = messages[0]["hello"]
    return hello


def _all_of(descriptor: int) -> bytes:
    """What is written until the other side closes, or has taken too long."""
    data = b""
    end = time.monotonic() + START_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while (left := end - time.monotonic()) > 0 and selector.select(left):
            more = os.read(descriptor, 1 << 16)
            if not more:
                break
            data += more
    return data
