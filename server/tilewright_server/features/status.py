"""``tilewright/status``, a request of our own: versions and jobs, for a status bar."""

from typing import TYPE_CHECKING, Any

from tilewright import __version__

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

STATUS = "tilewright/status"


async def status(server: "TilewrightServer", *_: object) -> dict[str, Any]:
    """What the server is and does at this moment."""
    return {
        "version": __version__,
        "trusted": server.settings.trusted,
        "target": server.settings.default_target,
        "triton": ".".join(map(str, server.triton)) if server.triton else None,
        "jobs": [job.to_json() for job in server.jobs.all() if not job.state.is_over],
    }
