"""``initialized``: ask for settings, hear of their changes, read the knowledge ahead of its use."""

import asyncio
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright.collection import collect_seldom
from tilewright_server.capabilities import ClientFeatures
from tilewright_server.features.did_change_configuration import load_settings
from tilewright_server.features.did_change_watched_files import WATCHED

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

logger = logging.getLogger(__name__)


async def initialized(server: "TilewrightServer", params: types.InitializedParams) -> None:
    """Nothing waits for this: until it is done, the settings of ``initialize`` hold."""
    loop = asyncio.get_running_loop()
    loop.run_in_executor(server.pool, _read_ahead, server)
    wanted = tuple(_registrations(server.client))
    if wanted:
        server.background("client/registerCapability", _register, server, wanted)
    await load_settings(server)


def _read_ahead(server: "TilewrightServer") -> None:
    server.engine.issue_type("")
    collect_seldom()


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


async def _register(server: "TilewrightServer", wanted: tuple[types.Registration, ...]) -> None:
    try:
        await server.client_register_capability_async(types.RegistrationParams(wanted))
    except JsonRpcException as error:
        logger.warning("not registered: %s", error)
