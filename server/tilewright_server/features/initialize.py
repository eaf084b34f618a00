"""``initialize``: what the client can do, its first settings, the own text model."""

from typing import TYPE_CHECKING

from lsprotocol import types

from tilewright_server.capabilities import read_features
from tilewright_server.settings import read_settings

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


def initialize(server: "TilewrightServer", params: types.InitializeParams) -> None:
    """Runs before pygls computes the server's capabilities."""
    server.protocol.adopt_workspace(params)
    server.client = read_features(params.capabilities)
    server.initial_options = params.initialization_options
    server.settings, _ = read_settings(server.initial_options)
