"""``tilewright.listJobs``: the jobs that run and the last that ran."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


async def list_jobs(server: "TilewrightServer", *_: Any) -> list[dict[str, Any]]:
    """Oldest first."""
    return [job.to_json() for job in server.jobs.all()]
