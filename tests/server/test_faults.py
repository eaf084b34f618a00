"""Faults of our own: a detector or a rewrite that raises costs its own answer and nothing else."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from conversation import DOT_LINE, FAKE_SERVER, NAME_LINE, Conversation, make_client
from lsprotocol import types
from pytest_lsp import ClientServerConfig

EXP = """\
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, tl.exp(x))
"""


@pytest_asyncio.fixture
async def faulty(tmp_path: Path) -> AsyncIterator[Conversation]:
    config = ClientServerConfig(
        server_command=FAKE_SERVER,
        client_factory=make_client,
        server_env={**os.environ, "TEST_FAULTS": "1"},
    )
    client = await config.start()
    conversation = Conversation(client, tmp_path)
    client.talk = conversation
    yield conversation
    await client.shutdown_session()
    await client.stop()


async def test_rewrite_that_raises(faulty: Conversation) -> None:
    await faulty.begin()
    faulty.open(text=EXP)
    asked = types.CodeActionTriggerKind.Invoked
    actions = {a.title: a for a in await faulty.actions(7, 22, ["quickfix"], asked)}
    broken = actions["Break (exact, not measured)"]
    resolved = await faulty.client.code_action_resolve_async(broken)
    assert resolved.edit is None
    good = actions["Use exp2 (sums in another order, not measured)"]
    assert (await faulty.client.code_action_resolve_async(good)).edit is not None


async def test_detector_that_raises(faulty: Conversation) -> None:
    await faulty.begin()
    faulty.open()
    good = faulty.text
    faulty.replace(good.replace("dot_kernel", "faulty"))
    assert await faulty.hover(NAME_LINE, 6) is None
    assert await faulty.lenses() == []
    timings = (await faulty.execute("tilewright.debugInfo"))["timings"]
    assert any(timing["outcome"] == "failed" for timing in timings)
    faulty.replace(good)
    assert await faulty.hover(DOT_LINE, 20)
    assert not faulty.client.messages, "no pop-up for a fault of ours"
