"""``workspace/didChangeWatchedFiles``: a project's settings, a spec or a certificate changed."""

from typing import TYPE_CHECKING

from lsprotocol import types

from tilewright_server.certificates import SUFFIX

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

WATCHED = ("**/pyproject.toml", "**/*.{yaml,yml}", f"**/*{SUFFIX}")


async def did_change_watched_files(
    server: "TilewrightServer", params: types.DidChangeWatchedFilesParams
) -> None:
    """Read what holds for the open documents again."""
    server.certificates.forget()
    if all(change.uri.endswith(SUFFIX) for change in params.changes):
        server.refresh()
        return
    await server.read_projects_again()
    for snapshot in server.snapshots():
        server.compiling.opened(snapshot.uri)
