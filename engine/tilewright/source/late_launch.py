"""Launches in functions that have only moved."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tilewright.source.late import complete, has_late_parts, make_late
from tilewright.source.model import Launch

LATE = frozenset(("grid", "arguments", "options", "node"))


class LateLaunch(Launch):
    """A launch whose expressions are made when they are asked for."""

    _option_names: tuple[str, ...]

    @property
    def option_names(self) -> Iterable[str]:
        return self._option_names

    def __eq__(self, other: object) -> bool:
        complete(self)
        if isinstance(other, LateLaunch):
            complete(other)
        return Launch.__eq__(self, other)

    __hash__ = Launch.__hash__


has_late_parts(LateLaunch, LATE)


def late_launch(launch: Launch, lines: int, find: Callable[[], Mapping[str, Any]]) -> Launch:
    """A launch so many lines below, whose expressions ``find`` finds."""
    moved = object.__new__(LateLaunch)
    known = {k: v for k, v in launch.__dict__.items() if k in Launch.__dataclass_fields__}
    moved.__dict__.update({k: v for k, v in known.items() if k not in LATE})
    moved.__dict__["range"] = launch.range.moved(lines)
    moved.__dict__["_option_names"] = tuple(launch.option_names)
    make_late(moved, find)
    return moved
