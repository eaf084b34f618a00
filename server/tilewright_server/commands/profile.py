"""``tilewright.profile``: profile a document's kernels now; answers ``{"job": id}`` at once."""

from typing import TYPE_CHECKING, Any

from tilewright_server.commands.arguments import ProfileArguments, read_arguments
from tilewright_server.commands.start import refuse, why_not
from tilewright_server.jobs.manager import Job, JobKind
from tilewright_server.jobs.profile import profile, replace_running

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


async def profile_command(server: "TilewrightServer", *arguments: Any) -> dict[str, Any]:
    """Also where facts are known already: asking again means measuring again."""
    wanted = read_arguments(ProfileArguments, arguments)
    snapshot = server.snapshot(wanted.uri)
    reason = why_not(server, snapshot)
    if reason is not None or snapshot is None:
        return refuse(server, str(reason))
    replace_running(server, wanted.uri)

    async def work(job: Job) -> None:
        job.target = wanted.target or await server.pick_target(snapshot)
        await profile(server, job, snapshot)

    return {"job": server.start_job(Job(JobKind.PROFILE, wanted.uri, wanted.target), work).id}
