"""Telling the client that a job is over, whichever way it ended."""

from lsprotocol import types

from tilewright_server import wording
from tilewright_server.context import ServerContext
from tilewright_server.jobs.manager import Job, JobKind, JobState

FINISHED = "tilewright/jobFinished"


def announce(server: ServerContext, job: Job) -> None:
    """Tell the person, where one was waiting, and the client."""
    if server.protocol.is_shut_down:
        return
    if not job.quiet:
        server.window_show_message(
            types.ShowMessageParams(type=_severity(job), message=f"Tilewright{_what(job)}")
        )
    server.protocol.notify(FINISHED, {**job.to_json(), "result": job.result})


def _severity(job: Job) -> types.MessageType:
    if job.state is JobState.FAILED:
        return types.MessageType.Error
    outcome = (job.result or {}).get("outcome") if job.kind is JobKind.VERIFY else None
    is_good = outcome is None or str(outcome).startswith(("holds", "verified"))
    return types.MessageType.Info if is_good else types.MessageType.Warning


def _what(job: Job) -> str:
    label = wording.target_label(job.target) if job.target else ""
    subject = f", {label}" if label and job.kind is JobKind.OPTIMIZE else ""
    return f"{subject}: {job.message}"
