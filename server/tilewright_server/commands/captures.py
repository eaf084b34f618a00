"""The commands that record a kernel's launches: run a script or a test under ``capture``."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from tilewright_server.background_compile import compile_targets, start_inspecting
from tilewright_server.commands.arguments import CaptureArguments, FileArguments, read_arguments
from tilewright_server.commands.jobs import refuse, runnable
from tilewright_server.jobs.capture import capture
from tilewright_server.jobs.manager import Job, JobKind
from tilewright_server.jobs.offer import choose
from tilewright_server.server import TilewrightServer
from tilewright_server.settings import CompileRun
from tilewright_server.snapshot import Snapshot
from tilewright_server.spec_places import scripts_of

_MOST_OFFERED = 3
_PYTHONS = ("python", "python3")


async def capture_commands(server: TilewrightServer, *arguments: Any) -> list[str]:
    """Commands that probably launch a file's kernels, as they would be typed."""
    snapshot = server.snapshot(read_arguments(FileArguments, arguments).uri)
    return [] if snapshot is None else await _commands(server, snapshot)


async def _commands(server: TilewrightServer, snapshot: Snapshot) -> list[str]:
    if snapshot.path is None or snapshot.cell is not None:
        return []
    path, roots = Path(snapshot.path), server.index.roots()
    found = await server.in_pool(scripts_of, path, snapshot.text, roots or (path.parent,))
    return [shlex.join(command) for command in found]


async def capture_command(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """Run a command with the recorder in it; its launches then count for compiling and checking."""
    wanted = read_arguments(CaptureArguments, arguments)
    snapshot = runnable(server, wanted.uri)
    if not isinstance(snapshot, Snapshot):
        return snapshot
    if server.jobs.active(JobKind.CAPTURE, wanted.uri):
        return refuse(server, "launches of this file are being recorded already; cancel that first")
    command = wanted.command or await _ask(server, snapshot)
    if command is None:
        return {"job": None, "reason": "nothing was chosen"}
    try:
        words = shlex.split(command)
    except ValueError as error:
        return refuse(server, f"{command!r} is no command line: {error}")
    if not words:
        return refuse(server, "there is no command to run")
    job = Job(JobKind.CAPTURE, wanted.uri, None)
    job.arguments = await _arguments(server, snapshot, words)

    async def work(job: Job) -> None:
        if await capture(server, job, snapshot, command):
            await _use(server, snapshot)

    return {"job": server.jobs.start(job, work).id}


async def _use(server: TilewrightServer, snapshot: Snapshot) -> None:
    """Read what was recorded, and compile the kernels as they were launched."""
    await server.read_projects_again()
    if server.settings.compiled.run is not CompileRun.OFF:
        start_inspecting(server, snapshot, await compile_targets(server, snapshot), quiet=True)
    server.refresh(snapshot.uri)


async def _ask(server: TilewrightServer, snapshot: Snapshot) -> str | None:
    found = await _commands(server, snapshot)
    if not found:
        refuse(
            server,
            "no script and no test that launches these kernels was found near this file; name one "
            "with the command Capture Launches, or run `tilewright capture -- COMMAND`",
        )
        return None
    if not server.client.message_request:
        return found[0]
    said = "Run this with a recorder of kernel launches in it?"
    return await choose(server, said, tuple(found[:_MOST_OFFERED]))


async def _arguments(
    server: TilewrightServer, snapshot: Snapshot, words: list[str]
) -> tuple[str, ...]:
    """The engine's command line: launches go to the folder that the file's commands read."""
    settings = server.settings_of(snapshot.uri)
    python = settings.python or os.environ.get("TILEWRIGHT_PYTHON") or sys.executable
    command = [python if words[0] in _PYTHONS else words[0], *words[1:]]
    no_gpu = settings.device == "auto" and await server.chip.machine() is None
    interpret = ["--interpret"] if no_gpu or settings.device == "interpreter" else []
    out = await server.in_pool(_folder, Path(snapshot.path or ""), server.index.roots())
    return ("capture", "--out", str(out), *interpret, "--format", "events", "--", *command)


def _folder(source: Path, roots: tuple[Path, ...]) -> Path:
    from tilewright.captures.model import FOLDER
    from tilewright.captures.problem import project_captures

    around = [root for root in roots if root in source.parents]
    root = max(around, key=lambda one: len(one.parts), default=source.parent)
    return project_captures(source) or root / FOLDER
