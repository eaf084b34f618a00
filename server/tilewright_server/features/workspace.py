"""``workspace/didChangeConfiguration``, ``didChangeWatchedFiles``: settings, specs, projects."""

import asyncio
import logging
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright_server.certificates import SUFFIX
from tilewright_server.environment import triton_version
from tilewright_server.server import TilewrightServer
from tilewright_server.settings import read_settings

logger = logging.getLogger(__name__)

_SECTION = "tilewright"
_PATIENCE_S = 5.0


async def did_change_configuration(
    server: TilewrightServer, params: types.DidChangeConfigurationParams
) -> None:
    """Pull the settings where the client can be asked; else take what it sent along."""
    await load_settings(server, params.settings)


async def load_settings(server: TilewrightServer, sent: Any = None) -> None:
    """Put the settings in force; what cannot be used is said once and left at its default."""
    configured = await _ask(server)
    if configured is None and isinstance(sent, dict):
        configured = sent.get(_SECTION)
    settings, problems = read_settings(server.initial_options, configured)
    for problem in problems:
        server.warn(problem)
    if settings.docs_url is None:
        settings = settings.model_copy(update={"docs_url": server.pages.base})
    changed = settings != server.settings
    if settings.python != server.settings.python:
        server.chip.forget_machine()
    server.settings = settings
    # An interpreter a workspace names is only started where the workspace is trusted.
    triton = await triton_version(settings.python if settings.trusted else None)
    if changed or triton != server.triton:
        server.triton = triton
        server.revision += 1
        server.refresh()
        for snapshot in server.snapshots():
            server.compiling.opened(snapshot.uri)


async def _ask(server: TilewrightServer) -> Any:
    if not server.client.configuration:
        return None
    wanted = types.ConfigurationParams(items=[types.ConfigurationItem(section=_SECTION)])
    try:
        answer = await asyncio.wait_for(server.workspace_configuration_async(wanted), _PATIENCE_S)
    except (TimeoutError, JsonRpcException) as error:
        logger.warning("no settings from the client: %s", error)
        return None
    return answer[0] if answer else None


WATCHED = ("**/pyproject.toml", "**/*.{yaml,yml}", f"**/*{SUFFIX}")


async def did_change_watched_files(
    server: TilewrightServer, params: types.DidChangeWatchedFilesParams
) -> None:
    """Read what holds for the open documents again."""
    server.certificates.forget()
    if all(change.uri.endswith(SUFFIX) for change in params.changes):
        server.refresh()
        return
    await server.read_projects_again()
    for snapshot in server.snapshots():
        server.compiling.opened(snapshot.uri)
