"""One worker on another host: an ssh process, its answers, its end."""

from __future__ import annotations

import re
import subprocess
import threading
import uuid
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from tilewright import worker
from tilewright.devices.client import WorkerClient
from tilewright.devices.model import DeviceError
from tilewright.devices.package import PACKAGE, worker_zip
from tilewright.devices.remote.address import Address
from tilewright.devices.remote.path_mapping import Edge, GoneError
from tilewright.devices.remote.uplink import Link
from tilewright.devices.rpc import (
    ENDING_SECONDS,
    Conversation,
    Pending,
    ProcessChannel,
    WorkerChannel,
)
from tilewright.worker.messages.envelope import Answer, Hello, Job
from tilewright.worker.protocol import LOST

_STOP_SECONDS = 12.0
_NOISE = 1 << 20
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
_SSH_FAILED = 255
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
_CAUSES = (
    (
        r"host key verification failed|host key (?:for .* )?has changed|remote host identification",
        "its host key is not one that you have accepted",
        "run `{ssh} true` once, compare the key and accept it",
    ),
    (
        r"permission denied|too many authentication failures|no supported authentication",
        "it does not let you in without a question",
        "make `{ssh} true` work without typing anything (ssh-agent, ssh-copy-id), then try again",
    ),
    (
        r"could not resolve hostname|name or service not known",
        "there is no host of that name",
        "check the name, or add it to ~/.ssh/config",
    ),
    (
        r"connection refused|timed out|no route to host|network is unreachable|connection closed|"
        r"connection reset|kex_exchange",
        "it does not answer",
        "see that it is on and that `{ssh} true` works",
    ),
    (
        r"bad configuration option|bad owner or permissions",
        "ssh does not take its configuration",
        "fix ~/.ssh/config until `{ssh} true` works",
    ),
)


class SshChannel(ProcessChannel):
    """Starts a worker on a host and carries messages; raises DeviceError if it cannot start."""

    def __init__(self, address: Address, arguments: tuple[str, ...] = ()) -> None:
        self._address = address
        self._mark = uuid.uuid4().hex
        first = first_code(self._mark, len(archive()), arguments)
        super().__init__(started(address, len(first)), _STOP_SECONDS)
        self._link = Link(self._stdin)
        writer = cast("BinaryIO", self._link)
        self._talk = Conversation(self._stdout, writer, self._has_ended, heard=self._local_answer)
        self._edge: Edge
        with self._limited():
            self.hello = self._greeted(first)
        self._talk.start()

    def send(self, job: Job[Any], timeout_s: float) -> Pending:
        """Hand a job over, after the files it names; the answer, or the end, sets ``done``."""
        try:
            return self._talk.send(self._edge.sent(job), timeout_s)
        except GoneError as error:
            text = f"the connection was cut since, and with it went {error}"
            return _answered({"status": LOST, "message": text})
        except OSError:
            return _answered(None)

    def close(self) -> None:
        """End the worker there and everything it started; waits until ssh has ended."""
        self._talk.close()
        self._reap()

    def _greeted(self, first: bytes) -> Hello:
        try:
            self._link.raw(first + archive())
        except OSError:  # ssh has ended; it says why
            raise self._refused() from None
        if not self._arrived():
            raise self._refused()
        keeper = self._hello()
        self._link.start()
        hello = self._hello() if keeper else {}
        if not ("torch" in hello or "error" in hello):
            raise self._refused()
        python = str(keeper["python"])
        if "error" in hello:
            self.close()
            raise lacks(self._address, python, hello["error"])
        self._edge = Edge(self._link, str(keeper["place"]))
        return {**hello, "host": keeper["host"], "executable": python}

    def _hello(self) -> Hello:
        return (self._talk.receive() or {}).get("hello") or {}

    def _arrived(self) -> bool:
        """Skip what a login script printed; whether the first code there said its mark."""
        heard = b""
        mark = self._mark.encode()
        while not heard.endswith(mark) and len(heard) < _NOISE:
            data = self._stdout.read(1)
            if not data:
                return False
            heard += data
        return heard.endswith(mark)

    def _refused(self) -> Exception:
        self._reap(ENDING_SECONDS)
        return refused(self._address, self._process.returncode, self._printed())

    def _local_answer(self, answer: Answer) -> Answer:
        return self._edge.names_left_out(self._edge.incoming(answer), self._address.host)

    def _has_ended(self) -> None:
        """No more answers follow; callers that wait do not wait for the clean-up as well."""
        self._link.stop()
        threading.Thread(target=self._reap, daemon=True).start()


def _answered(answer: Answer | None) -> Pending:
    pending = Pending()
    pending.finish(answer)
    return pending


class RemoteClient(WorkerClient):
    """A worker on a host, as ``WorkerClient`` is one here; does every kind of job."""

    def __init__(self, address: Address) -> None:
        super().__init__(address.place)
        self._address = address

    def _opened(self) -> SshChannel:
        return SshChannel(self._address)

    def _fate(self, channel: WorkerChannel) -> str:
        said = channel.last_words if isinstance(channel, SshChannel) else ""
        return f"the connection to {self._address.host} was cut{f' ({said})' if said else ''}"


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


def ssh_command(address: Address) -> str:
    """What a person types to see for themselves."""
    port = f"-p {address.port} " if address.port else ""
    user = f"{address.user}@" if address.user else ""
    return f"ssh {port}{user}{address.host}"


def no_ssh() -> DeviceError:
    """There is no ``ssh`` program."""
    return DeviceError(
        "there is no `ssh` here to reach another host with; install OpenSSH's client "
        "(apt-get install openssh-client)"
    )


def refused(address: Address, code: int | None, said: str) -> DeviceError:
    """What became of an attempt that ended with ``code`` after saying ``said`` on stderr."""
    lines = [line.strip() for line in said.strip().splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    if code == _SSH_FAILED:
        return _from_ssh(address, said, last)
    if code in (_NOT_FOUND, _NOT_EXECUTABLE):
        return DeviceError(
            f"{address.place}: there is no {address.python or 'python3'} to run there"
            f"{_quoted(last)}; name one that has torch and triton: "
            f"ssh://{address.host}/path/to/python"
        )
    missing = re.search(r"No module named '(?:torch|triton|numpy)'", last)
    if missing:
        return lacks(address, address.python or "python3", missing[0])
    if code is not None and code < 0:
        why = "ssh was ended before a worker there was ready"
    else:
        why = last or f"it ended with exit code {code} and without output"
    return DeviceError(f"{address.place}: no worker could be started there: {why}")


def lacks(address: Address, python: str, reason: str) -> DeviceError:
    """The interpreter there cannot import what a worker needs."""
    return DeviceError(
        f"{address.place}: {python} cannot run kernels: {reason}; pip install torch triton there, "
        f"or name an interpreter that has them: ssh://{address.host}/path/to/python"
    )


def _from_ssh(address: Address, said: str, last: str) -> DeviceError:
    for pattern, what, way_out in _CAUSES:
        if re.search(pattern, said, re.IGNORECASE):
            out = way_out.format(ssh=ssh_command(address))
            return DeviceError(f"{address.place}: {what}{_quoted(last)}; {out}")
    return DeviceError(
        f"{address.place}: ssh did not get there{_quoted(last)}; see that "
        f"`{ssh_command(address)} true` works"
    )


def _quoted(line: str) -> str:
    return f" ({line})" if line else ""
