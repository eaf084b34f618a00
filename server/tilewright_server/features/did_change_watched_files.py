"""``workspace/didChangeWatchedFiles``: a project's settings or a problem's spec changed."""

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

WATCHED = ("**/pyproject.toml", "**/*.{yaml,yml}")


async def did_change_watched_files(
    server: "TilewrightServer", params: types.DidChangeWatchedFilesParams
) -> None:
    """Read what holds for the open documents again."""
    await server.read_projects_again()
    for snapshot in server.snapshots():
        server.compiling.opened(snapshot.uri)
