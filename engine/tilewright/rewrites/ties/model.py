"""What belongs together with a launch constant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ties:
    """What is known of one constexpr at one launch.

    Attributes:
        fixed: why it must stay as it is; empty where it may change.
        whole: why only a divisor of what it is now will do; empty where any size will.
        doubts: what may have to change with it and does not: only comparing results tells.
        followers: what the host computes from it before the launch; nothing does that for a tuner.
    """

    fixed: str = ""
    whole: str = ""
    doubts: tuple[str, ...] = ()
    followers: tuple[str, ...] = ()

    def refusal(self, name: str, present: int | None, value: object) -> str:
        """Why it cannot have a value; empty where it can."""
        if value == present:
            return ""
        if self.fixed:
            return f"{name} stays at {_number_text(present)}: {self.fixed}"
        divides = type(value) is int and value > 0 and present is not None and present % value == 0
        if self.whole and not divides:
            return f"{name} may only be a divisor of {_number_text(present)}: {self.whole}"
        return ""


def joined(found: Iterable[Ties]) -> Ties:
    """All of them at once; the first reason of each kind speaks for the others."""
    every = list(found)
    return Ties(
        fixed=next((one.fixed for one in every if one.fixed), ""),
        whole=next((one.whole for one in every if one.whole), ""),
        doubts=tuple(dict.fromkeys(doubt for one in every for doubt in one.doubts)),
        followers=tuple(dict.fromkeys(told for one in every for told in one.followers)),
    )


def _number_text(present: int | None) -> str:
    return "what the host computes" if present is None else str(present)
