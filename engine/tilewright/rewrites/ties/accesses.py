"""Where a kernel goes in memory along the axes that one constexpr sizes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.analysis.tiles import ONE, Affine, Kind, Polynomial, Tiles
from tilewright.analysis.values import Access, Called, Flow, Value, walk

_TL = "triton.language."


@dataclass(frozen=True)
class Along:
    """One load or store, along one axis that has as many elements as the constexpr says.

    Attributes:
        line: 1-based.
        base: the pointer parameter; None where that is not known.
        goes_on: whether other programs or turns take the tiles behind this one. None where that
            cannot be derived.
        bounded: whether a mask, a remainder or a check of bounds holds it inside the tensor.
        tiles: what counts the tiles: program ids, indices of loops.
    """

    line: int
    base: str | None
    goes_on: bool | None
    bounded: bool
    tiles: frozenset[Value] = frozenset()


class Reader:
    """Reads the accesses of one kernel for one constexpr."""

    def __init__(self, flow: Flow, tiles: Tiles, name: str) -> None:
        self._flow = flow
        self._tiles = tiles
        self._name = name

    def is_constant(self, value: Value) -> bool:
        """Whether a value is the constexpr itself."""
        return value.op == "param" and value.detail == self._name

    def grows(self, value: Value) -> bool:
        """Whether a factor grows with the constexpr: itself, or a part of it."""
        while value.is_binary("FloorDiv"):
            value = value.operands[0]
        return self.is_constant(value)

    def mentions(self, value: Value) -> bool:
        """Whether a value is computed from the constexpr."""
        return any(self.is_constant(part) for part in walk(value))

    def axes(self, value: Value) -> list[int]:
        """The axes of a tile that the constexpr sizes."""
        shape = self._tiles.facts_of(value).shape or ()
        return [at for at, d in enumerate(shape) if isinstance(d, Value) and self.is_constant(d)]

    def effects_along_axes(self, access: Access) -> Iterator[Along]:
        """What an access does along each axis that the constexpr sizes."""
        kind = self._tiles.facts_of(access.pointer).kind
        if kind is Kind.BLOCK_POINTER:
            yield from self._by_block_pointer(access)
            return
        affine = self._tiles.facts_of(access.pointer).affine
        for axis in self.axes(access.pointer):
            if affine is None:
                yield Along(access.node.lineno, access.base, None, self._masked(access, axis))
            else:
                found = self._by_lanes(access, affine, axis)
                if found is not None:
                    yield found

    def _by_lanes(self, access: Access, affine: Affine, axis: int) -> Along | None:
        lanes = [t for t in affine.terms if t.axis == axis]
        if not lanes or any(t.index.op == "load" for t in lanes):
            return None  # its places were loaded, and are as many as the load says
        if any(
            self._has_constant(t.coefficient.values)
            for t in affine.terms
            if t.axis not in (None, axis)
        ):
            return Along(access.node.lineno, access.base, False, bounded=False)
        bounded, stepping = self._masked(access, axis), list(indices(affine))
        coefficients = []
        for lane in lanes:
            if lane.index.op == "arange":
                coefficients.append(lane.coefficient)
                continue
            bounded = bounded or any(v.is_binary("Mod") for v in walk(lane.index))
            inner = self._inner(lane.index)
            if inner is not None:
                stepping += indices(inner)
                coefficients += [t.coefficient for t in inner.terms if t.axis is not None]
        counted = frozenset(
            index
            for index, factors in stepping
            if any(self.steps(index, factors, lane) for lane in coefficients)
        )
        return Along(access.node.lineno, access.base, bool(counted), bounded, counted)

    def _inner(self, index: Value) -> Affine | None:
        """What a remainder, a minimum or the like is taken of."""
        for part in walk(index):
            affine = self._tiles.facts_of(part).affine
            if affine is not None and any(t.index.op == "arange" for t in affine.terms):
                return affine
        return None

    def steps(self, index: Value, factors: frozenset[Value], lane: Polynomial) -> bool:
        """Whether one step of an index goes on by a whole tile (or by several)."""
        if any(self.grows(value) for value in factors):
            return True
        bounds = index.operands if index.op == "loop_index" else ()
        return len(bounds) == 3 and self.mentions(bounds[2]) and factors == lane.values

    def _has_constant(self, factors: Iterable[Value]) -> bool:
        return any(self.is_constant(value) for value in factors)

    def _masked(self, access: Access, axis: int) -> bool:
        if access.mask is None:
            return False
        rank = len(self._tiles.facts_of(access.pointer).shape or ())
        return self._bounds(access.mask, axis, rank)

    def _bounds(self, mask: Value, axis: int, rank: int) -> bool:
        if mask.is_binary("BitAnd") or (mask.op == "bool" and mask.detail == "And"):
            return any(self._bounds(part, axis, rank) for part in mask.operands)
        if mask.op == "compare" and any(self.is_constant(part) for part in mask.operands):
            return False  # a tile is always inside itself
        if mask.op == "expand":
            parts = str(mask.detail).split(",")
            places = [at for at, part in enumerate(parts) if part == ":"]
            if len(parts) == rank:
                return axis in places and self._bounds(
                    mask.operands[0], places.index(axis), len(places)
                )
        shape = self._tiles.facts_of(mask).shape
        if shape is None:
            return True
        at = axis - (rank - len(shape))
        return at >= 0 and shape[at] != 1

    def _by_block_pointer(self, access: Access) -> Iterator[Along]:
        checked = _checked_axes(access.node)
        maker, moves = self._block_pointer_origin(access.pointer)
        shape = maker.argument(4, "block_shape") if maker is not None else None
        offsets = maker.argument(3, "offsets") if maker is not None else None
        if shape is None or offsets is None:
            yield Along(access.node.lineno, access.base, None, bounded=False)
            return
        for axis, extent in enumerate(shape.operands):
            if not self.mentions(extent) or axis >= len(offsets.operands):
                continue
            steps = [offsets.operands[axis], *(m[axis] for m in moves if axis < len(m))]
            counted = frozenset(v for step in steps for v in self._counting(step))
            goes_on = bool(counted) or any(self.mentions(step) for step in steps)
            yield Along(access.node.lineno, access.base, goes_on, axis in checked, counted)

    def by_descriptor(self, line: int, called: Called) -> Iterator[Along]:
        """What a descriptor's load or store does; bounds are always checked."""
        owner, *given = called.positional
        facts = self._tiles.facts_of(owner)
        offsets = given[0].operands if given and given[0].op == "tuple" else ()
        for axis, extent in enumerate(facts.shape or ()):
            if not (isinstance(extent, Value) and self.mentions(extent)):
                continue
            if axis >= len(offsets):
                yield Along(line, facts.base, None, bounded=True)
                continue
            counted = frozenset(self._counting(offsets[axis]))
            goes_on = bool(counted) or self.mentions(offsets[axis])
            yield Along(line, facts.base, goes_on, bounded=True, tiles=counted)

    def _counting(self, offset: Value) -> Iterator[Value]:
        affine = self._tiles.facts_of(offset).affine
        for index, factors in indices(affine) if affine is not None else ():
            if self.steps(index, factors, ONE):
                yield index

    def _block_pointer_origin(self, pointer: Value) -> tuple[Value | None, list[tuple[Value, ...]]]:
        """The call that made a block pointer, and how it is moved after that."""
        moves: list[tuple[Value, ...]] = []
        pending, seen = [pointer], set[Value]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            if value.is_call(_TL + "make_block_ptr"):
                return value, [*moves, *self._back(seen)]
            if value.is_call(_TL + "advance"):
                given = value.argument(1, "offsets")
                moves += [given.operands] if given is not None else []
            pending += value.operands[:1]
            if value in self._flow.back_edges:
                pending.insert(0, self._flow.back_edges[value])
        return None, moves

    def _back(self, seen: set[Value]) -> Iterator[tuple[Value, ...]]:
        """Moves on the way back to the head of a loop."""
        for value in seen:
            back = self._flow.back_edges.get(value)
            if back is not None and back.is_call(_TL + "advance"):
                given = back.argument(1, "offsets")
                if given is not None:
                    yield given.operands


def indices(affine: Affine) -> Iterator[tuple[Value, frozenset[Value]]]:
    """What places differ by from program to program and turn to turn, with its factors."""
    for term in affine.terms:
        if term.axis is None:
            yield term.index, term.coefficient.values
    for factors, _ in affine.constant:
        for at, value in enumerate(factors):
            if any(part.op in ("program_id", "loop_index") for part in walk(value)):
                yield value, frozenset((*factors[:at], *factors[at + 1 :]))


def _checked_axes(call: ast.Call) -> Sequence[int]:
    """Axes along which a block pointer's load or store is checked."""
    for keyword in call.keywords:
        if keyword.arg == "boundary_check":
            return [
                node.value
                for node in ast.walk(keyword.value)
                if isinstance(node, ast.Constant) and type(node.value) is int
            ]
    return []
