"""The engine's process after commands that were given up, and answers that cannot be read."""

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import IO

import pytest

from tilewright_server.jobs import engine_host
from tilewright_server.jobs.engine_host import EngineChild, EngineHost, EngineHostError
from tilewright_server.jobs.process import EngineRun

SERVED = """\
import os, sys, time
from tilewright.cli.engine_process import serve

def command():
    if sys.argv[1] == "wait":
        with open("pid", "w") as file:
            file.write(str(os.getpid()))
        time.sleep(300)
    print('{"done": true}')

serve(int(sys.argv[1]), command)
"""
PATIENCE_S = 600


async def test_a_command_cancelled_while_the_process_starts(tmp_path: Path) -> None:
    host = EngineHost(("engine",), (sys.executable, "-P", "-c", SERVED), lambda said: None)
    try:
        waits = ("engine", "wait")
        first = asyncio.create_task(host.start(waits, "", str(tmp_path), os.environ, 1 << 16))
        await asyncio.sleep(0.02)
        first.cancel()
        await asyncio.wait({first})
        assert first.cancelled()
        start = host.start(("engine", "say"), "", str(tmp_path), os.environ, 1 << 16)
        child = await asyncio.wait_for(start, PATIENCE_S)
        assert json.loads(await child.stdout.read()) == {"done": True}
        assert await child.wait() == 0
    finally:
        await host.close()


async def test_a_run_that_is_stopped_while_the_process_starts_is_over_at_once(
    tmp_path: Path,
) -> None:
    never = (sys.executable, "-c", "import time; time.sleep(300)")
    host = EngineHost(("engine",), never, lambda said: None)
    try:
        run = EngineRun(("engine", "wait"), str(tmp_path), os.environ, host=host)
        running = asyncio.create_task(run.run("", lambda event: None))
        while host.pid is None:
            await asyncio.sleep(0)
        run.stop(0.2)
        outcome = await asyncio.wait_for(running, PATIENCE_S)
        assert (outcome.result, outcome.error) == (None, "stopped before it began")
        assert host.pid is not None, "the process goes on to start, for who comes next"
    finally:
        await host.close()


async def test_a_request_that_was_cut_off_is_not_read_into_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    host = EngineHost(("engine",), (sys.executable, "-P", "-c", SERVED), said.append)
    whole = engine_host._hand_over

    def cut(line: socket.socket, data: bytes, given: IO[bytes], streams: tuple[int, int]) -> None:
        whole(line, data[:-4], given, streams)
        raise TimeoutError("timed out")

    async def say() -> EngineChild:
        start = host.start(("engine", "say"), "", str(tmp_path), os.environ, 1 << 16)
        return await asyncio.wait_for(start, PATIENCE_S)

    try:
        monkeypatch.setattr(engine_host, "_hand_over", cut)
        with pytest.raises(EngineHostError, match="takes no command: timed out"):
            await say()
        assert host.pid is None
        assert "the engine's process ended" in said[0]
        monkeypatch.setattr(engine_host, "_hand_over", whole)
        child = await say()
        assert json.loads(await child.stdout.read()) == {"done": True}
        assert await child.wait() == 0
    finally:
        await host.close()


async def test_an_answer_that_cannot_be_read_ends_the_process_and_is_said(tmp_path: Path) -> None:
    babbles = "import time; print('{\"ready\": 1}\\nno answer', flush=True); time.sleep(300)"
    said: list[str] = []
    host = EngineHost(("engine",), (sys.executable, "-P", "-c", babbles), said.append)
    try:
        start = host.start(("engine", "say"), "", str(tmp_path), os.environ, 1 << 16)
        with pytest.raises(EngineHostError):
            await asyncio.wait_for(start, PATIENCE_S)
        assert "an answer of it cannot be read" in said[0]
        assert host.pid is None
    finally:
        await host.close()
