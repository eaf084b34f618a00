"""One worker on another host: an ssh process, its answers, its end."""

from __future__ import annotations

import threading
import uuid
from typing import Any, BinaryIO, cast

from tilewright.devices.remote.address import Address
from tilewright.devices.remote.errors import lacks, refused
from tilewright.devices.remote.path_mapping import Edge, GoneError
from tilewright.devices.remote.ssh_process import archive, first_code, started
from tilewright.devices.remote.uplink import Link
from tilewright.devices.rpc import ENDING_SECONDS, Conversation, Pending, ProcessChannel
from tilewright.worker.messages.envelope import Answer, Hello, Job
from tilewright.worker.protocol import LOST

_STOP_SECONDS = 12.0
_NOISE = 1 << 20


class SshChannel(ProcessChannel):
    """Starts a worker on a host and carries messages; raises DeviceError if it cannot start."""

    def __init__(self, address: Address, arguments: tuple[str, ...] = ()) -> None:
        self._address = address
        self._mark = uuid.uuid4().hex
        first = first_code(self._mark, len(archive()), arguments)
        super().__init__(started(address, len(first)), _STOP_SECONDS)
        self._link = Link(self._stdin)
        writer = cast("BinaryIO", self._link)
        self._talk = Conversation(self._stdout, writer, self._has_ended, heard=self._heard)
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

    def _heard(self, answer: Answer) -> Answer:
        return self._edge.names_left_out(self._edge.incoming(answer), self._address.host)

    def _has_ended(self) -> None:
        """There is no more to hear; whoever waits need not wait for the cleaning up as well."""
        self._link.stop()
        threading.Thread(target=self._reap, daemon=True).start()


def _answered(answer: Answer | None) -> Pending:
    pending = Pending()
    pending.finish(answer)
    return pending
