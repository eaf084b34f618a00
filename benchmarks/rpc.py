"""A blocking JSON-RPC client over a server's stdin and stdout; enough to time one."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Self


class Client:
    """Speaks to one language server; answers what it asks with nothing."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.kill()
        self._server.communicate()

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: Mapping[str, Any] | None) -> Any:
        """The result; notifications that come first are dropped, requests answered with null."""
        self._next += 1
        self._send({"id": self._next, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._next and "method" not in message:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if "id" in message and "method" in message:
                self._send({"id": message["id"], "result": _nothing(message)})

    def _send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._server.stdin.flush()

    def _receive(self) -> Mapping[str, Any]:
        assert self._server.stdout is not None
        length = None
        while line := self._server.stdout.readline():
            if not line.strip():
                break
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if length is None:
            raise RuntimeError(f"the server ended with exit code {self._server.wait()}")
        message: Mapping[str, Any] = json.loads(self._server.stdout.read(length))
        return message


def _nothing(message: Mapping[str, Any]) -> Any:
    """workspace/configuration expects a list as long as its items."""
    if message["method"] == "workspace/configuration":
        return [None] * len(message["params"]["items"])
    return None
