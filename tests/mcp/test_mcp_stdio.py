"""The server as a process on standard input and output: the package's client, and raw bytes."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_session import STAND_IN, over_stdio, words

from tilewright.errors import InputError
from tilewright_server.jobs.process import ENGINE_COMMAND
from tilewright_server.mcp.entry import run

KERNEL = "import triton\n\n@triton.jit\ndef k(x):\n    pass\n"
_PROGRAM = """
import sys
from tilewright_server.mcp.roots import Roots
from tilewright_server.mcp.service import Settings, serve
serve(Settings(Roots((sys.argv[1],)), "interpreter", 600.0, sys.argv[2:]))
"""


class RawClient:
    """Writes and reads lines of JSON-RPC."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(root), *STAND_IN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: Any, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.write(json.dumps(message if number is None else {**message, "id": number}).encode())

    def answer(self, number: int) -> Any:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == number:
                return message
        raise AssertionError("the server has ended")

    def initialize(self) -> None:
        info = {"name": "raw", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.send("initialize", hello, 0)
        assert self.answer(0)["result"]["serverInfo"]["name"] == "tilewright"
        self.send("notifications/initialized", {})

    def call(self, scenario: str, number: int) -> None:
        arguments = {"original": "k.py", "candidate_text": f"# engine: {scenario}\n"}
        self.send("tools/call", {"name": "verify", "arguments": arguments}, number)


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[RawClient]:
    (tmp_path / "k.py").write_text(KERNEL)
    client = RawClient(Path(os.path.realpath(tmp_path)))
    with client.process:
        yield client
        client.process.kill()


def _gone(pid: int, within_s: float) -> bool:
    """Whether a process ends; a zombie that waits for the machine's first process counts."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            if Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def _pids(place: Path) -> list[int]:
    end = time.monotonic() + 600
    while time.monotonic() < end:
        if place.exists() and len(found := place.read_text().split()) == 2:
            return [int(pid) for pid in found]
        time.sleep(0.02)
    raise AssertionError("the engine has not started")


async def test_check_and_explain_over_stdio(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "k.py").write_text(KERNEL)
    async with over_stdio(root, tmp_path / "errors") as client:
        assert len((await client.list_tools()).tools) == 7
        found = await client.call_tool("check", {"path": "k.py"})
        assert words(found).startswith("0 issues in 1 kernel; nothing was run.")
        found = await client.call_tool("check", {"path": "../errors"})
        assert found.is_error
        found = await client.call_tool("evidence", {"path": "."})
        assert found.structured_content["kernels"] == []
    assert "Traceback" not in (tmp_path / "errors").read_text()


def test_odd_messages_and_cancelled_calls_end_nothing(raw: RawClient, tmp_path: Path) -> None:
    for data in (b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"jsonrpc": "1.0"}', b"x" * 10**6):
        raw.write(data)
    raw.initialize()
    raw.send("tools/call", {"name": "verify", "arguments": [1]}, 1)
    assert "error" in raw.answer(1)
    raw.send("no/such/method", {}, 2)
    assert raw.answer(2)["error"]["code"] == -32601
    raw.write(b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call"' + b"[" * 5000)
    for path in ("\\ud800.py", "\\u0000", "k\\u2028.py", "\\ud83d\\ude00.py"):
        params = f'{{"name": "profile", "arguments": {{"path": "{path}"}}}}'
        raw.write(
            f'{{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {params}}}'.encode()
        )
    raw.call(f"hang\n# pids: {tmp_path / 'pids'}", 5)
    pids = _pids(tmp_path / "pids")
    raw.send("notifications/cancelled", {"requestId": 5})
    raw.call("accept", 6)
    assert raw.answer(6)["result"]["structuredContent"]["accepted"] is True
    assert all(_gone(pid, 120) for pid in pids)


def test_a_client_that_leaves_ends_the_server_and_its_children(
    raw: RawClient, tmp_path: Path
) -> None:
    raw.initialize()
    raw.call(f"hang\n# pids: {tmp_path / 'pids'}", 1)
    pids = _pids(tmp_path / "pids")
    assert raw.process.stdin is not None
    raw.process.stdin.close()
    assert all(_gone(pid, 120) for pid in pids)
    assert raw.process.wait(600) == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux to end children with the server")
def test_a_server_that_is_killed_leaves_no_engine(raw: RawClient, tmp_path: Path) -> None:
    raw.initialize()
    raw.call(f"hang\n# pids: {tmp_path / 'pids'}", 1)
    engine, other = _pids(tmp_path / "pids")
    raw.process.kill()
    assert _gone(engine, 120)
    os.kill(other, signal.SIGKILL)


def test_the_command_line_refuses_a_root_that_is_no_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [*ENGINE_COMMAND, "mcp", "--root", str(tmp_path / "missing")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "is not a folder; name one that exists" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_package_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'tilewright\[mcp\]'"):
        run([tmp_path], "auto", 60.0)
