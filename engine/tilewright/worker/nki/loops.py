"""Loops of NKI: their turns run one by one, affine ones from the last to the first if asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from . import storage as memory
from .launch import Launch, Loop, LoopKind, Turn, running, user_frame

_NAMES: Final[dict[LoopKind, str]] = {
    "affine": "nl.affine_range",
    "sequential": "nl.sequential_range",
    "static": "nl.static_range",
}


class LoopIndex(int):
    """A loop's index, which is a whole number here and knows whether its turn is the first.

    Attributes:
        loop: that it counts.
        is_first: of the turns as they run, whatever the number.
    """

    loop: Loop
    is_first: bool

    def __new__(cls, value: int, loop: Loop, is_first: bool) -> LoopIndex:
        index = super().__new__(cls, value)
        index.loop = loop
        index.is_first = is_first
        return index


def turns(kind: LoopKind, arguments: tuple[Any, ...]) -> Iterator[int]:
    """The indices of a loop, each while its turn runs.

    Raises:
        KernelFault: bounds that are no whole numbers.
    """
    launch = running()
    numbers: Sequence[int] = range(*(_whole(launch, kind, a) for a in arguments))
    if kind == "affine" and launch.settings.reverse:
        numbers = numbers[::-1]
    frame = user_frame()
    loop = Loop(kind, frame.f_lineno if frame else 0, _NAMES[kind])
    around = launch.turn
    for place, number in enumerate(numbers):
        turn = launch.turn = Turn(loop, around)
        try:
            yield number if kind == "static" else LoopIndex(number, loop, place == 0)
        finally:
            launch.turn = around
            end_turn(launch, turn, around)


def end_turn(launch: Launch, turn: Turn, around: Turn) -> None:
    lines = launch.freed_lines.get(turn.loop.line)
    if lines:
        memory.free_touched(turn, lines)
    around.touched.extend(turn.touched)


def _whole(launch: Launch, kind: LoopKind, value: Any) -> int:
    if isinstance(value, float) or not hasattr(value, "__index__"):
        launch.stop(
            "argument", f"{_NAMES[kind]} takes whole numbers, not {type(value).__name__} {value!r}"
        )
    return int(value)
