"""``initialize``, ``initialized``, ``shutdown``, and ``tilewright/status`` for a status bar."""

import asyncio
import logging
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright import __version__
from tilewright.collection import collect_seldom
from tilewright_server.capabilities import ClientFeatures, read_features
from tilewright_server.features.workspace import WATCHED, load_settings, watch_files
from tilewright_server.requests import lazy_modules
from tilewright_server.server import TilewrightServer
from tilewright_server.settings import read_settings


def initialize(server: TilewrightServer, params: types.InitializeParams) -> None:
    """Runs before pygls computes the server's capabilities."""
    server.protocol.adopt_workspace(params)
    server.client = read_features(params.capabilities)
    server.initial_options = params.initialization_options
    server.settings, _ = read_settings(server.initial_options)


logger = logging.getLogger(__name__)
_REST_S = 2.0


async def initialized(server: TilewrightServer, params: types.InitializedParams) -> None:
    """Nothing waits for this: until it is done, the settings of ``initialize`` hold."""
    loop = asyncio.get_running_loop()
    loop.run_in_executor(server.pool, _read_ahead, server)
    loop.call_later(_REST_S, lambda: loop.run_in_executor(server.pool, _import_rest))
    wanted = tuple(_registrations(server.client))
    if wanted:
        server.background("client/registerCapability", _register, server, wanted)
    await load_settings(server)
    if not server.client.dynamic_watching:
        watch_files(server)


def _read_ahead(server: TilewrightServer) -> None:
    server.engine.issue_type("")
    collect_seldom(stays=True)


def _import_rest() -> None:
    """What only other requests than those for diagnostics need."""
    for name in lazy_modules():
        import_module(name)
    collect_seldom(stays=True)


def _registrations(client: ClientFeatures) -> Iterator[types.Registration]:
    """The notifications to ask for, where the client lets itself be asked."""
    if client.dynamic_configuration:
        yield types.Registration(
            id="tilewright-configuration",
            method=types.WORKSPACE_DID_CHANGE_CONFIGURATION,
            register_options=types.DidChangeConfigurationRegistrationOptions(section="tilewright"),
        )
    if client.dynamic_watching:
        watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in WATCHED]
        yield types.Registration(
            id="tilewright-files",
            method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            register_options=types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers),
        )


async def _register(server: TilewrightServer, wanted: tuple[types.Registration, ...]) -> None:
    try:
        await server.client_register_capability_async(types.RegistrationParams(wanted))
    except JsonRpcException as error:
        logger.warning("not registered: %s", error)


# VS Code's client waits 2 s before it gives up on a server.
_GRACE_S = 1.0


async def shutdown(server: TilewrightServer, *_: object) -> None:
    """Ask jobs to end, then end them."""
    await server.jobs.stop_all(_GRACE_S)
    await server.host.close()
    server.journal.release()


async def fits(server: TilewrightServer, asked: Any) -> dict[str, str | None]:
    """Whether an edit that is shown still may be applied."""
    return await server.waiting_edits.fits(asked)


STATUS = "tilewright/status"


async def status(server: TilewrightServer, *_: object) -> dict[str, Any]:
    """What the server is and does at this moment."""
    return {
        "version": __version__,
        "trusted": server.settings.trusted,
        "target": server.settings.default_target,
        "triton": ".".join(map(str, server.triton)) if server.triton else None,
        "jobs": [job.to_json() for job in server.jobs.all() if not job.state.is_over],
    }
