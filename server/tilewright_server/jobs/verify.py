"""Repeat a certificate on a document's text, or make it anew where the text changed since."""

from tilewright_server.context import ServerContext
from tilewright_server.jobs.engine_job import run_engine
from tilewright_server.jobs.manager import Job, JobState
from tilewright_server.snapshot import Snapshot


async def verify(server: ServerContext, job: Job, snapshot: Snapshot) -> None:
    """Run the engine, and show what the certificate files say then."""
    outcome = await run_engine(server, job, snapshot, "Verifying again")
    job.result = outcome.result
    if job.state is JobState.STOPPING:
        job.state, job.message = JobState.CANCELLED, "stopped"
    elif outcome.result is None:
        job.state, job.message = JobState.FAILED, str(outcome.error)
    else:
        reasons = "; ".join(map(str, outcome.result.get("reasons") or ()))
        said = str(outcome.result.get("outcome"))
        job.state, job.message = JobState.DONE, f"{said}: {reasons}" if reasons else said
    server.certificates.forget()
    server.refresh(snapshot.uri)
