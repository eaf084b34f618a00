"""What the server keeps of documents and messages does not grow with their number."""

import asyncio
import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tilewright.analysis.model import AnalysisContext
from tilewright_server.analysis_cache import AnalysisService
from tilewright_server.backend import Engine
from tilewright_server.features import create_server
from tilewright_server.positions import Encoding
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot

KERNEL = """import triton

@triton.jit
def one(x, n: {n}):
    pass
"""


@pytest.fixture
def server() -> Iterator[TilewrightServer]:
    made = create_server()
    yield made
    made.pool.shutdown()


def _of_chance(outcome: str) -> Any:
    def plain() -> str:
        return outcome

    async def waiting() -> str:
        return outcome

    def steps() -> Any:
        yield waiting, (), {}
        return outcome

    return plain, waiting, steps


def test_no_future_of_a_message_is_kept_when_it_is_done(server: TilewrightServer) -> None:
    protocol = server.protocol
    done: list[str] = []

    async def exchange() -> None:
        for number in range(30):
            handler = _of_chance("done")[number % 3]
            protocol._execute_handler(str(number), handler, lambda f: done.append(f.result()))
        while len(done) < 30:
            await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(exchange())
    assert done == ["done"] * 30
    assert protocol._request_futures == {}


def test_old_versions_of_a_document_are_let_go(small_heap: None) -> None:
    pool = ThreadPoolExecutor(1)
    service = AnalysisService(Engine(analyze=lambda module, context: ()), pool)

    async def analyzed(path: str, number: int) -> Any:
        text = KERNEL.format(n=number)
        snapshot = Snapshot(f"file://{path}", path, number, "python", text, Encoding.UTF16)
        parsed = await service.parse(snapshot)
        return await service.analyze(snapshot, parsed, AnalysisContext())

    async def session() -> tuple[Any, Any]:
        first, other = await analyzed("/a.py", 0), await analyzed("/b.py", 0)
        old = weakref.ref(first)
        assert await analyzed("/a.py", 0) is first
        del first
        for number in range(1, 30):
            await analyzed("/a.py", number)
        gc.collect()
        return old(), await analyzed("/b.py", 0) is other

    with pool:
        gone, is_known = asyncio.run(session())
    assert gone is None
    assert is_known
