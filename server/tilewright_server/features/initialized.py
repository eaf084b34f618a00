"""``initialized``: ask for settings, hear of their changes, read the knowledge ahead of its use."""

import asyncio
import logging
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright_server.features.did_change_configuration import load_settings

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

logger = logging.getLogger(__name__)


async def initialized(server: "TilewrightServer", params: types.InitializedParams) -> None:
    """Nothing waits for this: until it is done, the settings of ``initialize`` hold."""
    loop = asyncio.get_running_loop()
    loop.run_in_executor(server.pool, server.engine.issue_type, "")
    if server.client.dynamic_configuration:
        server.background("client/registerCapability", _register, server)
    await load_settings(server)


async def _register(server: "TilewrightServer") -> None:
    method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
    registration = types.Registration(
        id="tilewright-configuration",
        method=method,
        register_options=types.DidChangeConfigurationRegistrationOptions(section="tilewright"),
    )
    try:
        await server.client_register_capability_async(types.RegistrationParams([registration]))
    except JsonRpcException as error:
        logger.warning("%s was not registered: %s", method, error)
