"""A running server process with a client that talks to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from conversation import FAKE_SERVER, Conversation, make_client
from pytest_lsp import ClientServerConfig


@pytest_asyncio.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Conversation]:
    """The real server with a scripted engine; not yet initialized."""
    config = ClientServerConfig(server_command=FAKE_SERVER, client_factory=make_client)
    client = await config.start()
    conversation = Conversation(client, tmp_path)
    client.talk = conversation
    yield conversation
    if client._server is not None and client._server.returncode is None:
        await client.shutdown_session()
    await client.stop()
