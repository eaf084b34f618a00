"""A command that nobody waits for any more leaves the engine's process fit for the next ones."""

import asyncio
import json
import os
import sys
from pathlib import Path

from tilewright_server.jobs.engine_host import EngineHost

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
PATIENCE_S = 60.0


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
