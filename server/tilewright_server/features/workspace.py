"""``workspace/didChangeConfiguration``, ``didChangeWatchedFiles``: settings, specs, projects."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright_server.certificates import SUFFIX
from tilewright_server.environment import triton_version
from tilewright_server.server import TilewrightServer
from tilewright_server.settings import Settings, read_settings

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
    folders = list(server.workspace.folders)
    folders = folders if len(folders) > 1 else []
    configured, *of_folders = await _ask(server, (None, *folders))
    if configured is None and isinstance(sent, dict):
        configured = sent.get(_SECTION)
    settings = _read(server, configured)
    inner = {uri: _read(server, one) for uri, one in zip(folders, of_folders, strict=False) if one}
    changed = settings != server.settings or inner != server.folder_settings
    server.folder_settings = inner
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


def _read(server: TilewrightServer, configured: Any) -> Settings:
    settings, problems = read_settings(server.initial_options, configured)
    for problem in problems:
        server.warn(problem)
    if settings.docs_url is None:
        settings = settings.model_copy(update={"docs_url": server.pages.base})
    return settings


async def _ask(server: TilewrightServer, scopes: Sequence[str | None]) -> Sequence[Any]:
    """The client's settings for all and for some folders; None where it has none."""
    none = [None] * len(scopes)
    if not server.client.configuration:
        return none
    items = [types.ConfigurationItem(scope_uri=scope, section=_SECTION) for scope in scopes]
    wanted = types.ConfigurationParams(items=items)
    try:
        answer = await asyncio.wait_for(server.workspace_configuration_async(wanted), _PATIENCE_S)
    except (TimeoutError, JsonRpcException) as error:
        logger.warning("no settings from the client: %s", error)
        return none
    return [*answer, *none][: len(scopes)]


async def did_change_workspace_folders(
    server: TilewrightServer, params: types.DidChangeWorkspaceFoldersParams
) -> None:
    """A folder that came may have settings of its own."""
    await load_settings(server)


def watch_files(server: TilewrightServer) -> None:
    """Watch the folders here where the client does not; without watchdog only saves are seen."""
    from tilewright.checking.file_watch import FileWatch
    from tilewright.errors import InputError

    loop = asyncio.get_running_loop()

    def report(path: Path) -> None:
        if path.name.endswith(SUFFIX):
            loop.call_soon_threadsafe(certificates_changed, server)
        elif path.suffix in _YAML or path.name == "pyproject.toml":
            loop.call_soon_threadsafe(server.background, "filesChanged", files_changed, server)

    try:
        server.watch = FileWatch(server.index.roots(), report)
    except InputError as error:
        logger.warning("files that others change are not watched: %s", error)


_YAML = (".yaml", ".yml")
WATCHED = ("**/pyproject.toml", "**/*.{yaml,yml}", f"**/*{SUFFIX}")


async def did_change_watched_files(
    server: TilewrightServer, params: types.DidChangeWatchedFilesParams
) -> None:
    """Read what holds for the open documents again."""
    if all(change.uri.endswith(SUFFIX) for change in params.changes):
        certificates_changed(server)
        return
    await files_changed(server)


def certificates_changed(server: TilewrightServer) -> None:
    """Read certificates again; what else holds for the documents is as it was."""
    server.certificates.forget()
    server.refresh()


async def files_changed(server: TilewrightServer) -> None:
    """Read specs, configurations and certificates again."""
    server.certificates.forget()
    await server.read_projects_again()
    for snapshot in server.snapshots():
        server.compiling.opened(snapshot.uri)
