"""An OpenAI-compatible server on loopback whose replies and faults a test writes.

A script is a function of the request and its number, from 0: it returns an ``Answer`` or a fault.
Every request is kept. ``serve`` runs the server in threads of the test, ``serve_process`` in a
process of its own with a script named as ``module:function`` (the module is found on PYTHONPATH).
"""

import argparse
import contextlib
import importlib
import json
import os
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class Request:
    """A request as it arrived. ``headers`` have lower-case names."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body.get("messages", ()))

    @property
    def prompt(self) -> str:
        """All messages as one text."""
        return "\n".join(str(message["content"]) for message in self.messages)

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))


class Reaction(Protocol):
    """What the server does with a request."""

    def send(self, call: "Handler", request: Request) -> None: ...


Script = Callable[[Request, int], Reaction]


@dataclass(frozen=True)
class Answer:
    """A reply.

    Attributes:
        text: None is sent as ``content: null``.
        prompt_tokens, completion_tokens: by default a quarter of the characters.
        usage: whether the reply reports tokens; in a stream, only if the request asks for them.
        delay_s: seconds of silence before the headers.
        pieces: the parts of a streamed text, with ``between_s`` seconds between them.
        stream: False answers with one JSON document even if a stream is asked for.
    """

    text: str | None
    finish: str = "stop"
    model: str | None = None
    refusal: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int = 0
    usage: bool = True
    delay_s: float = 0.0
    pieces: int = 4
    between_s: float = 0.0
    stream: bool = True

    def send(self, call: "Handler", request: Request) -> None:
        if not call.idle(self.delay_s):
            return
        if request.streams and self.stream:
            self._send_stream(call, request)
        else:
            call.send_json(200, self.document(request))

    def document(self, request: Request) -> dict[str, Any]:
        """The reply in one piece."""
        message = {"role": "assistant", "content": self.text, "refusal": self.refusal}
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        found = self._head(request, "chat.completion") | {"choices": [choice]}
        return found | ({"usage": self._usage(request)} if self.usage else {})

    def events(self, request: Request) -> Iterator[dict[str, Any]]:
        """The reply in pieces."""
        head = self._head(request, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
            return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        yield chunk({"role": "assistant", "content": None if self.text is None else ""})
        text = self.text or ""
        size = max(1, -(-len(text) // self.pieces))
        for begin in range(0, len(text), size):
            yield chunk({"content": text[begin : begin + size]})
        if self.refusal:
            yield chunk({"refusal": self.refusal})
        yield chunk({}, self.finish)
        wanted = (request.body.get("stream_options") or {}).get("include_usage")
        if self.usage and wanted:
            yield head | {"choices": [], "usage": self._usage(request)}

    def _send_stream(self, call: "Handler", request: Request) -> None:
        call.begin_stream()
        for event in self.events(request):
            call.send_event(json.dumps(event))
            if not call.idle(self.between_s):
                return
        call.send_event("[DONE]")
        call.end_stream()

    def _head(self, request: Request, kind: str) -> dict[str, Any]:
        model = self.model or request.body.get("model")
        return {"id": f"reply-{request.number}", "object": kind, "created": 0, "model": model}

    def _usage(self, request: Request) -> dict[str, Any]:
        asked = self.prompt_tokens
        tokens_in = len(request.prompt) // 4 if asked is None else asked
        given = self.completion_tokens
        tokens_out = len(self.text or "") // 4 if given is None else given
        return {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
        }


@dataclass(frozen=True)
class Refused:
    """A status with an error; ``error`` is the message, or the whole body."""

    status: int
    error: str | Mapping[str, Any] = "refused by the script"
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def send(self, call: "Handler", request: Request) -> None:
        body: Any = self.error
        if isinstance(self.error, str):
            body = {"error": {"message": self.error, "code": self.code, "param": self.param}}
        call.send_json(self.status, body, self.headers)


@dataclass(frozen=True)
class Closed:
    """The connection ends early; ``when`` is "before headers", "after headers" or "half body"."""

    when: str

    def send(self, call: "Handler", request: Request) -> None:
        if self.when != "before headers":
            whole = json.dumps(Answer("half of this text is missing").document(request)).encode()
            call.send_response(200)
            call.send_header("Content-Type", "application/json")
            call.send_header("Content-Length", str(len(whole)))
            call.end_headers()
            if self.when == "half body":
                call.wfile.write(whole[: len(whole) // 2])
            call.wfile.flush()
        call.cut()


@dataclass(frozen=True)
class Huge:
    """A reply of so many bytes, with a status."""

    size: int
    status: int = 200

    def send(self, call: "Handler", request: Request) -> None:
        kind = "text/event-stream" if request.streams else "application/json"
        call.send_response(self.status)
        call.send_header("Content-Type", kind)
        call.send_header("Content-Length", str(self.size))
        call.end_headers()
        part = b"x" * 65536
        sent = 0
        while sent < self.size:
            sent += call.wfile.write(part[: self.size - sent])
            call.server.sent_bytes = sent


@dataclass(frozen=True)
class Raw:
    """A body as it is."""

    body: bytes
    kind: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def send(self, call: "Handler", request: Request) -> None:
        call.send_bytes(self.status, self.body, self.kind, self.headers)


@dataclass(frozen=True)
class Redirected:
    """Another address."""

    to: str
    status: int = 307

    def send(self, call: "Handler", request: Request) -> None:
        call.send_bytes(self.status, b"", "text/plain", {"Location": self.to})


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: "ScriptedServer"

    def do_GET(self) -> None:
        request = self.server.keep(self.path, self.headers, {})
        if self.server.demands_key and "authorization" not in request.headers:
            Refused(401, "missing bearer").send(self, request)
        elif self.path.rstrip("/").endswith("/models"):
            models = [{"id": name, "object": "model"} for name in self.server.models]
            self.send_json(200, {"object": "list", "data": models})
        else:
            Refused(404, f"nothing at {self.path}").send(self, request)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length) or b"{}")
        request = self.server.keep(self.path, self.headers, body)
        if not self.path.endswith("/chat/completions"):
            Refused(404, f"nothing at {self.path}").send(self, request)
            return
        try:
            self.server.script(request, request.number).send(self, request)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self._hung_up()
        finally:
            self.server.finished()

    def send_json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        self.send_bytes(status, json.dumps(value).encode(), "application/json", headers or {})

    def send_bytes(self, status: int, body: bytes, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send_event(self, data: str) -> None:
        event = f"data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.flush()

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def idle(self, seconds: float) -> bool:
        """Wait; False as soon as the client has closed the connection."""
        if seconds <= 0:
            return True
        ready, _, _ = select.select([self.connection], [], [], seconds)
        if ready and not self.connection.recv(1, socket.MSG_PEEK):
            self._hung_up()
            return False
        return True

    def cut(self) -> None:
        """End the connection without another byte."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def _hung_up(self) -> None:
        self.close_connection = True
        self.server.hung_up.append(time.monotonic())


class ScriptedServer(ThreadingHTTPServer):
    """Answers by a script and keeps what it was asked.

    Attributes:
        requests: in the order of arrival, those for the list of models included.
        hung_up: when a client closed a connection before its reply was complete.
        most_at_once: the largest number of completions under way at one time.
        sent_bytes: of the last ``Huge``.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, script: Script, models: tuple[str, ...], log: Path | None, port: int = 0
    ) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.script = script
        self.models = models
        self.demands_key = False
        self.requests: list[Request] = []
        self.hung_up: list[float] = []
        self.most_at_once = 0
        self.sent_bytes = 0
        self._log = log
        self._lock = threading.Lock()
        self._at_once = 0
        self._completions = 0
        self._scheme = "http"

    @property
    def base_url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def completions(self) -> list[Request]:
        """The requests for a completion."""
        with self._lock:
            return [request for request in self.requests if request.body]

    def use_tls(self, certificate: Path, key: Path) -> None:
        """Speak https; call before the first request."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self._scheme = "https"

    def keep(self, path: str, headers: Any, body: Mapping[str, Any]) -> Request:
        """Keep a request; a completion gets the next number of the script."""
        with self._lock:
            number = self._completions
            if body:
                self._completions += 1
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
            lower = {name.lower(): value for name, value in headers.items()}
            request = Request(number, path, lower, body)
            self.requests.append(request)
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(request)) + "\n")
        return request

    def finished(self) -> None:
        with self._lock:
            self._at_once -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that failed (TLS refused by the client) ends; others go on."""


@contextlib.contextmanager
def serve(
    script: Script, models: tuple[str, ...] = ("scripted",), port: int = 0
) -> Iterator[ScriptedServer]:
    """A server in threads of this process."""
    server = ScriptedServer(script, models, None, port)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@dataclass(frozen=True)
class ServerProcess:
    """A server in a process of its own."""

    base_url: str
    log: Path
    pid: int

    @property
    def requests(self) -> list[Request]:
        """What it was asked so far."""
        if not self.log.exists():
            return []
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [Request(**json.loads(line)) for line in lines]

    @property
    def completions(self) -> list[Request]:
        """The requests for a completion."""
        return [request for request in self.requests if request.body]


@contextlib.contextmanager
def serve_process(
    script: str, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[ServerProcess]:
    """Run this file with a script ``module:function``; requests go to ``log``, one JSON a line."""
    here = str(Path(__file__).parent)
    given = {**os.environ, **(environment or {})}
    given["PYTHONPATH"] = os.pathsep.join(filter(None, (here, given.get("PYTHONPATH"))))
    command = [sys.executable, __file__, "--script", script, "--log", str(log)]
    process = subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        assert base_url, f"the server did not start: {command}"
        yield ServerProcess(base_url, log, process.pid)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def by_turn(*reactions: Reaction) -> Script:
    """The n-th reaction for the n-th completion; the last one from there on."""
    return lambda _request, n: reactions[min(n, len(reactions) - 1)]


def echoes_key(request: Request, number: int) -> Reaction:
    """A script: errors and replies that hold the key that came with the request."""
    key = request.headers.get("authorization", "").removeprefix("Bearer ")
    answers: tuple[Reaction, ...] = (
        Answer(f"the key is {key}", model=key),
        Refused(400, f"bad key {key}", code=key),
        Refused(500, f"broken {key}"),
    )
    return answers[number % 3]


def main() -> None:
    """Serve until killed; the first line of the output is the base URL."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", required=True, help="module:function")
    parser.add_argument("--log", type=Path, default=None, help="file for the requests")
    parser.add_argument("--model", action="append", default=None, help="a name it lists")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    module, _, name = given.script.partition(":")
    script = getattr(importlib.import_module(module), name)
    server = ScriptedServer(script, tuple(given.model or ("scripted",)), given.log, given.port)
    sys.stdout.write(server.base_url + "\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
