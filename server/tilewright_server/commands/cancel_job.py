"""``tilewright.cancelJob``: stop a job, for editors that show no progress."""

from typing import TYPE_CHECKING, Any

from tilewright_server.commands.arguments import CancelArguments, read_arguments

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


async def cancel_job(server: "TilewrightServer", *arguments: Any) -> dict[str, Any]:
    """Whether there was such a job and it was not over."""
    return {"cancelled": server.jobs.cancel(read_arguments(CancelArguments, arguments).job)}
