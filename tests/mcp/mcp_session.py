"""Sessions of the package's own client with the server: in this process, and over stdio."""

import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, ListRootsResult, Root
from pydantic import FileUrl

from tilewright_server.jobs.process import ENGINE_COMMAND
from tilewright_server.mcp.roots import Roots
from tilewright_server.mcp.service import Service, Settings

STAND_IN = (sys.executable, str(Path(__file__).with_name("mcp_engine.py")))
ROOT = Path(__file__).parents[2]
_INHERITED = ("PYTHONPATH", "TILEWRIGHT_HOME", "TILEWRIGHT_SERVICE", "TILEWRIGHT_PYTHON", "TMPDIR")


def listing(*folders: Path) -> Any:
    """A client's answer to the question for its roots."""

    async def answer(_: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(folder.as_uri())) for folder in folders])

    return answer


def here(
    *roots: Path,
    mode: str = "auto",
    command: Sequence[str] = STAND_IN,
    limit_s: float = 600.0,
    **client: Any,
) -> Client:
    """A client of a server in this process; the engine is a stand-in if none is named."""
    own = Roots(tuple(os.path.realpath(root) for root in roots))
    server = Service(Settings(own, "interpreter", limit_s, command)).server()
    return Client(server, mode=mode, **client)


@asynccontextmanager
async def over_stdio(
    root: Path, errors: Path, *words: str, env: Mapping[str, str] | None = None, **client: Any
) -> AsyncIterator[Client]:
    """A client of ``tilewright mcp`` as a process."""
    variables = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    parameters = StdioServerParameters(
        command=ENGINE_COMMAND[0],
        args=[*ENGINE_COMMAND[1:], "mcp", "--root", str(root), *words],
        env={**variables, **(env or {})},
    )
    with errors.open("w") as log:
        async with Client(stdio_client(parameters, errlog=log), **client) as session:
            yield session


def words(result: CallToolResult) -> str:
    """The text of a result."""
    return "\n".join(getattr(part, "text", "") for part in result.content)
