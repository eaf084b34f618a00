"""``tilewright mcp``: the engine's commands as tools for coding agents."""

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_LIMIT_S = 1800.0


def mcp(
    root: Annotated[
        list[Path] | None,
        typer.Option(help="Folder that may be read; may be repeated. Default: where it starts."),
    ] = None,
    device: Annotated[
        str, typer.Option(help="Device where a call names none; the only way to name ssh://host.")
    ] = "auto",
    timeout: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Longest time that one call may take.")
    ] = DEFAULT_LIMIT_S,
) -> None:
    """Serve the commands as tools to coding agents (MCP, stdio).

    No file is written, and nothing outside the roots is read.
    """
    from tilewright_server.mcp.entry import run

    run(root or [], device, timeout)
