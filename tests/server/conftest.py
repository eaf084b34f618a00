"""A running server process with a client that talks to it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from conversation import FAKE_SERVER, Conversation, make_client
from pytest_lsp import ClientServerConfig

NURSERY = str(Path(__file__).with_name("nursery.py"))


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Servers keep the pages of rules in a folder of the tests."""
    before = os.environ.get("TILEWRIGHT_HOME")
    os.environ["TILEWRIGHT_HOME"] = str(tmp_path_factory.mktemp("home"))
    yield
    if before is None:
        del os.environ["TILEWRIGHT_HOME"]
    else:
        os.environ["TILEWRIGHT_HOME"] = before


@pytest.fixture(scope="session")
def forked_server(home: None) -> Iterator[list[str]]:
    """The command of a server that is forked from one with all imports done."""
    with tempfile.TemporaryDirectory(prefix="tw-") as folder:  # a socket's path must be short
        path = f"{folder}/socket"
        nursery = subprocess.Popen([sys.executable, NURSERY, path], stdout=subprocess.PIPE)
        assert nursery.stdout is not None
        assert nursery.stdout.readline() == b"ready\n"
        yield [sys.executable, "-IS", NURSERY, path, "connect"]
        nursery.kill()
        nursery.wait()


@pytest_asyncio.fixture
async def talk(tmp_path: Path, forked_server: list[str]) -> AsyncIterator[Conversation]:
    """The real server, a process for each test, with a scripted engine; not yet initialized."""
    async for conversation in _converse(tmp_path, forked_server):
        yield conversation


@pytest_asyncio.fixture
async def fresh(tmp_path: Path) -> AsyncIterator[Conversation]:
    """The same from a process started anew, whose process id is the server's own."""
    async for conversation in _converse(tmp_path, FAKE_SERVER):
        yield conversation


@pytest_asyncio.fixture
async def keyed(tmp_path: Path, forked_server: list[str]) -> AsyncIterator[Conversation]:
    """The same in an environment with keys and a log; and a log."""
    extra = {
        "OPENAI_API_KEY": "sk-from-the-environment",
        "TILEWRIGHT_MODEL_KEYS": '{"https://models.example/v1/": "sk-from-the-editor"}',
        "TEST_SPY": str(tmp_path / "spied"),
        # Not in the folder that the server watches: each line of the log would lead to another.
        "TEST_LOG": str(tmp_path.with_suffix(".log")),
    }
    environment = {**os.environ, **extra}
    environment.pop("OPENAI_BASE_URL", None)
    async for conversation in _converse(tmp_path, forked_server, environment):
        yield conversation


@pytest_asyncio.fixture
async def again(tmp_path: Path, forked_server: list[str]) -> AsyncIterator[Conversation]:
    """Another server on the same folder and home, as after a window was reloaded."""
    async for conversation in _converse(tmp_path, forked_server):
        yield conversation


async def _converse(
    folder: Path, command: list[str], environment: dict[str, str] | None = None
) -> AsyncIterator[Conversation]:
    own = {**(environment or os.environ), "TILEWRIGHT_HOME": str(folder / "home")}
    config = ClientServerConfig(server_command=command, client_factory=make_client, server_env=own)
    client = await config.start()
    conversation = Conversation(client, folder)
    client.talk = conversation
    yield conversation
    if client._server is not None and client._server.returncode is None:
        await client.shutdown_session()
    await client.stop()
