"""Values of a kernel in one launch: numbers, for a program, an iteration of a loop, a lane."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tilewright.analysis.tiles import Affine, Polynomial, Tiles
from tilewright.analysis.values import Flow, Loop, Value, walk
from tilewright.targets.model import LaunchFacts

Number = int | float
_DEPTH = 200
_TL = "triton.language."


@dataclass(frozen=True)
class Place:
    """Where a value is looked at.

    Attributes:
        program: program ids by axis.
        turns: of loops, by their numbers; the first where not named.
        lanes: positions along the axes of the value's tile; outer axes first.
    """

    program: tuple[int, ...] = (0, 0, 0)
    turns: Mapping[int, int] = field(default_factory=dict)
    lanes: tuple[int, ...] = ()


ORIGIN = Place()


def _truncated(a: Number, b: Number) -> Number:
    """Division of integers as the device does it, towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: Number, b: Number) -> Number:
    return a - b * _truncated(a, b)


_BINARY: Mapping[str, Callable[[Number, Number], Number]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": _truncated, "Mod": _remainder, "Pow": operator.pow,
    "LShift": lambda a, b: int(a) << int(b), "RShift": lambda a, b: int(a) >> int(b),
    "BitAnd": lambda a, b: int(a) & int(b), "BitOr": lambda a, b: int(a) | int(b),
    "BitXor": lambda a, b: int(a) ^ int(b),
}  # fmt: skip
_COMPARE: Mapping[str, Callable[[Number, Number], bool]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Eq": operator.eq, "NotEq": operator.ne, "Is": operator.eq, "IsNot": operator.ne,
}  # fmt: skip


def _ceil_div(a: Number, b: Number) -> int:
    return -(-int(a) // int(b))


_CALLS: Mapping[str, Callable[..., Number]] = {
    _TL + "cdiv": _ceil_div, "triton.cdiv": _ceil_div, "int": int, "abs": abs,
    "min": min, "max": max, _TL + "minimum": min, _TL + "maximum": max,
}  # fmt: skip
_SAME = ("multiple_of", "max_contiguous", "max_constancy", "assume", "broadcast_to", "cast")


class Numbers:
    """Evaluates values of one kernel under one launch; None is what does not follow."""

    def __init__(self, tiles: Tiles, flow: Flow, launch: LaunchFacts) -> None:
        self._tiles = tiles
        self._flow = flow
        self._grid = (*launch.grid, 1, 1, 1)[:3]
        self._given = {a.name: a.value for a in launch.arguments if a.kind != "tensor"}
        self._fixed: dict[Value, Number | None] = {}
        self._first_lanes: dict[tuple[int, ...], dict[Value, Number | None]] = {}

    @property
    def grid(self) -> tuple[int, ...]:
        return self._grid

    def number_of(self, value: Value, place: Place = ORIGIN) -> Number | None:
        """The number that a value is at a place."""
        try:
            return self._number_at(value, place, 0)
        except (ZeroDivisionError, OverflowError, ValueError, TypeError):
            return None

    def polynomial(self, form: Polynomial, place: Place = ORIGIN) -> int | None:
        """The number that a polynomial over the kernel's values is."""
        total = 0
        for factors, coefficient in form:
            product = coefficient
            for factor in factors:
                number = self.number_of(factor, place)
                if number is None:
                    return None
                product *= int(number)
            total += product
        return total

    def trips(self, loop: Loop, place: Place = ORIGIN) -> int | None:
        """How often a loop's body runs; None where its bounds do not follow."""
        bounds = loop.bounds or self._while_bounds(loop)
        if bounds is None:
            return None
        start, stop, step = (self.number_of(bound, place) for bound in bounds)
        if start is None or stop is None or not step:
            return None
        return max(0, -(-int(stop - start) // int(step)))

    def _while_bounds(self, loop: Loop) -> tuple[Value, Value, Value] | None:
        """Of ``while i < n`` whose body adds a step to ``i`` and leaves the rest alone."""
        test = self._flow.values.get(loop.node.test) if isinstance(loop.node, ast.While) else None
        if test is None or test.op != "compare" or test.detail != "Lt":
            return None
        counter, stop = test.operands
        back = self._flow.back_edges.get(counter)
        if back is None or not back.is_binary("Add") or not counter.operands:
            return None
        steps = [side for side in back.operands if side is not counter]
        if len(steps) != 1 or loop.number in steps[0].varies | stop.varies:
            return None
        return counter.operands[0], stop, steps[0]

    def _number_at(self, value: Value, place: Place, depth: int) -> Number | None:
        if value.op in ("const", "param", "global"):
            if value not in self._fixed:
                self._fixed[value] = self._leaf(value)
            return self._fixed[value]
        if depth > _DEPTH:
            return None
        rule = _RULES.get(value.op)
        if rule is None or place.turns or any(place.lanes):
            return None if rule is None else rule(self, value, place, depth + 1)
        known = self._first_lanes.setdefault(place.program, {})
        if value not in known:
            known[value] = rule(self, value, place, depth + 1)
        return known[value]

    def _leaf(self, value: Value) -> Number | None:
        number: object = value.detail
        if value.op == "param":
            number = self._given.get(str(value.detail))
        elif value.op == "global":
            constant = self._tiles.facts_of(value).constant
            number = None if constant is None else constant.value
        return number if isinstance(number, int | float) else None

    def _pair(self, value: Value, place: Place, depth: int) -> tuple[Number, Number] | None:
        left = self._number_at(value.operands[0], place, depth)
        right = None if left is None else self._number_at(value.operands[1], place, depth)
        return None if left is None or right is None else (left, right)

    def _program(self, value: Value, place: Place, depth: int) -> Number | None:
        axis = value.detail
        return place.program[axis] if isinstance(axis, int) and axis < 3 else None

    def _arange(self, value: Value, place: Place, depth: int) -> Number | None:
        start = self._number_at(value.operands[0], place, depth)
        return None if start is None else start + (place.lanes[-1] if place.lanes else 0)

    def _binary(self, value: Value, place: Place, depth: int) -> Number | None:
        pair, rule = self._pair(value, place, depth), _BINARY.get(str(value.detail))
        return None if pair is None or rule is None else rule(*pair)

    def _compare(self, value: Value, place: Place, depth: int) -> Number | None:
        pair, rule = self._pair(value, place, depth), _COMPARE.get(str(value.detail))
        return None if pair is None or rule is None else rule(*pair)

    def _bool(self, value: Value, place: Place, depth: int) -> Number | None:
        sides = [self._number_at(operand, place, depth) for operand in value.operands]
        if None in sides:
            return None
        return all(sides) if value.detail == "And" else any(sides)

    def _unary(self, value: Value, place: Place, depth: int) -> Number | None:
        inner = self._number_at(value.operands[0], place, depth)
        if inner is None:
            return None
        if value.detail == "Not":
            return not inner
        if value.detail == "Invert":
            return not inner if isinstance(inner, bool) else ~int(inner)
        return -inner if value.detail == "USub" else inner

    def _select(self, value: Value, place: Place, depth: int) -> Number | None:
        condition = self._number_at(value.operands[0], place, depth)
        if condition is None:
            return None
        return self._number_at(value.operands[1 if condition else 2], place, depth)

    def _first(self, value: Value, place: Place, depth: int) -> Number | None:
        return self._number_at(value.operands[0], place, depth)

    def _expand(self, value: Value, place: Place, depth: int) -> Number | None:
        parts = str(value.detail).split(",")
        if len(place.lanes) != len(parts):
            return self._first(value, place, depth)
        lanes = tuple(lane for lane, part in zip(place.lanes, parts, strict=True) if part == ":")
        return self._number_at(value.operands[0], Place(place.program, place.turns, lanes), depth)

    def _index(self, value: Value, place: Place, depth: int) -> Number | None:
        if len(value.operands) != 3:
            return None
        start = self._number_at(value.operands[0], place, depth)
        step = self._number_at(value.operands[2], place, depth)
        turn = place.turns.get(value.detail, 0) if isinstance(value.detail, int) else 0
        return None if start is None or step is None else start + turn * step

    def _call(self, value: Value, place: Place, depth: int) -> Number | None:
        name = str(value.detail)
        if name == _TL + "num_programs":
            axis = value.operands[0].detail if value.operands else None
            return self._grid[axis] if isinstance(axis, int) and axis < 3 else None
        if name.removeprefix(_TL) in _SAME:
            return self._first(value, place, depth)
        rule = _CALLS.get(name)
        given = [self._number_at(operand, place, depth) for operand in value.operands]
        return None if rule is None or None in given else rule(*given)

    def _carried(self, value: Value, place: Place, depth: int) -> Number | None:
        """A value at a loop's head: by its affine form, else as it enters the loop."""
        form = self._tiles.facts_of(value).affine
        if form is not None and not _is_itself(form, value):
            return self.affine(form, place)
        only_first = not any(place.turns.values())
        return self._first(value, place, depth) if value.operands and only_first else None

    def affine(self, form: Affine, place: Place) -> int | None:
        """The number that an affine form is at a place, its lanes along the axes included."""
        total = self.polynomial(form.constant, place)
        for term in form.terms:
            lanes = () if term.axis is None else place.lanes[term.axis : term.axis + 1]
            index = self.number_of(term.index, Place(place.program, place.turns, lanes))
            coefficient = self.polynomial(term.coefficient, place)
            if total is None or index is None or coefficient is None:
                return None
            total += coefficient * int(index)
        return total


def _is_itself(form: Affine, value: Value) -> bool:
    return value in form.constant.values or any(term.index is value for term in form.terms)


_RULES: Mapping[str, Callable[[Numbers, Value, Place, int], Number | None]] = {
    "program_id": Numbers._program, "arange": Numbers._arange, "binary": Numbers._binary,
    "compare": Numbers._compare, "bool": Numbers._bool, "unary": Numbers._unary,
    "select": Numbers._select, "cast": Numbers._first, "expand": Numbers._expand,
    "loop_index": Numbers._index, "call": Numbers._call, "phi": Numbers._carried,
}  # fmt: skip


def programs_of(value: Value) -> frozenset[int]:
    """The axes of the grid that a value is computed from."""
    found = (v.detail for v in walk(value) if v.op == "program_id")
    return frozenset(axis for axis in found if isinstance(axis, int) and axis < 3)
