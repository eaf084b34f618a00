"""A blocking JSON-RPC client over a server's stdin and stdout; enough to time one."""

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Self

Message = Mapping[str, Any]


class Client:
    """Speaks to one language server; answers what it asks with nothing.

    A thread reads, so that a wait can end: ``TimeoutError`` after ``patience_s`` without an
    answer, ``RuntimeError`` for an error or the end of the server.
    """

    def __init__(
        self, argv: Sequence[str], patience_s: float = 120.0, stderr: IO[bytes] | None = None
    ) -> None:
        self._server = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        )
        self._next = 0
        self._patience_s = patience_s
        self._arrived: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._server.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.kill()
        self._server.wait()

    def notify(self, method: str, params: Message) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: Message | None) -> Any:
        """The result; notifications that come first are dropped, requests answered with null."""
        self._next += 1
        number = self._next
        self._send({"id": number, "method": method, "params": params})
        found = self._wait_for(lambda m: m.get("id") == number and "method" not in m)
        if "error" in found:
            raise RuntimeError(f"{method}: {found['error']['message']}")
        return found["result"]

    def await_notification(self, method: str, accept: Callable[[Message], bool]) -> Message:
        """The parameters of the next notification of a method that ``accept`` takes."""
        found = self._wait_for(lambda m: m.get("method") == method and accept(m["params"]))
        params: Message = found["params"]
        return params

    def drain(self) -> None:
        """Drop what has arrived, after answering it."""
        while not self._arrived.empty():
            self._answer(self._receive(time.monotonic() + self._patience_s))

    def _wait_for(self, accept: Callable[[Message], bool]) -> Message:
        until = time.monotonic() + self._patience_s
        while True:
            message = self._receive(until)
            if accept(message):
                return message
            self._answer(message)

    def _answer(self, message: Message) -> None:
        if "id" in message and "method" in message:
            self._send({"id": message["id"], "result": _nothing(message)})

    def _send(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._server.stdin.flush()

    def _receive(self, until: float) -> Message:
        try:
            message = self._arrived.get(timeout=max(until - time.monotonic(), 0.0))
        except queue.Empty:
            raise TimeoutError(f"no answer in {self._patience_s} s") from None
        if message is None:
            raise RuntimeError(f"the server ended with exit code {self._server.wait()}")
        return message

    def _read(self) -> None:
        assert self._server.stdout is not None
        while (message := _read_message(self._server.stdout)) is not None:
            self._arrived.put(message)
        self._arrived.put(None)


def _read_message(stream: IO[bytes]) -> Message | None:
    """The next message; None at the end of the stream."""
    length = None
    while line := stream.readline():
        if not line.strip():
            break
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if length is None:
        return None
    message: Message = json.loads(stream.read(length))
    return message


def _nothing(message: Message) -> Any:
    """workspace/configuration expects a list as long as its items."""
    if message["method"] == "workspace/configuration":
        return [None] * len(message["params"]["items"])
    return None
