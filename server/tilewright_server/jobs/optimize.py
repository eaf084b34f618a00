"""Optimize a document: run the engine on the text as it is, and offer what it found."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tilewright.evaluation.surroundings import surroundings
from tilewright.figures import counted
from tilewright_server import wording
from tilewright_server.context import ServerContext
from tilewright_server.jobs.engine_job import run_engine
from tilewright_server.jobs.manager import Job, JobState
from tilewright_server.jobs.offer import offer
from tilewright_server.jobs.process import Outcome
from tilewright_server.jobs.run_journal import KeptRun
from tilewright_server.jobs.run_record import RunRecord
from tilewright_server.run_view import RunHead, RunState
from tilewright_server.snapshot import Snapshot

logger = logging.getLogger(__name__)
_TOUCH_S = 5.0
_STATES = {
    JobState.DONE: RunState.DONE,
    JobState.FAILED: RunState.FAILED,
    JobState.CANCELLED: RunState.CANCELLED,
}
_CORRECT = ("correct", "faster")


async def optimize(
    server: ServerContext, job: Job, sent: Snapshot, kept: KeptRun | None = None
) -> None:
    """The whole life of an optimization, from the text as sent to a message about its end.

    Args:
        kept: a run of an earlier server; one that has its result is only offered again.
    """
    head = RunHead(job.id, sent.uri, job.target, RunState.QUEUED, kernel=job.kernel)
    record = RunRecord(head, sent.text)
    server.runs.add(record)
    entry = kept or KeptRun(
        job.id, sent.uri, sent.path or "", job.target or "", job.kernel, sent.text,
        job.models is not None,
    )  # fmt: skip
    try:
        entry = await _finished_run(server, job, sent, record, entry)
        if not job.suspended:
            await _conclude(server, job, sent, record, entry)
    except asyncio.CancelledError:
        if job.state is JobState.STOPPING and not job.suspended:
            # It was cancelled, so that no later server may take it up again.
            await server.in_pool(server.journal.drop, job.id)
        raise
    finally:
        if not job.suspended:
            said = job.message or "cancelled before it began"
            record.end(_STATES.get(job.state, RunState.CANCELLED), said)
        server.runs.show_now(job.id)


async def _finished_run(
    server: ServerContext, job: Job, sent: Snapshot, record: RunRecord, entry: KeptRun
) -> KeptRun:
    """The run with the engine's result; without one, the job says why."""
    if entry.result is not None:
        job.result = entry.result
        return entry
    around = entry.around
    if around is None:
        around = await server.in_pool(surroundings, sent.text, sent.path or sent.uri)
    entry = replace(entry, run=job.id, around=around)
    record.around = around
    await _keep(server, entry)
    touching = asyncio.create_task(_touch(server, job.id))
    try:
        outcome = await _run(server, job, sent, record)
    finally:
        touching.cancel()
    job.result = outcome.result
    if outcome.result is None and not job.suspended:
        job.state, job.message = _without_result(job, outcome)
        await server.in_pool(server.journal.drop, job.id)
    return replace(entry, result=outcome.result, seen=0.0)


async def _run(server: ServerContext, job: Job, sent: Snapshot, record: RunRecord) -> Outcome:
    def on_event(event: Mapping[str, Any]) -> None:
        if event["event"] == "started":
            record.begin()
        server.runs.take(job.id, event)

    def words() -> str:
        record.begin()
        server.runs.show(job.id)
        return record.words()

    title = f"Optimizing for {wording.target_label(job.target or '')}"
    outcome = await run_engine(server, job, sent, title, on_event, words)
    stopped = job.state is JobState.STOPPING
    if outcome.result is None and stopped and (best := _best_so_far(job, record)) is not None:
        return Outcome(best, None)
    return outcome


def _best_so_far(job: Job, record: RunRecord) -> Mapping[str, Any] | None:
    """What was kept last, as a result, where the engine was ended before it gave its own."""
    best = record.best()
    text = record.text(best.id) if best is not None else None
    if best is None or text is None or best.level not in _CORRECT:
        return None
    trials = [
        {"kept": True, "rationale": one.rationale, "proposer": one.proposer}
        for one in record.view.candidates
        if one.best
    ]
    note = "stopped before the result was measured against the original"
    return {
        "changed": True, "final": text, "level": "correct", "target": job.target,
        "device": record.head.device, "trials": trials, "notes": [note], "speedup": None,
    }  # fmt: skip


async def _keep(server: ServerContext, entry: KeptRun) -> None:
    """Put a run on disk; without room there it only cannot be found again."""
    try:
        await server.in_pool(server.journal.keep, entry)
    except OSError as error:
        logger.warning("the run is not kept for a restart: %s", error)


async def _touch(server: ServerContext, run: str) -> None:
    """Say on disk that this server works on the run."""
    while True:
        await asyncio.sleep(_TOUCH_S)
        await server.in_pool(server.journal.touch, run)


def _without_result(job: Job, outcome: Outcome) -> tuple[JobState, str]:
    if job.state is JobState.STOPPING:
        return JobState.CANCELLED, "stopped; nothing was applied"
    return JobState.FAILED, str(outcome.error)


async def _conclude(
    server: ServerContext, job: Job, sent: Snapshot, record: RunRecord, entry: KeptRun
) -> None:
    """Offer a result that changes something, and say what came of it."""
    if entry.result is None:
        return
    stopped = "stopped; " if job.state is JobState.STOPPING else ""
    record.notes = tuple(map(str, entry.result.get("notes") or ()))
    if not entry.result.get("changed"):
        said = _nothing_better(entry.result, stopped)
        await server.in_pool(server.journal.drop, job.id)
    else:
        if not entry.seen:  # one that is offered again has its time of when it was found
            await _keep(server, entry)
        record.change(evidence=wording.evidence(entry.result))
        record.end(RunState.OFFERED, f"{stopped}its edit waits for a decision")
        server.runs.show_now(job.id)
        decided = await offer(server, sent, entry.result, entry.around)
        said = stopped + decided.said
        if not decided.keep:
            await server.in_pool(server.journal.drop, job.id)
    job.state = JobState.DONE
    job.message = said + _models(entry.result)


def _models(result: Mapping[str, Any] | None) -> str:
    """What the models cost and how they failed, where some were asked."""
    asked = (result or {}).get("models")
    said = wording.model_use(asked) if isinstance(asked, Mapping) else ""
    return f"; models: {said}" if said else ""


def _nothing_better(result: Mapping[str, Any], stopped: str) -> str:
    n_trials = len(result.get("trials") or ())
    if stopped and not n_trials:
        return f"{stopped}no candidate was tried, so there is no edit"
    tried = "no candidate was tried"
    if n_trials:
        tried = f"{counted(n_trials, 'candidate')} tried, none was kept"
    notes = "; ".join(str(note) for note in result.get("notes") or ())
    return f"{stopped}no edit: {tried}" + (f" ({notes})" if notes else "")
