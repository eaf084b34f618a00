"""What is collected when, each in a process of its own: a collector goes through the whole heap.

Run with the name of one of the cases; an ``AssertionError`` says what is wrong.
"""

import asyncio
import gc
import sys
from collections.abc import Callable
from pathlib import Path

from tilewright.analysis.run import analyze
from tilewright.collection import collect_all, set_aside
from tilewright.source import parse_module
from tilewright_server import idle_collection
from tilewright_server.idle_collection import IdleCollection

_EXAMPLE = Path(__file__).parents[2] / "examples" / "softmax.py"
_REMEMBERED = 5


class Node:
    """One that refers to itself, which only the collector can free."""

    alive = 0

    def __init__(self) -> None:
        self.own = self
        Node.alive += 1

    def __del__(self) -> None:
        Node.alive -= 1


def what_was_set_aside_is_collected_later() -> None:
    """Not by the collector itself, which does not see it."""
    Node()
    set_aside()
    gc.collect()
    assert Node.alive == 1
    collect_all()
    assert Node.alive == 0


def a_short_pause_collects_what_is_new() -> None:
    """After the edits, without another one; what lived through an earlier pause stays."""
    idle_collection._PAUSE_S = 0.0
    old = Node()
    asyncio.run(_edit(IdleCollection(), 5, 0.01))
    assert Node.alive == 1
    del old
    asyncio.run(_edit(IdleCollection(), 5, 0.01))
    assert Node.alive == 1


def a_long_pause_collects_everything() -> None:
    """What older versions have left behind as well."""
    idle_collection._PAUSE_S = idle_collection._LONG_PAUSE_S = 0.0
    old = Node()
    collect_all()
    del old
    asyncio.run(_edit(IdleCollection(), 1, 0.05))
    assert Node.alive == 0


def edits_alone_do_not() -> None:
    """Without a pause garbage stays until the collector's own threshold is reached."""
    asyncio.run(_edit(IdleCollection(), 5, 0.0))
    assert Node.alive == 5


def many_edits_do() -> None:
    """After so many without a pause everything is collected, also what was set aside."""
    idle_collection._MOST_CHANGES = 5
    old = Node()
    collect_all()
    del old
    asyncio.run(_edit(IdleCollection(), 7, 0.0))
    assert Node.alive == 2


def versions_that_are_forgotten_are_no_garbage() -> None:
    """What was found of a text refers to nothing that refers back: it goes with its last user."""
    text = _EXAMPLE.read_text(encoding="utf-8")
    broken = text.replace("    return", "    return (")
    for number in range(_REMEMBERED):
        _analyzed(text, number)
        _analyzed(broken, number)
    gc.collect()
    for number in range(_REMEMBERED, 2 * _REMEMBERED):
        _analyzed(text, number)
        _analyzed(broken, number)
    # Some functions of the standard library leave a few: those of ``ast.dump``.
    assert gc.collect() < 20 * _REMEMBERED


def _analyzed(text: str, number: int) -> None:
    changed = text.replace("tl.program_id(0)", f"tl.program_id(0) + {number}")
    changed = changed.replace("    return y", f"    number = {number}\n    return y")
    assert changed != text
    analyze(parse_module(changed, str(_EXAMPLE)))


async def _edit(collection: IdleCollection, edits: int, pause_s: float) -> None:
    for _ in range(edits):
        Node()
        collection.changed()
    await asyncio.sleep(pause_s)
    collection.close()


CASES: dict[str, Callable[[], None]] = {
    case.__name__: case
    for case in (
        what_was_set_aside_is_collected_later,
        a_short_pause_collects_what_is_new,
        a_long_pause_collects_everything,
        edits_alone_do_not,
        many_edits_do,
        versions_that_are_forgotten_are_no_garbage,
    )
}

if __name__ == "__main__":
    gc.disable()  # nothing but what is tested collects
    CASES[sys.argv[1]]()
