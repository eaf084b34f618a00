"""Imports the protocol's classes as ``tilewright lsp`` does, before the server is imported."""

from tilewright_server.protocol_types import import_protocol_types

import_protocol_types()
