"""The command line of the MCP server: roots, device, limit; an error without the package."""

import importlib.util
import logging
from collections.abc import Sequence
from pathlib import Path

from tilewright.errors import InputError
from tilewright_server.jobs.process import ENGINE_COMMAND
from tilewright_server.mcp.refusal import RefusedError
from tilewright_server.mcp.roots import named_roots


def run(roots: Sequence[Path], device: str, limit_s: float) -> None:
    """Serve until the client leaves.

    Raises:
        InputError: the package ``mcp`` is missing, or a root is not a folder.
    """
    if importlib.util.find_spec("mcp") is None:
        raise InputError("the MCP server needs the package mcp: pip install 'tilewright[mcp]'")
    try:
        chosen = named_roots(roots)
    except RefusedError as refused:
        raise InputError(str(refused)) from None
    # Standard output is the protocol's.
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    from tilewright_server.mcp.service import Settings, serve

    serve(Settings(chosen, device, limit_s, ENGINE_COMMAND))
