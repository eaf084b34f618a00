"""The ssh process and the first code on the other side of it."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from tilewright import worker
from tilewright.devices.package import PACKAGE, worker_zip
from tilewright.devices.remote.address import Address
from tilewright.devices.remote.errors import no_ssh

OPTIONS = (
    "-T", "-a", "-x",
    "-o", "BatchMode=yes",
    "-o", "ConnectTimeout=10",
    "-o", "ServerAliveInterval=3",
    "-o", "ServerAliveCountMax=3",
    "-o", "ClearAllForwardings=yes",
    "-o", "RemoteCommand=none",
    "-o", "LogLevel=ERROR",
)  # fmt: skip
# No quote, no newline: every shell hands it on as it is. Unbuffered, as the keeper reads on.
_FIRST = "import io;exec(io.BufferedReader(io.FileIO(0,closefd=False),1).read({size}))"


def started(address: Address, size: int) -> subprocess.Popen[bytes]:
    """ssh, about to have Python there execute the first ``size`` bytes that it is sent.

    Raises:
        DeviceError: there is no ssh.
    """
    command = f"exec {address.interpreter} -c '{_FIRST.format(size=size)}'"
    try:
        return subprocess.Popen(
            ["ssh", *OPTIONS, *address.destination, command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError:
        raise no_ssh() from None


@cache
def archive() -> bytes:
    """The worker's zip."""
    return worker_zip().read_bytes()


def first_code(mark: str, size: int, arguments: tuple[str, ...]) -> bytes:
    """The text that ``python -c`` executes there first."""
    text = (Path(worker.__file__).parent / "remote" / "bootstrap.py").read_text()
    return f"{text}\n\narrive({PACKAGE!r}, {mark!r}, {size}, {list(arguments)!r})\n".encode()
