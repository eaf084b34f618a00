"""One worker on another host: an ssh process, its answers, its end."""

from __future__ import annotations

import subprocess
import threading
import uuid
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

from tilewright.devices.remote.address import Address
from tilewright.devices.remote.errors import lacks, refused
from tilewright.devices.remote.path_mapping import Edge, GoneError
from tilewright.devices.remote.ssh_process import archive, first_code, started
from tilewright.devices.remote.uplink import Link
from tilewright.devices.rpc import Conversation, Pending
from tilewright.worker.protocol import ERROR, LOST

_START_SECONDS = 180.0
_STOP_SECONDS = 12.0
_ENDING_SECONDS = 2.0
_TAIL = 4096
_NOISE = 1 << 20


class SshChannel:
    """Starts a worker on a host and carries messages; raises DeviceError if it cannot start."""

    def __init__(self, address: Address, arguments: tuple[str, ...] = ()) -> None:
        self._address = address
        self._stderr = bytearray()
        self._mark = uuid.uuid4().hex
        first = first_code(self._mark, len(archive()), arguments)
        self._process = started(address, len(first))
        self._reader = cast("BinaryIO", self._process.stdout)
        self._link = Link(cast("BinaryIO", self._process.stdin))
        self._words = threading.Thread(target=self._read_stderr, daemon=True)
        self._words.start()
        self._talk = Conversation(
            self._reader,
            cast("BinaryIO", self._link),
            self._has_ended,
            heard=self._heard,
        )
        self._edge: Edge
        self.hello = self._greet(first)
        self._talk.start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None and self._talk.alive

    @property
    def pid(self) -> int:
        """The ssh process here."""
        return self._process.pid

    @property
    def last_words(self) -> str:
        """The last line that ssh, or what it started, wrote to stderr."""
        self._words.join(_ENDING_SECONDS)
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1].strip() if lines else ""

    def send(self, job: Mapping[str, Any], timeout_s: float) -> Pending:
        """Hand a job over, after the files it names; the answer, or the end, sets ``done``."""
        try:
            return self._talk.send(self._edge.outgoing(job), timeout_s)
        except GoneError as error:
            text = f"the connection was cut since, and with it went {error}"
            return _answered({"status": LOST, "message": text})
        except OSError:
            return _answered(None)

    def answers(self) -> bool:
        """Whether there is anybody; it starts each job at once, so that none waits."""
        return self.alive

    def cancel_all(self) -> None:
        """Stop every job under way; each is answered as an error."""
        self._talk.cancel_all()

    def close(self) -> None:
        """End the worker there and everything it started; waits until ssh has ended."""
        self._talk.close()
        self._reap()

    def _reap(self) -> None:
        """Wait until what is there has cleaned up and ssh has ended, but not forever."""
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _greet(self, first: bytes) -> dict[str, Any]:
        timer = threading.Timer(_START_SECONDS, self._process.kill)
        timer.start()
        try:
            return self._greeted(first)
        finally:
            timer.cancel()

    def _greeted(self, first: bytes) -> dict[str, Any]:
        try:
            self._link.raw(first + archive())
        except OSError:  # ssh has ended; it says why
            raise self._refused() from None
        if not self._arrived():
            raise self._refused()
        keeper = self._talk.receive()
        self._link.start()
        hello: dict[str, Any] = ((self._talk.receive() if keeper else None) or {}).get(
            "hello"
        ) or {}
        if keeper is None or not ("torch" in hello or "error" in hello):
            raise self._refused()
        python = str(keeper["python"])
        if "error" in hello:
            self.close()
            raise lacks(self._address, python, hello["error"])
        self._edge = Edge(self._link, str(keeper["place"]))
        return {**hello, "host": keeper["host"], "executable": python}

    def _arrived(self) -> bool:
        """Skip what a login script printed; whether the first code there said its mark."""
        heard = b""
        mark = self._mark.encode()
        while not heard.endswith(mark) and len(heard) < _NOISE:
            data = self._reader.read(1)
            if not data:
                return False
            heard += data
        return heard.endswith(mark)

    def _refused(self) -> Exception:
        try:
            self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._words.join(_ENDING_SECONDS)
        said = self._stderr.decode("utf-8", "replace")
        return refused(self._address, self._process.returncode, said)

    def _heard(self, answer: dict[str, Any]) -> dict[str, Any]:
        answer = self._edge.incoming(answer)
        left_out = self._edge.left_out
        if answer.get("status") == ERROR and left_out and _misses_a_file(answer["message"]):
            told = ", ".join(f"{path} ({why})" for path, why in list(left_out.items())[:3])
            more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
            answer["message"] += f"; not sent to {self._address.host}: {told}{more}"
        return answer

    def _has_ended(self) -> None:
        """There is no more to hear; whoever waits need not wait for the cleaning up as well."""
        self._link.stop()
        threading.Thread(target=self._reap, daemon=True).start()

    def _read_stderr(self) -> None:
        stderr = self._process.stderr
        while stderr is not None and (data := stderr.read1(_TAIL)):  # type: ignore[attr-defined]
            self._stderr += data
            del self._stderr[:-_TAIL]


def _answered(answer: dict[str, Any] | None) -> Pending:
    pending = Pending()
    pending.finish(answer)
    return pending


def _misses_a_file(message: str) -> bool:
    return any(words in message for words in ("No such file", "No module named", "ImportError"))
