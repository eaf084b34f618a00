"""Profile a document: compile, check and time its kernels on this machine."""

from collections.abc import Mapping
from typing import Any

from tilewright.source import parse_module
from tilewright_server.analysis_cache import Parsed
from tilewright_server.context import ServerContext
from tilewright_server.fact_store import facts_key
from tilewright_server.jobs.engine_job import conclude, run_engine
from tilewright_server.jobs.manager import Job, JobKind, JobState
from tilewright_server.profile_facts import read_facts
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


def hashes_of(parsed: Parsed, snapshot: Snapshot) -> set[tuple[str, str]]:
    """Kernels with their content hashes, also as an engine sees them that reads plain newlines."""
    modules = [parsed.module]
    if "\r" in snapshot.text:
        plain = snapshot.text.replace("\r\n", "\n").replace("\r", "\n")
        modules.append(parse_module(plain, parsed.module.path))
    return {(kernel.name, kernel.content_hash) for m in modules for kernel in m.kernels}


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
            facts = read_facts(entry, target, result)
            server.facts.add_profile(facts_key(parsed, snapshot, entry["name"]), facts)
            stored += 1
    return stored
