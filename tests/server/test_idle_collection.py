"""Garbage is collected in a pause, not in an edit, and in the end also without a pause."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from tilewright.collection import collect_all, set_aside
from tilewright_server import idle_collection
from tilewright_server.idle_collection import IdleCollection


class Node:
    """One that refers to itself, which only the collector can free."""

    alive = 0

    def __init__(self) -> None:
        self.own = self
        Node.alive += 1

    def __del__(self) -> None:
        Node.alive -= 1


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Nothing but what is tested collects."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


def test_what_was_set_aside_is_collected_later(no_collector: None) -> None:
    Node()
    set_aside()
    gc.collect()
    assert Node.alive == 1
    collect_all()
    assert Node.alive == 0


async def _edit(collection: IdleCollection, edits: int, pause_s: float) -> None:
    for _ in range(edits):
        Node()
        collection.changed()
    await asyncio.sleep(pause_s)
    collection.close()


def test_a_pause_collects(no_collector: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_collection, "_PAUSE_S", 0.0)
    asyncio.run(_edit(IdleCollection(), 5, 0.01))
    assert Node.alive == 0


def test_edits_alone_do_not_until_there_is_much(
    no_collector: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(_edit(IdleCollection(), 5, 0.0))
    assert Node.alive == 5
    monkeypatch.setattr(idle_collection, "_MOST_OBJECTS", -1)
    asyncio.run(_edit(IdleCollection(), 1, 0.0))
    assert Node.alive == 0
