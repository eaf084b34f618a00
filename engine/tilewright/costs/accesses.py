"""The loads, stores and atomics of a kernel as numbers: extents, strides, turns, spread."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles import ONE, Affine, Term, TileFacts, Tiles
from tilewright.analysis.tiles.model import Kind
from tilewright.analysis.values import Flow, Value, walk
from tilewright.costs.blocks import Offsets, given_offsets, kept_inside, pointer_offsets, shape_of
from tilewright.costs.masks import Masks
from tilewright.costs.model import Picked, Spread, Step, Touch, Turns
from tilewright.costs.numbers import ORIGIN, Number, Numbers, Place, programs_of
from tilewright.targets.model import LaunchFacts

_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\s*[\[<]([\d,\s]+)")
_COUNTED, _LATER = 256, 13
_NO_LOOP = -1
_TRIED = 32
Offset = Callable[[Place], int | None]
"""Elements at which a tile starts, what does not change aside; None where it does not follow."""


@dataclass(frozen=True)
class Site:
    """A statement that touches memory, before numbers: where, what, under which loops."""

    kind: str
    line: int
    pointer: Value
    mask: Value | None
    loops: tuple[int, ...]
    offsets: tuple[Value, ...] | None = None
    last: int = 0


class Toucher:
    """Makes ``Touch`` of sites for one launch."""

    def __init__(self, tiles: Tiles, flow: Flow, launch: LaunchFacts, numbers: Numbers) -> None:
        self._tiles = tiles
        self._flow = flow
        self._launch = launch
        self._numbers = numbers
        self._masks = Masks(numbers, flow)

    def touch(self, site: Site, turns: float, loops: Mapping[int, Turns]) -> Touch | None:
        """The touch of a site; None where neither its tile nor its pointer follow."""
        if site.offsets is not None:
            return self._by_descriptor(site, turns, loops)
        facts = self._tiles.facts_of(site.pointer)
        extents = self._extents(facts)
        if extents is None:
            return None
        *kept, rest = self._masks.passing(site.mask, extents) if site.mask else (1.0,)
        own = Touch(
            site.kind, site.line, facts.base, self._item(facts), extents, (), turns,
            inside=math.prod(kept) * rest, kept=tuple(kept), depth=_depth(site.pointer),
            loops=site.loops, last=site.last,
        )  # fmt: skip
        if facts.kind is Kind.BLOCK_POINTER:
            own = replace(own, strides=self._contiguous(facts, extents))
            offsets = pointer_offsets(self._numbers, self._flow, site.pointer)
            return self._block(own, site, offsets, shape_of(self._numbers, site.pointer), loops)
        if facts.affine is None:
            strides = self._contiguous(facts, extents)
            return replace(
                own, strides=strides, moves=turns, shift=None, steps=(Step(turns, None),)
            )
        return self._moving(own, facts.affine, loops)

    def _moving(self, own: Touch, form: Affine, loops: Mapping[int, Turns]) -> Touch:
        """A touch of which it is known where its tiles are."""
        return replace(
            _with_steps(own, steps_of(self._numbers, form, own.loops, loops)),
            strides=tuple(self._stride(form, axis) for axis in range(len(own.extents))),
            spread=self._spread(form), picked=self._picked(own.base, form),
            at=start_of(self._numbers, form), aside=aside_of(self._numbers, form),
        )  # fmt: skip

    def _extents(self, facts: TileFacts) -> tuple[int, ...] | None:
        if facts.shape is None:
            return None
        found = [d if isinstance(d, int) else self._numbers.number_of(d) for d in facts.shape]
        return None if None in found else tuple(int(d) for d in found if d is not None)

    def _item(self, facts: TileFacts) -> int:
        return max(1, (types.bits(facts.dtype) or 32) // 8)

    def _contiguous(self, facts: TileFacts, extents: Sequence[int]) -> tuple[int | None, ...]:
        """Strides where no form is known: a block's own, else one row after another."""
        if facts.strides is not None and len(facts.strides) == len(extents):
            known = [None if s is None else self._numbers.polynomial(s) for s in facts.strides]
            return tuple(known)
        return (*(1 << 20 for _ in extents[:-1]), 1)[: len(extents)]

    def _stride(self, form: Affine, axis: int) -> int | None:
        """Elements from one lane of an axis to the next; None where an index was loaded."""
        total = 0
        for term in form.terms:
            if term.axis != axis:
                continue
            step = self._step(term)
            coefficient = self._numbers.polynomial(term.coefficient)
            if step is None or coefficient is None:
                return None
            total += step * coefficient
        return total

    def _step(self, term: Term) -> int | None:
        if term.index.op == "arange":
            return 1
        here = self._numbers.number_of(term.index, Place(lanes=(0,)))
        there = self._numbers.number_of(term.index, Place(lanes=(1,)))
        return None if here is None or there is None else int(there - here)

    def _spread(self, form: Affine) -> Spread:
        """How many places the first programs have between them."""
        mine = self._by_program(form)
        if any(self._is_loaded(t.index) for t in mine):
            return crossed(dict.fromkeys(range(3)), self._numbers.grid)
        return self._spread_by(mine)

    def _by_program(self, form: Affine) -> list[Term]:
        """The terms that may be another number in each program."""
        loops, terms = self._flow.loops, [t for t in form.terms if t.axis is None]
        mine = [t for t in terms if not any(n in t.index.varies for n in loops)]
        # Programs whose loops start at different turns are at different places in each of them.
        mine += [t for t in terms if t not in mine and _starts_by_program(t.index)]
        # An index along an axis may move with the program too: ``(pid * BLOCK + lanes) % M``.
        mine += [t for t in form.terms if t.axis is not None and programs_of(t.index)]
        # What is not taken apart stands in the constant.
        return mine + [Term(v, None, ONE) for v in form.constant.values if programs_of(v)]

    def _spread_by(self, terms: Sequence[Term]) -> Spread:
        """How many places there are where these terms differ, each axis apart if it is alone."""
        grid, axes = self._numbers.grid, [programs_of(t.index) for t in terms]
        if any(len(own) > 1 for own in axes):
            return spread_of(self._names(terms), grid)
        along: dict[int, Spread | None] = {}
        for axis in frozenset[int]().union(*axes):
            mine = [t for t, own in zip(terms, axes, strict=True) if axis in own]
            line = tuple(extent if axis == at else 1 for at, extent in enumerate(grid))
            direct = any(t.index.op == "program_id" for t in mine)
            along[axis] = None if direct else spread_of(self._names(mine), line)
        return crossed(along, grid)

    def _names(self, terms: Sequence[Term]) -> Callable[[tuple[int, ...]], object]:
        def name(program: tuple[int, ...]) -> object:
            place = Place(program, lanes=(0,))
            return tuple(self._numbers.number_of(t.index, place) for t in terms)

        return name

    def _is_loaded(self, index: Value) -> bool:
        return self._numbers.number_of(index, Place(lanes=(0,))) is None

    def _picked(self, base: str | None, form: Affine) -> Picked | None:
        """From how many rows loaded indices pick; None without any, or of an unknown tensor."""
        argument = self._launch.argument(base or "")
        steps = [
            self._numbers.polynomial(t.coefficient) for t in form.terms if self._is_loaded(t.index)
        ]
        steps += [1 for v in form.constant.values if self._is_loaded(v)]
        known = [abs(step) for step in steps if step]
        if argument is None or not argument.shape or not known or len(known) < len(steps):
            return None
        others = [t for t in self._by_program(form) if not self._is_loaded(t.index)]
        return Picked(math.prod(argument.shape) / min(known), self._spread_by(others))

    def _by_descriptor(self, site: Site, turns: float, loops: Mapping[int, Turns]) -> Touch | None:
        facts, owner = self._tiles.facts_of(site.pointer), site.pointer
        offsets = given_offsets(self._numbers, site.offsets or ())
        argument = self._launch.argument(str(owner.detail)) if owner.op == "param" else None
        match = _DESCRIPTOR.match(argument.type) if argument is not None else None
        if argument is not None and match is not None:
            extents = tuple(int(part) for part in match[2].split(",") if part.strip())
            item = max(1, (types.bits(match[1]) or 16) // 8)
            strides = argument.strides or ()
            strides = strides if len(strides) == len(extents) else (1,) * len(extents)
            own = Touch(site.kind, site.line, argument.name, item, extents, strides, turns)
            return self._block(
                replace(own, by_descriptor=True), site, offsets, argument.shape, loops
            )
        made = self._extents(facts)
        if argument is not None or facts.kind is not Kind.DESCRIPTOR or made is None:
            return None
        near, shape = self._contiguous(facts, made), shape_of(self._numbers, owner)
        own = Touch(site.kind, site.line, facts.base, self._item(facts), made, near, turns)
        return self._block(replace(own, by_descriptor=True), site, offsets, shape, loops)

    def _block(
        self, own: Touch, site: Site, offsets: Offsets, shape: tuple[int, ...] | None,
        loops: Mapping[int, Turns],
    ) -> Touch:  # fmt: skip
        """A block of a tensor: where its offsets say."""

        def offset(place: Place) -> int | None:
            here = offsets(place)
            if here is None or len(here) != len(own.strides) or None in own.strides:
                return None
            return sum(at * (stride or 0) for at, stride in zip(here, own.strides, strict=True))

        own = replace(own, loops=site.loops, last=site.last)
        if offset(ORIGIN) is None:
            return replace(own, moves=own.turns, shift=None, steps=(Step(own.turns, None),))
        found = {n: step_along(offset, n, loops[n]) for n in site.loops}
        steps = [step for step in found.values() if step.places != 1.0 or step.shift]
        if shape is not None and len(shape) == len(own.extents):
            moving = next((n for n in reversed(site.loops) if found[n].shift), _NO_LOOP)
            turns = max(1, round(loops[moving].each)) if moving in loops else 1
            kept = kept_inside(offsets, shape, own.extents, self._numbers.grid, moving, turns)
            own = replace(own, kept=kept, inside=math.prod(kept))
        return replace(
            _with_steps(own, steps), at=offset(ORIGIN), aside=asides(offset, self._numbers.grid),
            spread=spread_of(lambda program: offsets(Place(program)), self._numbers.grid),
        )  # fmt: skip


def _with_steps(own: Touch, steps: Sequence[Step]) -> Touch:
    moves = math.prod(step.places for step in steps)
    shift = steps[-1].shift if steps else 0
    return replace(own, moves=min(moves, own.turns), shift=shift, steps=tuple(steps))


def spread_of(name: Callable[[tuple[int, ...]], object], grid: Sequence[int]) -> Spread:
    """The spread of what has a name in each program."""
    total = grid[0] * grid[1] * grid[2]
    seen: set[object] = set()
    counted: list[tuple[int, int]] = []
    for number, program in enumerate(first_programs(grid, min(total, _COUNTED)), 1):
        seen.add(name(program))
        if number & (number - 1) == 0 or number in (total, _COUNTED):
            counted.append((number, len(seen)))
    later = (_COUNTED + (total - _COUNTED) * at // _LATER for at in range(_LATER))
    if total > _COUNTED and any(name(_program(grid, number)) not in seen for number in later):
        # Beyond what was counted, programs go on as the whole grid would, one in each place.
        counted.append((total, max(len(seen), len(seen) * total // _COUNTED)))
    elif total > _COUNTED:
        counted.append((total, len(seen)))
    return Spread(tuple(counted))


def crossed(along: Mapping[int, Spread | None], grid: Sequence[int]) -> Spread:
    """The spread of what differs along several axes; None: in each place along that one."""
    total = grid[0] * grid[1] * grid[2]
    counted = []
    for number in sorted({*_powers(total), grid[0], grid[0] * grid[1], total}):
        sides = first_sides(number, grid)
        distinct = math.prod(
            sides[axis] if spread is None else spread.distinct(sides[axis])
            for axis, spread in along.items()
        )
        counted.append((number, min(round(distinct), number)))
    return Spread(tuple(counted))


def first_sides(programs: float, grid: Sequence[int]) -> tuple[float, float, float]:
    """How many places along each axis of the grid the first programs have."""
    return (
        min(programs, grid[0]),
        min(grid[1], math.ceil(programs / grid[0])),
        min(grid[2], math.ceil(programs / (grid[0] * grid[1]))),
    )


def _powers(total: int) -> Iterator[int]:
    number = 1
    while number < total:
        yield number
        number *= 2


def first_programs(grid: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    """The first programs in the order that they are started in."""
    for number in range(count):
        yield _program(grid, number)


def _program(grid: Sequence[int], number: int) -> tuple[int, ...]:
    return number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1])


def _depth(pointer: Value) -> int:
    """Loads, one after another, that an address waits for."""
    depths: dict[Value, int] = {}
    for value in sorted(walk(pointer), key=lambda v: v.order):
        below = max((depths.get(operand, 0) for operand in value.operands), default=0)
        depths[value] = below + (value.op == "load")
    return depths.get(pointer, 0)


def _starts_by_program(value: Value) -> bool:
    """Whether a loop's index is in it that starts elsewhere in each program."""
    found = (v for v in walk(value) if v.op == "loop_index" and v.operands)
    return any(programs_of(v.operands[0]) for v in found)


def mean_over(
    places: Sequence[tuple[int, ...]], number: Callable[[Place], Number | None]
) -> float | None:
    """The average of a number over programs; None where it does not follow in one of them."""
    found = [number(Place(program)) for program in places] or [number(ORIGIN)]
    known = [n for n in found if n is not None]
    return sum(known) / len(known) if len(known) == len(found) else None


def start_of(numbers: Numbers, form: Affine) -> int | None:
    """Elements from the base to the first tile of the first program."""
    return _sum(numbers, form, Place(), lambda value: True)


def steps_of(
    numbers: Numbers, form: Affine, around: Sequence[int], loops: Mapping[int, Turns]
) -> tuple[Step, ...]:
    """How each of the loops around it that moves a tile does so, outermost first."""
    values = (*(term.index for term in form.terms), *form.constant.values)
    return tuple(
        step_along(_in_loop(numbers, form, loop), loop, loops[loop])
        for loop in around
        if any(loop in value.varies for value in values)
    )


def _in_loop(numbers: Numbers, form: Affine, loop: int) -> Offset:
    return lambda place: _sum(numbers, form, place, lambda value: loop in value.varies)


def step_along(offset: Offset, loop: int, turns: Turns) -> Step:
    """How one loop moves a tile.

    Beyond the turns that are looked at, places go on being new as often as before.
    """
    last = max(2, round(turns.each) - 1)
    zero, one, two, end = (offset(Place(turns={loop: at})) for at in (0, 1, 2, last))
    if zero is None or one is None or two is None or end is None:
        return Step(turns.each, None, turns.longest)
    shift = one - zero
    if not shift and two == end == zero:
        return Step(1.0, 0)
    if (two, end) == (zero + 2 * shift, zero + last * shift):
        return Step(turns.each, shift, turns.longest)
    tried = max(1, min(_TRIED, round(turns.each)))
    places = {offset(Place(turns={loop: at})) for at in range(tried)}
    return Step(turns.each * len(places) / tried, None, turns.longest)


def aside_of(numbers: Numbers, form: Affine) -> tuple[int | None, ...]:
    """Elements from the first program's tile to its neighbour's along each axis of the grid."""
    return asides(
        lambda place: _sum(numbers, form, place, lambda value: bool(programs_of(value))),
        numbers.grid,
    )


def asides(offset: Offset, grid: Sequence[int]) -> tuple[int | None, ...]:
    """The same of a tile that starts at ``offset``."""
    here = offset(Place())
    found: list[int | None] = []
    for axis, extent in enumerate(grid):
        program = tuple(int(other == axis) for other in range(3))
        there = here if extent <= 1 else offset(Place(program))
        found.append(None if here is None or there is None else there - here)
    return tuple(found)


def _sum(
    numbers: Numbers, form: Affine, place: Place, counts: Callable[[Value], bool]
) -> int | None:
    """The terms of a form, and of its constant, in which some value counts."""
    there = Place(place.program, place.turns, (0,))
    total = 0
    for term in form.terms:
        if counts(term.index):
            index = numbers.number_of(term.index, there)
            coefficient = numbers.polynomial(term.coefficient, place)
            if index is None or coefficient is None:
                return None
            total += int(index) * coefficient
    for factors, product in form.constant:
        if factors and not any(map(counts, factors)):
            continue
        found = [numbers.number_of(factor, place) for factor in factors]
        known = [int(number) for number in found if number is not None]
        if len(known) < len(found):
            return None
        total += product * math.prod(known)
    return total
