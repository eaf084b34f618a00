"""How the server process starts and ends, and what it leaves behind."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conversation import HANGS_S, Conversation, alive, until

import tilewright_server


async def _deaf_engine(talk: Conversation, folder: Path) -> tuple[int, int]:
    pids = folder / "pids"
    talk.open(f"deaf {pids}")
    await talk.optimize()
    await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    engine, child = map(int, pids.read_text().split())
    return engine, child


async def test_orderly_end_stops_jobs_and_exits_0(fresh: Conversation, tmp_path: Path) -> None:
    await fresh.begin()
    engine, child = await _deaf_engine(fresh, tmp_path)
    await asyncio.wait_for(fresh.client.shutdown_session(), HANGS_S)
    process = fresh.client._server
    assert process is not None
    assert process.returncode == 0
    await until(lambda: not alive(engine) and not alive(child))


async def test_exit_without_shutdown_exits_1(fresh: Conversation) -> None:
    await fresh.begin()
    fresh.client.exit(None)
    process = fresh.client._server
    assert process is not None
    assert await asyncio.wait_for(process.wait(), HANGS_S) == 1


async def test_killed_server_takes_the_engine_with_it(fresh: Conversation, tmp_path: Path) -> None:
    await fresh.begin()
    engine, child = await _deaf_engine(fresh, tmp_path)
    process = fresh.client._server
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    await until(lambda: not alive(engine))
    # The scripted engine's own child outlives it; the real engine's workers watch their pipe.
    os.kill(child, signal.SIGKILL)


async def test_closed_pipe_ends_server_and_engine(fresh: Conversation, tmp_path: Path) -> None:
    await fresh.begin()
    engine, child = await _deaf_engine(fresh, tmp_path)
    process = fresh.client._server
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), HANGS_S) == 1
    await until(lambda: not alive(engine) and not alive(child))


def test_the_server_imports_neither_torch_nor_triton() -> None:
    code = (
        "import sys, tilewright_server.features as s; s.create_server();"
        "from tilewright.analysis import analyze; from tilewright.rewrites import all_rewrites;"
        "from tilewright.knowledge.base import taxonomy; taxonomy(); all_rewrites();"
        "print(sorted({'torch', 'triton', 'numpy'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert run.stdout.strip() == "[]", run.stderr


@pytest.mark.skipif(not hasattr(os, "nice"), reason="no priorities here")
def test_engine_runs_at_a_lower_priority_than_the_server() -> None:
    launcher = Path(tilewright_server.__file__).with_name("jobs") / "launcher.py"
    shows = [sys.executable, "-c", "import os; print(os.nice(0))"]
    command = [sys.executable, "-IS", str(launcher), str(os.getpid()), *shows]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert int(printed) >= min(os.nice(0) + 10, 19)
