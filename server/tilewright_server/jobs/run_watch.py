"""Edits while a run goes on, and runs that an earlier server of this machine left behind."""

import asyncio
import time

from tilewright.evaluation.surroundings import roots_of
from tilewright.source import parse_module
from tilewright_server import consent
from tilewright_server.context import ServerContext
from tilewright_server.jobs.manager import Job, JobKind, JobState
from tilewright_server.jobs.offer import choose
from tilewright_server.jobs.optimize import optimize
from tilewright_server.jobs.run_journal import KeptRun
from tilewright_server.models import Choice
from tilewright_server.rebase import changed_parts
from tilewright_server.snapshot import Snapshot

_PAUSE_S = 0.5
_RECENT_S = 15 * 60.0
_STOP, _GO_ON, _RESUME, _DISCARD = "Stop", "Go On", "Resume", "Discard"


class RunWatch:
    """Says at once where an edit makes a run's result useless, once a run."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._asked: set[str] = set()

    def changed(self, uri: str) -> None:
        """Compare the text with what a run works on, when the typing pauses."""
        if not self._server.jobs.active(JobKind.OPTIMIZE, uri):
            return
        if (timer := self._waiting.pop(uri, None)) is not None:
            timer.cancel()
        loop = asyncio.get_running_loop()
        self._waiting[uri] = loop.call_later(_PAUSE_S, self._due, uri)

    def _due(self, uri: str) -> None:
        self._waiting.pop(uri, None)
        self._server.background("compareWithRun", self._compare, uri)

    async def _compare(self, uri: str) -> None:
        now = self._server.snapshot(uri)
        for job in self._server.jobs.active(JobKind.OPTIMIZE, uri):
            record = self._server.runs.get(job.id)
            if now is None or record is None:
                continue
            changed = await self._server.in_pool(_changed, record.sent, now)
            same = "same" if now.text == record.sent else "elsewhere"
            record.change(moved="kernel" if changed else same)
            self._server.runs.show(job.id)
            if changed and job.id not in self._asked and job.state is not JobState.STOPPING:
                self._asked.add(job.id)
                await self._ask(job, changed[0])

    async def _ask(self, job: Job, part: str) -> None:
        server = self._server
        said = (
            f"Tilewright: {part} was edited while it is optimized; the result will not fit this "
            "text, unless the edit is undone"
        )
        if not server.client.message_request:
            server.warn(said)
        elif await choose(server, said, (_STOP, _GO_ON)) == _STOP:
            server.jobs.cancel(job.id)


def _changed(sent: str, now: Snapshot) -> tuple[str, ...]:
    path = now.path or now.uri
    return changed_parts(sent, now.text, path, roots_of(parse_module(sent, path)))


async def find_runs(server: ServerContext, uri: str) -> None:
    """Take up the runs of a document that an earlier server left behind."""
    snapshot = server.snapshot(uri)
    if snapshot is None or snapshot.path is None or snapshot.cell or not server.settings.trusted:
        return
    for kept in await server.in_pool(server.journal.adopt_runs, snapshot.path):
        await _take_up(server, snapshot, kept)


async def _take_up(server: ServerContext, snapshot: Snapshot, kept: KeptRun) -> None:
    name = snapshot.uri.rpartition("/")[2]
    if kept.result is None and (kept.models or time.time() - kept.seen > _RECENT_S):
        said = f"Tilewright: an optimization of {name} for {kept.target} was interrupted"
        asked = server.client.message_request
        answer = await choose(server, said, (_RESUME, _DISCARD)) if asked else None
        if answer != _RESUME:
            if answer == _DISCARD:
                await server.in_pool(server.journal.drop, kept.run)
            return
    sent = Snapshot(
        snapshot.uri, snapshot.path, None, snapshot.language, kept.text, snapshot.encoding
    )

    async def work(job: Job) -> None:
        if kept.models and kept.result is None:
            choice, job.models = await consent.choose(server, snapshot)
            if choice is Choice.CANCEL:
                job.state, job.message = JobState.CANCELLED, "cancelled; nothing was sent"
                return
        await optimize(server, job, sent, kept)

    job = Job(JobKind.OPTIMIZE, snapshot.uri, kept.target, kept.kernel, id=kept.run)
    server.jobs.start(job, work)
    if kept.result is None:
        server.inform(f"Tilewright: the optimization of {name} for {kept.target} goes on")
