"""The engine's process that stays: its children are like commands started anew."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SERVED = """\
import os, signal, sys, time
from tilewright.cli.engine_process import serve

def command():
    word = sys.argv[1]
    if word == "wait":
        print("waiting", flush=True)
        time.sleep(300)
    if word == "fail":
        sys.exit("no such kernel")
    if word == "leave":
        import atexit
        atexit.register(print, "left orderly")
        sys.exit(3)
    print(word, sys.stdin.read(), os.getcwd(), os.environ.get("ONLY"), "HOME" in os.environ)

serve(int(sys.argv[1]), command, idle_s=float(sys.argv[2]))
"""


class Host:
    """The process, with pipes for each command."""

    def __init__(self, idle_s: float = 300.0) -> None:
        self.line, other = socket.socketpair()
        with other:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", SERVED, str(other.fileno()), str(idle_s)],
                stdout=subprocess.PIPE, pass_fds=(other.fileno(),), text=True,
            )  # fmt: skip
        assert self.answer()["ready"] == self.process.pid

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def start(self, word: str, folder: Path, given: str = "") -> tuple[int, Any]:
        """The child's id, and a file with its output and errors."""
        read, write = os.pipe()
        place = folder / "given"
        place.write_text(given)
        request = {
            "id": word, "arguments": [word], "folder": str(folder), "environment": {"ONLY": "this"}
        }  # fmt: skip
        data = json.dumps(request).encode()
        with place.open("rb") as stdin, os.fdopen(write, "wb") as out:
            streams = [stdin.fileno(), out.fileno(), out.fileno()]
            socket.send_fds(self.line, [len(data).to_bytes(4, "big")], streams)
            self.line.sendall(data)
            pid = int(self.answer()["pid"])
        return pid, os.fdopen(read)


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    yield made
    made.line.close()
    assert made.process.wait(600) == 0, "it ends when its socket closes"


def test_a_child_has_its_own_streams_folder_and_environment(host: Host, tmp_path: Path) -> None:
    _, output = host.start("echo", tmp_path, "a text")
    assert output.read() == f"echo a text {tmp_path} this False\n"
    assert host.answer() == {"id": "echo", "code": 0}


def test_a_child_ends_as_a_process_of_its_own_does(host: Host, tmp_path: Path) -> None:
    _, output = host.start("leave", tmp_path)
    assert (output.read(), host.answer()["code"]) == ("left orderly\n", 3)
    _, output = host.start("fail", tmp_path)
    assert (output.read(), host.answer()["code"]) == ("no such kernel\n", 1)


def test_a_kill_ends_the_command_alone(host: Host, tmp_path: Path) -> None:
    pid, output = host.start("wait", tmp_path)
    assert output.readline() == "waiting\n"
    os.killpg(pid, signal.SIGKILL)  # it leads a group of its own as soon as its id is known
    assert host.answer() == {"id": "wait", "code": -signal.SIGKILL}
    _, output = host.start("echo", tmp_path)
    assert output.read().startswith("echo")
    assert host.answer()["code"] == 0


def test_it_ends_by_itself_when_it_is_idle(tmp_path: Path) -> None:
    idle = Host(idle_s=0.3)
    _, output = idle.start("echo", tmp_path)
    assert output.read().startswith("echo")
    assert idle.answer()["code"] == 0
    assert idle.process.wait(600) == 0
    idle.line.close()
