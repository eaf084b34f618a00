"""Profile a document: compile, check and time its kernels on this machine."""

from collections.abc import Mapping
from typing import Any

from tilewright_server.analysis_cache import Parsed
from tilewright_server.context import ServerContext
from tilewright_server.fact_keys import facts_key, hashes_of
from tilewright_server.jobs.engine_job import conclude, run_engine
from tilewright_server.jobs.manager import Job, JobKind, JobState
from tilewright_server.kernel_facts import read_profile
from tilewright_server.snapshot import Snapshot

# A profile that was overtaken by a newer save has nothing worth waiting for.
REPLACED_GRACE_S = 0.5


def replace_running(server: ServerContext, uri: str) -> None:
    """Stop profiles of a document that a newer one makes pointless."""
    for job in server.jobs.active(JobKind.PROFILE, uri):
        server.jobs.cancel(job.id, REPLACED_GRACE_S)


async def profile(server: ServerContext, job: Job, snapshot: Snapshot) -> None:
    """Run the engine and remember its facts."""
    parsed = await server.parse(snapshot)
    outcome = await run_engine(server, job, snapshot, "Profiling kernels")
    count = 0
    if job.state is not JobState.STOPPING and outcome.result is not None:
        count = remember(server, job, parsed, snapshot, outcome.result)
    conclude(server, job, snapshot, outcome, count, "profiled")


def remember(
    server: ServerContext,
    job: Job,
    parsed: Parsed,
    snapshot: Snapshot,
    result: Mapping[str, Any],
) -> int:
    """Store the facts of kernels that are the ones that were sent; their number."""
    stored = 0
    target = job.target or server.settings_of(snapshot.uri).default_target
    hashes = hashes_of(parsed, snapshot)
    for entry in result.get("kernels") or ():
        if (entry["name"], entry["content_hash"]) in hashes:
            facts = read_profile(entry, target, result)
            server.facts.add_profile(facts_key(parsed, snapshot, entry["name"]), facts)
            stored += 1
    return stored
