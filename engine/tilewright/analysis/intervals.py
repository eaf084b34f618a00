"""Integer intervals of values, given what is known of parameters and the grid.

Bounds hold for all programs and all iterations of the loops together, so an interval may be
wider than what happens; a finding never rests on its upper end alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tilewright.analysis.values import Value
from tilewright.targets.model import LaunchFacts

Interval = tuple[int, int]
_LARGEST = 1 << 128
_CDIV = ("triton.language.cdiv", "triton.cdiv")


@dataclass(frozen=True)
class Numbers:
    """Known integers: parameters by name, and the grid (empty if not known).

    ``intervals`` keeps what was computed with them, by the value's identity.
    """

    parameters: Mapping[str, int] = field(default_factory=dict)
    grid: tuple[int, ...] = ()
    intervals: dict[int, tuple[Value, Interval | None]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @staticmethod
    def of_launch(launch: LaunchFacts) -> "Numbers":
        """What a captured launch says."""
        known = {
            a.name: int(a.value)
            for a in launch.arguments
            if isinstance(a.value, int) and a.kind != "tensor"
        }
        return Numbers(known, launch.grid)


def number_of(value: Value | int, numbers: Numbers) -> int | None:
    """The one integer a value is, if it is known."""
    if isinstance(value, int):
        return value
    found = interval_of(value, numbers)
    return found[0] if found is not None and found[0] == found[1] else None


def interval_of(value: Value, numbers: Numbers, depth: int = 0) -> Interval | None:
    """Least and greatest element of an integer value, None if it is not known."""
    if depth > 60:
        return None
    # A value may be an operand of many: to compute it each time it is met takes forever.
    known = numbers.intervals.get(id(value))
    if known is None:
        known = numbers.intervals[id(value)] = (value, _interval(value, numbers, depth))
    return known[1]


def _interval(value: Value, numbers: Numbers, depth: int) -> Interval | None:
    match value.op:
        case "const":
            whole = isinstance(value.detail, int) and not isinstance(value.detail, bool)
            return (int(value.detail or 0),) * 2 if whole else None
        case "param":
            known = numbers.parameters.get(str(value.detail))
            return None if known is None else (known, known)
        case "program_id":
            axis = value.detail
            if isinstance(axis, int) and axis < len(numbers.grid):
                return (0, max(0, numbers.grid[axis] - 1))
            return None
        case "arange" | "loop_index":
            return _counted(value, numbers, depth)
        case "cast" | "expand":
            return interval_of(value.operands[0], numbers, depth + 1)
        case "binary" | "call":
            return _computed(value, numbers, depth)
    return None


def _counted(value: Value, numbers: Numbers, depth: int) -> Interval | None:
    """``arange(start, end)`` and the index of ``range(start, end[, step])``."""
    if len(value.operands) < 2:
        return None
    start = interval_of(value.operands[0], numbers, depth + 1)
    end = interval_of(value.operands[1], numbers, depth + 1)
    if start is None or end is None:
        return None
    if value.op == "loop_index":
        step = number_of(value.operands[2], numbers)
        if step is None or step <= 0:
            return None
        if start[0] == start[1]:
            return (start[0], max(start[0], start[0] + (end[1] - 1 - start[0]) // step * step))
    return (start[0], max(start[0], end[1] - 1))


def _computed(value: Value, numbers: Numbers, depth: int) -> Interval | None:
    if len(value.positional) != 2:
        return None
    one = interval_of(value.operands[0], numbers, depth + 1)
    two = interval_of(value.operands[1], numbers, depth + 1)
    if one is None or two is None:
        return None
    if value.is_call("triton.language.minimum", "min"):
        return (min(one[0], two[0]), min(one[1], two[1]))
    if value.is_call("triton.language.maximum", "max"):
        return (max(one[0], two[0]), max(one[1], two[1]))
    if value.is_call(*_CDIV):
        return _corners(lambda a, b: -(-a // b), one, two) if two[0] > 0 else None
    return _arithmetic(value, one, two)


def _arithmetic(value: Value, one: Interval, two: Interval) -> Interval | None:
    if value.is_binary("Add"):
        return (one[0] + two[0], one[1] + two[1])
    if value.is_binary("Sub"):
        return (one[0] - two[1], one[1] - two[0])
    if value.is_binary("Mult"):
        found = _corners(lambda a, b: a * b, one, two)
        return found if max(map(abs, found)) < _LARGEST else None
    if two[0] <= 0 or one[0] < 0:
        return None
    if value.is_binary("FloorDiv"):
        return _corners(lambda a, b: a // b, one, two)
    if value.is_binary("Mod"):
        return one if one[1] < two[0] else (0, min(one[1], two[1] - 1))
    return None


def _corners(combine: Callable[[int, int], int], one: Interval, two: Interval) -> Interval:
    found = [combine(a, b) for a in one for b in two]
    return (min(found), max(found))
