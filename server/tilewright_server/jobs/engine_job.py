"""What every engine job does: wait its turn, run with progress, end the progress."""

import asyncio
import contextlib
import logging
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.progress import Progress

from tilewright.figures import counted
from tilewright_server import wording
from tilewright_server.context import ServerContext
from tilewright_server.jobs.manager import Job, JobKind, JobState
from tilewright_server.jobs.process import EngineRun, OnEvent, Outcome
from tilewright_server.settings import Settings
from tilewright_server.snapshot import Snapshot

logger = logging.getLogger(__name__)
_INTERVAL_S = 0.25
_TICK_S = 1.0
_CREATE_S = 5.0
WAITING = "waiting for another job"


class JobProgress:
    """Progress by a token this server makes; silent where the client cannot or will not show it."""

    def __init__(self, progress: Progress, title: str, on_cancel: Callable[[], None]) -> None:
        self._progress = progress
        self._title = title
        self._on_cancel = on_cancel
        self._token = f"tilewright-{uuid.uuid4()}"
        self._open = False
        self._latest: tuple[int | None, str] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._sent_at = 0.0

    async def begin(self, supported: bool) -> None:
        """Create the token and begin. A refused token must not be used, so all stays silent."""
        if not supported:
            return
        try:
            await asyncio.wait_for(self._progress.create_async(self._token), _CREATE_S)
        except (TimeoutError, JsonRpcException) as error:
            logger.info("no progress is shown: %s", error)
            return
        self._open = True
        self._progress.tokens[self._token].add_done_callback(self._cancelled)
        begin = types.WorkDoneProgressBegin(title=self._title, cancellable=True, percentage=0)
        self._progress.begin(self._token, begin)

    def _cancelled(self, future: "Future[Any] | asyncio.Future[Any]") -> None:
        if future.cancelled():
            self._on_cancel()
            self.end("stopping")  # what the engine still has to give comes without it

    def report(self, percent: int | None, message: str) -> None:
        """Show this soon; what comes too fast replaces what was not yet sent."""
        if not self._open:
            return
        self._latest = (percent, message)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            delay = max(0.0, self._sent_at + _INTERVAL_S - loop.time())
            self._timer = loop.call_later(delay, self._send)

    def _send(self) -> None:
        self._timer = None
        if not self._open or self._latest is None:
            return
        percent, message = self._latest
        self._sent_at = asyncio.get_running_loop().time()
        report = types.WorkDoneProgressReport(message=message, percentage=percent)
        self._progress.report(self._token, report)

    def end(self, message: str) -> None:
        """End it; later calls do nothing."""
        if not self._open:
            return
        self._open = False
        if self._timer is not None:
            self._timer.cancel()
        self._progress.tokens.pop(self._token, None)
        self._progress.end(self._token, types.WorkDoneProgressEnd(message=message))


async def run_engine(
    server: ServerContext,
    job: Job,
    snapshot: Snapshot,
    title: str,
    on_event: OnEvent | None = None,
    words: Callable[[], str] | None = None,
) -> Outcome:
    """Run the engine's command for a job on a snapshot's text. Progress ends on every path.

    A job that gave way to another starts again from the beginning when its turn comes.
    ``on_event`` receives every event but the result; ``words`` says how far the job is.
    """
    progress = JobProgress(server.work_done_progress, title, on_cancel=lambda: _cancel(server, job))
    closing = "cancelled before it began"
    ticking: asyncio.Task[None] | None = None
    try:
        await progress.begin(server.client.work_done_progress)
        if not job.quiet:
            ticking = asyncio.create_task(_tick(server, job, progress, words))
        outcome = await _in_turn(server, job, snapshot, progress, on_event, words)
        while job.gave_way and job.state is JobState.RUNNING:
            job.gave_way, job.run, job.state, job.percent = False, None, JobState.QUEUED, None
            outcome = await _in_turn(server, job, snapshot, progress, on_event, words)
        closing = outcome.error or "finished"
        return outcome
    finally:
        if ticking is not None:
            ticking.cancel()
        progress.end(closing)


async def _tick(
    server: ServerContext, job: Job, progress: JobProgress, words: Callable[[], str] | None
) -> None:
    """Show from the first second on that there is a job, its place in the queue, and the time."""
    began = time.monotonic()
    while True:
        job.position = server.jobs.lane.position(job.id)
        if job.position is not None:
            said = _queued(server, job)
        elif words is not None:
            said = words()
        else:
            said = f"{job.message or 'starting'} ({time.monotonic() - began:.0f} s)"
        progress.report(job.percent, said)
        await asyncio.sleep(_TICK_S)


def _queued(server: ServerContext, job: Job) -> str:
    """The place in the queue, and what runs."""
    known = {each.id: each for each in server.jobs.all()}
    running = known.get(server.jobs.lane.holder or "")
    name = Path(urlsplit(running.uri).path).name if running is not None else ""
    what = f"{running.kind} {unquote(name)}" if running is not None else "a short job"
    return f"{WAITING}: number {job.position} in the queue; running: {what}"


def conclude(
    server: ServerContext, job: Job, snapshot: Snapshot, outcome: Outcome, count: int, did: str
) -> None:
    """Say how a job on a document's kernels ended, and remember why it gave nothing."""
    if job.state is JobState.STOPPING:
        job.state, job.message = JobState.CANCELLED, "stopped"
    elif outcome.result is None:
        job.state, job.message = JobState.FAILED, str(outcome.error)
        server.facts.fail(job.kind, snapshot, job.message)
    else:
        server.facts.forget_failure(job.kind, snapshot.uri)
        job.state, job.message = JobState.DONE, f"{counted(count, 'kernel')} {did}"
    server.refresh(snapshot.uri)


def _cancel(server: ServerContext, job: Job) -> None:
    server.jobs.cancel(job.id)


async def _in_turn(
    server: ServerContext,
    job: Job,
    snapshot: Snapshot,
    progress: JobProgress,
    on_event: OnEvent | None,
    words: Callable[[], str] | None,
) -> Outcome:
    lane = server.jobs.lane
    waits = lane.busy
    if waits:
        job.message = WAITING
        progress.report(None, job.message)
        server.refresh(job.uri)
    if not job.quiet:
        server.jobs.make_way()
    async with lane.turn(urgent=not job.quiet, owner=job.id):
        job.position = None
        if waits:
            job.message = "starting"
            server.refresh(job.uri)
        if waits and job.quiet and not _is_current(server, snapshot):
            job.state = JobState.STOPPING
            return Outcome(None, "the file changed meanwhile")
        return await _run(server, job, snapshot, progress, on_event, words)


def _is_current(server: ServerContext, snapshot: Snapshot) -> bool:
    now = server.snapshot(snapshot.uri)
    return now is not None and now.hash == snapshot.hash


async def _run(
    server: ServerContext,
    job: Job,
    snapshot: Snapshot,
    progress: JobProgress,
    on_other: OnEvent | None,
    words: Callable[[], str] | None,
) -> Outcome:
    path = snapshot.path or ""
    env = environment(server.settings_of(snapshot.uri))
    if job.models is not None:
        env = {**env, **server.model_keys.environment(job.models.endpoint)}
    run = EngineRun(command_for(server, job, path), str(Path(path).parent), env, host=server.host)
    job.run, job.state = run, JobState.RUNNING

    def on_event(event: Mapping[str, Any]) -> None:
        shown = _take(job, event)
        if on_other is not None:
            on_other(event)
        if shown or words is not None:
            progress.report(job.percent, words() if words is not None else job.message)

    return await run.run(snapshot.text, on_event)


def _take(job: Job, event: Mapping[str, Any]) -> bool:
    """Bring the job up to date; whether there is something to show."""
    if event["event"] == "progress":
        with contextlib.suppress(TypeError, ValueError):
            job.percent = max(0, min(100, int(event.get("percent", job.percent or 0))))
        job.message = wording.progress_text(event)
        return True
    if event["event"] == "trial" and isinstance(event.get("trial"), Mapping):
        job.message = wording.trial_line(event["trial"])
        return True
    return False


def command_for(server: ServerContext, job: Job, path: str) -> Sequence[str]:
    """The engine's command line for a job."""
    settings = server.settings_of(job.uri)
    if job.arguments:
        return [*server.engine_command, *job.arguments]
    if job.kind is JobKind.COMPILE:
        return inspect_command(server, path, job.targets)
    if job.original is not None:
        return fix_command(server, job, path)
    if job.kind is JobKind.VERIFY:
        return verify_command(server, job)
    command = [*server.engine_command, str(job.kind), path, "--stdin"]
    command += ["--target", job.target or settings.default_target]
    command += ["--device", settings.device, "--format", "events"]
    if job.kind is JobKind.PROFILE and job.quiet:
        command.append("--no-counters")  # a profiler takes seconds, and it was not requested
    if job.kind is JobKind.OPTIMIZE and settings.budget is not None:
        command += ["--budget", str(settings.budget)]
    if job.models is not None:
        command += job.models.options()
    return command


def fix_command(server: ServerContext, job: Job, path: str) -> Sequence[str]:
    """The engine's command line that verifies the text of a file against that before an edit."""
    settings = server.settings_of(job.uri)
    return [
        *server.engine_command, "verify", path, "--original", job.original or "", "--stdin",
        "--target", job.target or settings.default_target, "--require", "correct",
        "--device", settings.device, "--format", "events",
    ]  # fmt: skip


def verify_command(server: ServerContext, job: Job) -> Sequence[str]:
    """The engine's command line that repeats a certificate on a text, or makes it anew."""
    how = "--renew" if job.renews else "--recheck"
    return [
        *server.engine_command, "verify", how, job.certificate or "", "--stdin",
        "--device", server.settings_of(job.uri).device, "--format", "events",
    ]  # fmt: skip


def inspect_command(
    server: ServerContext, file: str, targets: Sequence[str], *more: str
) -> Sequence[str]:
    """The engine's command line that compiles a text and runs none of its kernels."""
    chips = [word for target in targets for word in ("--target", target)]
    return [
        *server.engine_command, "inspect", file, "--stdin", *chips, *more, "--format", "events"
    ]  # fmt: skip


def environment(settings: Settings) -> Mapping[str, str]:
    """The server's environment, and the interpreter that has the user's torch and triton."""
    chosen = settings.python
    # UTF-8 mode: the text arrives on stdin, whatever the locale.
    named = {"TILEWRIGHT_PYTHON": chosen} if chosen else {}
    return {**os.environ, "PYTHONUTF8": "1", **named}
