"""What a kernel itself ties to one of its constexprs.

A tile size is free as far as other programs or iterations of a loop take what one tile leaves. It
is not where it is an extent of a tensor, where a result is stored for each tile, or where a tile's
own sum or maximum goes into what is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tilewright.analysis.flow import flow_of
from tilewright.analysis.tiles import Kind, Tiles, tiles_of
from tilewright.analysis.values import Access, Flow, Value, values_within, walk
from tilewright.rewrites.ties.accesses import Along, Reader, indices
from tilewright.rewrites.ties.model import Ties, joined
from tilewright.source.model import Kernel, Module

_CARRIED = ("phi", "after", "load")
_PASSES_ON = ("expand", "dot", "load", "phi", "after", "arange", "tuple", "item")
_BY_DESCRIPTOR = ("load", "store", "atomic_add", "gather", "scatter")
_SHAPING = tuple(
    "triton.language." + name
    for name in ("reshape", "view", "trans", "permute", "join", "split", "expand_dims", "dot")
)


class KernelTies:
    """Ties of one constexpr, by the kernel's own text."""

    def __init__(self, module: Module, kernel: Kernel, name: str) -> None:
        self._module = module
        self._kernel = kernel
        self._name = name
        self._flow: Flow = flow_of(module, kernel)
        self._tiles: Tiles = tiles_of(module, kernel)
        self._reader = Reader(self._flow, self._tiles, name)
        self._along = [
            one for a in self._flow.accesses for one in self._reader.effects_along_axes(a)
        ]
        for node, value, _ in self._flow.placed:
            called = self._flow.sources.get(value)
            if called is not None and called.is_method and called.name in _BY_DESCRIPTOR:
                self._along += self._reader.by_descriptor(node.lineno, called)

    @cached_property
    def counted(self) -> frozenset[Value]:
        """What counts the tiles: program ids, indices of loops."""
        return frozenset[Value]().union(*(one.tiles for one in self._along))

    @property
    def is_counted_by_programs(self) -> bool:
        """Whether programs share the tiles among them, or may do so: a grid must follow."""
        return not self._along or any(_is_of_program(index) for index in self.counted)

    @property
    def grid_axes(self) -> frozenset[int] | None:
        """The axes of the grid along which tiles are counted; None where several are worked out
        from one, or nothing is known."""
        found: set[int] = set()
        for index in self.counted:
            if index.op == "program_id" and isinstance(index.detail, int):
                found.add(index.detail)
            elif _is_of_program(index):
                return None
        return frozenset(found) or None

    def ties(self) -> Ties:
        """What there is."""
        if not self._along:
            return Ties(
                doubts=(f"what {self._name} tiles in {self._kernel.name} is not understood",)
            )
        return joined([*self._of_extents(), *self._of_each_tile(), *self._of_parts()])

    def group_ties(self) -> Ties:
        """What there is where it only says in which order programs take their tiles."""
        if self._along:
            return self.ties()
        return joined(Ties(fixed=doubt) for one in self._of_parts() for doubt in one.doubts)

    @property
    def kept_by(self) -> frozenset[str]:
        """Pointer parameters with one element, or row, for each tile."""
        return frozenset(a.base for a in self._for_each_tile() if a.base is not None)

    def _of_extents(self) -> Iterator[Ties]:
        for one in self._along:
            where = f"line {one.line}"
            if one.goes_on is None:
                yield Ties(doubts=(f"{where}: where it goes in memory is not understood",))
            elif not one.goes_on:
                yield Ties(fixed=_extent(one))
            elif not one.bounded:
                yield Ties(whole=f"{where} has no mask along it")

    def _of_each_tile(self) -> Iterator[Ties]:
        for access in self._for_each_tile():
            verb = "loaded" if access.kind == "load" else "stored"
            yield Ties(fixed=f"line {access.node.lineno}: one value is {verb} for each tile of it")
        for access in self._flow.accesses:
            if access.kind != "store" or access.result is None:
                continue
            where = f"line {access.node.lineno}: what is stored depends on"
            if any(self._is_over_a_tile(value) for value in _made_of(access.result)):
                yield Ties(fixed=f"{where} a sum, maximum or the like of each tile by itself")
            elif self._is_numbered(access.result):
                yield Ties(doubts=(f"{where} the number of a tile",))
        for loop in self._flow.loops.values():
            if any(self._is_numbered(bound) for bound in loop.bounds or ()):
                line = loop.node.lineno
                yield Ties(
                    doubts=(f"line {line}: the iterations of a loop depend on a tile number",)
                )

    def _is_numbered(self, value: Value) -> bool:
        """Whether a value depends on which tile it is of, not only on the elements' places."""
        seen: set[Value] = set()
        pending = [value]
        while pending:
            current = pending.pop()
            if current in seen or current.op in _CARRIED:
                continue
            seen.add(current)
            affine = self._tiles.facts_of(current).affine
            found = [] if affine is None else list(indices(affine))
            if any(self._counts(index) and not self._by_tile(f) for index, f in found):
                return True
            if not found:
                pending += current.operands
        return False

    def _for_each_tile(self) -> Iterator[Access]:
        """Accesses whose place goes on by one where the tiles go on by one."""
        for access in self._flow.accesses:
            affine = self._tiles.facts_of(access.pointer).affine
            every = indices(affine) if affine is not None else ()
            if any(self._counts(index) for index, factors in every if not self._by_tile(factors)):
                yield access

    def _by_tile(self, factors: frozenset[Value]) -> bool:
        return any(self._reader.grows(value) for value in factors)

    def _counts(self, index: Value) -> bool:
        """Whether an index is the number of a tile, not of an element."""
        if any(self._divides(v) and _varies(v.operands[0]) for v in walk(index)):
            return True
        by_element = index.op == "loop_index" and any(
            self._reader.mentions(bound) for bound in index.operands[2:]
        )
        return index in self.counted and not by_element

    def _is_over_a_tile(self, value: Value) -> bool:
        if value.op in _PASSES_ON or value.is_call(*_SHAPING):
            return False
        if value.is_call("triton.language.cumsum", "triton.language.cumprod"):
            over = True
        else:
            facts = self._tiles.facts_of(value)
            over = facts.kind in (Kind.TILE, Kind.SCALAR, Kind.TUPLE) and not self._holds(value)
        return over and any(
            self._reader.axes(part) and self._is_loaded(part) for part in value.operands
        )

    def _holds(self, value: Value) -> bool:
        facts = self._tiles.facts_of(value)
        if facts.items is not None:
            shapes = [item.shape or () for item in facts.items]
        elif facts.shape is None:
            return True  # not known
        else:
            shapes = [facts.shape]
        mentions = self._reader.mentions
        return any(isinstance(d, Value) and mentions(d) for shape in shapes for d in shape)

    def _is_loaded(self, value: Value) -> bool:
        """Whether it is one tile's elements, not what a loop has gathered of all."""
        return any(part.op == "load" and self._reader.axes(part) for part in _made_of(value))

    def _divides(self, value: Value) -> bool:
        parts = value.operands
        return value.is_binary("FloorDiv", "Mod") and self._reader.is_constant(parts[1])

    @cached_property
    def _divisors(self) -> tuple[Value, ...]:
        """Divisions by something that is computed from it."""
        every = self._flow.values.values()
        divisions = (v for v in every if v.is_binary("FloorDiv", "Mod"))
        return tuple(v for v in divisions if self._reader.mentions(v.operands[1]))

    def _of_parts(self) -> Iterator[Ties]:
        """Elements counted in groups of it; functions that reach memory and are not looked into."""
        for node, value in self._flow.values.items():
            if not self._divides(value):
                continue
            if any(v.op in ("arange", "loop_index", "load") for v in walk(value)):
                yield Ties(doubts=(f"line {node.lineno} counts elements in groups of it",))
            elif any(value is v.operands[1] for v in self._divisors):
                yield Ties(doubts=(f"line {node.lineno} counts its tiles in groups",))
        for called in self._flow.sources.values():
            given = (*called.positional, *(v for _, v in called.keywords))
            if called.name.startswith("triton.language.") or called.is_method:
                continue
            if any(self._reader.mentions(part) for part in given):
                yield Ties(doubts=(f"it is given to {called.name}(), which is not looked into",))


def _is_of_program(index: Value) -> bool:
    """Whether it counts by programs; a loop covers what its bounds say, whichever loop it is."""
    if index.op == "loop_index":
        return False
    return index.op == "program_id" or any(_is_of_program(part) for part in index.operands)


def _varies(value: Value) -> bool:
    return any(v.op in ("arange", "loop_index", "load", "program_id") for v in walk(value))


def _made_of(value: Value) -> Iterator[Value]:
    """A value and what it is made of within one turn of a loop; loads are not looked behind."""
    return values_within(value, lambda current: current.op not in _CARRIED)


def _extent(one: Along) -> str:
    covered = (
        "one tile of it covers a whole extent"
        if one.bounded
        else "all of it is there at once and without a mask, so it is an extent of the tensor"
    )
    return f"line {one.line}: {covered}"
