"""``tilewright.optimize``: start an optimization; answers ``{"job": id}`` at once."""

from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright_server import wording
from tilewright_server.commands.arguments import OptimizeArguments, read_arguments
from tilewright_server.commands.start import refuse, why_not
from tilewright_server.jobs.manager import Job, JobKind, JobState
from tilewright_server.jobs.optimize import optimize
from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


async def optimize_command(server: "TilewrightServer", *arguments: Any) -> dict[str, Any]:
    """One optimization at a time for a document; a second start is refused."""
    wanted = read_arguments(OptimizeArguments, arguments)
    snapshot = server.snapshot(wanted.uri)
    reason = why_not(server, snapshot)
    if reason is not None or snapshot is None:
        return refuse(server, str(reason))
    if wanted.version is not None and wanted.version != snapshot.version:
        return refuse(server, "the file changed before the command arrived; run it again")
    if server.jobs.active(JobKind.OPTIMIZE, wanted.uri):
        return refuse(server, "this file is being optimized already; cancel that first")

    async def work(job: Job) -> None:
        job.target = wanted.target or await _choose(server, snapshot)
        if job.target is None:
            job.state, job.message = JobState.CANCELLED, "no target was chosen"
            return
        await optimize(server, job, snapshot)

    return {"job": server.start_job(Job(JobKind.OPTIMIZE, wanted.uri, wanted.target), work).id}


async def _choose(server: "TilewrightServer", snapshot: Snapshot) -> str | None:
    """The person's target, asked by buttons; the file's where there is no choice or no asking."""
    own, project = await server.pick_target(snapshot), await server.project(snapshot)
    targets = server.chip.offered(snapshot, await server.parse(snapshot), project)
    if len(targets) < 2 or not server.client.message_request:
        return own
    titles = {wording.target_label(target): target for target in targets}
    try:
        answer = await server.window_show_message_request_async(
            types.ShowMessageRequestParams(
                type=types.MessageType.Info,
                message="Optimize for which chip?",
                actions=[types.MessageActionItem(title) for title in titles],
            )
        )
    except JsonRpcException:
        return own
    return titles.get(answer.title) if answer is not None else None
