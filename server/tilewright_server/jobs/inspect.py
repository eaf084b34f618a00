"""Compile a document's kernels for the chips of the settings, and remember what came of it."""

from collections.abc import Mapping
from typing import Any

from tilewright_server.analysis_cache import Analysis
from tilewright_server.compiled_facts import functions_of, read_compiled
from tilewright_server.context import ServerContext
from tilewright_server.fact_store import facts_key
from tilewright_server.jobs.engine_job import conclude, run_engine
from tilewright_server.jobs.manager import Job, JobKind
from tilewright_server.jobs.profile import hashes_of
from tilewright_server.snapshot import Snapshot

_GRACE_S = 0.2


def stop_inspecting(server: ServerContext, uri: str) -> None:
    """Stop compiling a document whose result is no longer needed."""
    for job in server.jobs.active(JobKind.COMPILE, uri):
        server.jobs.cancel(job.id, _GRACE_S)


async def inspect(server: ServerContext, job: Job, snapshot: Snapshot) -> None:
    """Run the engine; each kernel is shown as soon as its event arrives."""
    analysis = await server.analyze(snapshot)
    same = hashes_of(analysis, snapshot)
    stored: set[str] = set()

    def on_event(event: Mapping[str, Any]) -> None:
        entry = event.get("kernel")
        if event["event"] != "inspected" or not isinstance(entry, Mapping):
            return
        if _remember(server, analysis, snapshot, entry, same):
            if entry["reports"]:
                stored.add(str(entry["name"]))
            server.refresh(snapshot.uri)

    outcome = await run_engine(server, job, snapshot, "Compiling kernels", on_event)
    conclude(server, job, snapshot, outcome, len(stored), "compiled")


def _remember(
    server: ServerContext,
    analysis: Analysis,
    snapshot: Snapshot,
    entry: Mapping[str, Any],
    same: set[tuple[str, str]],
) -> bool:
    """Store what is said of a kernel if it is the one that was sent."""
    if (entry.get("name"), entry.get("content_hash")) not in same:
        return False
    facts = read_compiled(entry, functions_of(analysis.module))
    if facts is None:
        return False
    server.facts.add_compiled(facts_key(analysis, snapshot, facts.kernel), facts)
    return True
