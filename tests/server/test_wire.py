"""The server on the wire: bytes in pieces, cancelled requests, TCP, and the order of the end."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import IO, Any

import pytest

SERVER = [sys.executable, "-m", "tilewright_server"]
URI = "file:///nowhere/kernel.py"
INITIALIZE = {"processId": None, "rootUri": None, "capabilities": {}}


class Wire:
    """A client that writes and reads raw messages."""

    def __init__(self, write: IO[bytes], read: IO[bytes]) -> None:
        self._write, self._read = write, read
        self._number = 0
        self.seen: list[Any] = []

    def send(self, method: str, params: Any = None, number: int | None = None) -> bytes:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        body = json.dumps(message).encode()
        return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

    def put(self, data: bytes) -> None:
        self._write.write(data)
        self._write.flush()

    def notify(self, method: str, params: Any) -> None:
        self.put(self.send(method, params))

    def ask(self, method: str, params: Any = None) -> int:
        self._number += 1
        self.put(self.send(method, params, self._number))
        return self._number

    def answer(self, number: int) -> Any:
        """The answer to a request; everything else that arrives is kept in ``seen``."""
        while True:
            for message in self.seen:
                if message.get("id") == number and "method" not in message:
                    self.seen.remove(message)
                    return message
            self.seen.append(self._receive())

    def _receive(self) -> Any:
        length = 0
        while (line := self._read.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            assert name in (b"Content-Length", b"Content-Type"), f"not a header: {line!r}"
            length = int(value) if name == b"Content-Length" else length
        assert length, "the server ended"
        return json.loads(self._read.read(length))


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen(SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    yield started
    started.kill()
    started.wait()


@pytest.fixture
def wire(forked_server: list[str]) -> Iterator[Wire]:
    """An initialized server of the test's own."""
    started = subprocess.Popen(forked_server, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    yield _greeted(started)
    started.kill()
    started.wait()


def _greeted(process: subprocess.Popen[bytes]) -> Wire:
    assert process.stdin is not None
    assert process.stdout is not None
    made = Wire(process.stdin, process.stdout)
    made.answer(made.ask("initialize", INITIALIZE))
    made.notify("initialized", {})
    return made


def _open(wire: Wire, text: str) -> None:
    document = {"uri": URI, "languageId": "python", "version": 1, "text": text}
    wire.notify("textDocument/didOpen", {"textDocument": document})


def _change(wire: Wire, version: int, start: list[int], end: list[int], text: str) -> None:
    place = {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }
    document = {"uri": URI, "version": version}
    wire.notify(
        "textDocument/didChange",
        {"textDocument": document, "contentChanges": [{"range": place, "text": text}]},
    )


def _characters(wire: Wire) -> int:
    number = wire.ask("workspace/executeCommand", {"command": "tilewright.debugInfo"})
    (document,) = wire.answer(number)["result"]["documents"]
    return int(document["characters"])


def test_capabilities_are_what_is_implemented(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    wire = Wire(process.stdin, process.stdout)
    result = wire.answer(wire.ask("initialize", INITIALIZE))["result"]
    offered = result["capabilities"]
    assert result["serverInfo"]["name"] == "tilewright"
    assert offered["codeActionProvider"] == {
        "codeActionKinds": [
            "quickfix",
            "refactor.rewrite.tilewright",
            "refactor.inputs.tilewright",
            "source.fixAll.tilewright",
        ],
        "resolveProvider": True,
    }
    assert offered["textDocumentSync"]["change"] == 2
    assert offered["diagnosticProvider"]["interFileDependencies"] is False
    assert sorted(offered["executeCommandProvider"]["commands"]) == [
        "tilewright.addSpec",
        "tilewright.applyCandidate",
        "tilewright.cancelJob",
        "tilewright.capture",
        "tilewright.captureCommands",
        "tilewright.compare",
        "tilewright.compile",
        "tilewright.counterpart",
        "tilewright.debugInfo",
        "tilewright.explain",
        "tilewright.listJobs",
        "tilewright.listTargets",
        "tilewright.models",
        "tilewright.openRun",
        "tilewright.optimize",
        "tilewright.profile",
        "tilewright.recordedRuns",
        "tilewright.runRecord",
        "tilewright.runText",
        "tilewright.runs",
        "tilewright.showCertificate",
        "tilewright.target",
        "tilewright.verify",
    ]


def test_messages_in_pieces(wire: Wire) -> None:
    data = wire.send("workspace/executeCommand", {"command": "tilewright.listJobs"}, 77)
    for start in range(0, len(data), 7):
        wire.put(data[start : start + 7])
        time.sleep(0.001)
    assert wire.answer(77)["result"] == []


def test_storm_of_cancelled_requests(wire: Wire) -> None:
    _open(wire, "x = 1\n")
    place = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}
    numbers = [wire.ask("textDocument/hover", place) for _ in range(70)]
    for number in numbers:
        wire.notify("$/cancelRequest", {"id": number})
    for number in numbers:
        answer = wire.answer(number)
        assert answer.get("error", {}).get("code", -32800) == -32800
    assert wire.answer(wire.ask("textDocument/hover", place))["result"] is None


def test_edits_past_the_end_and_across_every_line_end(wire: Wire) -> None:
    _open(wire, "a\r\nb\rc\n\fd")
    _change(wire, 2, [99, 0], [99, 9], "Z")
    assert _characters(wire) == len("a\r\nb\rc\n\fdZ")
    _change(wire, 3, [1, 0], [2, 99], "")
    assert _characters(wire) == len("a\r\n\n\fdZ")
    _change(wire, 4, [0, 99], [1, 0], "")
    assert _characters(wire) == len("a\n\fdZ")


def test_large_file(wire: Wire) -> None:
    line = "value = compute(a, b, c)  # a line like any other\n"
    _open(wire, line * 10_000)
    for version in range(2, 22):
        _change(wire, version, [version * 100, 0], [version * 100, 0], "x")
    assert _characters(wire) == len(line) * 10_000 + 20


def test_what_is_not_known_or_not_open_does_no_harm(wire: Wire) -> None:
    assert wire.answer(wire.ask("tilewright/nothing", {}))["error"]["code"] == -32601
    _change(wire, 5, [0, 0], [0, 0], "into a document nobody opened")
    place = {"textDocument": {"uri": URI}, "position": {"line": 3, "character": 0}}
    assert wire.answer(wire.ask("textDocument/hover", place))["result"] is None
    wire.notify("window/workDoneProgress/cancel", {"token": "no such token"})
    answer = wire.answer(wire.ask("workspace/executeCommand", {"command": "tilewright.none"}))
    assert answer["error"]["code"] == -32602


def test_request_after_shutdown_is_refused(process: subprocess.Popen[bytes]) -> None:
    wire = _greeted(process)
    assert wire.answer(wire.ask("shutdown"))["result"] is None
    place = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}
    assert wire.answer(wire.ask("textDocument/hover", place))["error"]["code"] == -32600
    wire.notify("exit", None)
    assert process.wait(timeout=600) == 0


@pytest.mark.parametrize(
    "command", [SERVER, [sys.executable, "-m", "tilewright", "lsp", "--log-level", "error"]]
)
def test_tcp_serves_one_client_and_ends(command: list[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([*command, "--tcp", str(port)])
    try:
        client = _connect(port)
        stream = client.makefile("rwb")
        wire = Wire(stream, stream)  # type: ignore[arg-type]
        assert wire.answer(wire.ask("initialize", INITIALIZE))["result"]["capabilities"]
        wire.answer(wire.ask("shutdown"))
        wire.notify("exit", None)
        assert server.wait(timeout=600) == 0
    finally:
        server.kill()
        server.wait()


def test_command_line_refuses_a_log_level_there_is_not() -> None:
    command = [sys.executable, "-m", "tilewright", "lsp", "--log-level", "loud"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 2
    assert "loud" in done.stderr


def _connect(port: int) -> socket.socket:
    end = time.monotonic() + 600
    while time.monotonic() < end:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=600)
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise AssertionError("the server never listened")
