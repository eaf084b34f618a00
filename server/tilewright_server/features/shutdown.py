"""``shutdown``: end every job within what an editor waits."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

# VS Code's client waits 2 s before it gives up on a server.
_GRACE_S = 1.0


async def shutdown(server: "TilewrightServer", *_: object) -> None:
    """Ask jobs to end, then end them."""
    await server.jobs.stop_all(_GRACE_S)
