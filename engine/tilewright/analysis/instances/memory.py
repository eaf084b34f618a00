"""Loads, stores and block pointers of a program: the elements that they address."""

import ast
from itertools import product as all_of
from typing import Any

from tilewright.analysis.instances.evaluator import Evaluator
from tilewright.analysis.instances.model import UNKNOWN, Infeasible, Known, Tensor
from tilewright.analysis.instances.record import Program, Record, Touched
from tilewright.analysis.instances.tiles import (
    BlockPointer,
    Lanes,
    Pointer,
    Tile,
    joined,
    shape_of,
    with_unknown,
)
from tilewright.source.model import Module


class Memory(Evaluator):
    """The accesses of one program at a time."""

    def __init__(self, module: Module, lanes: Lanes, steps: int, scale: int) -> None:
        super().__init__(module, steps, scale)
        self.record = Record()
        self.lanes = lanes
        self.program: Program = ()
        self.unsure = 0

    def tile(self, shape: tuple[int, ...], origin: int) -> Tile:
        """A tile of this shape with values that are not known."""
        return Tile(shape, self.lanes.counts(shape), None, origin)

    def access(self, node: ast.Call, kind: str, given: dict[str, Known]) -> Known:
        """A load, store or atomic: records what it touches, and gives what it loads."""
        pointer = given.get("pointer", UNKNOWN)
        if isinstance(pointer, BlockPointer):
            return self._through_block(node, kind, pointer, given)
        if not isinstance(pointer, Pointer):
            self._note_unknown_store(kind, pointer)
            return UNKNOWN
        mask = given.get("mask")
        mask = True if mask is None else mask
        shape = joined(shape_of(pointer) or (), shape_of(mask) or ())
        counts = self.lanes.counts(shape)
        where = with_unknown(pointer.offset, counts)
        active = with_unknown(mask, counts)
        known = None if pointer.offset is UNKNOWN or None in where else where
        value = given.get("value")
        self._touch(node, kind, pointer.tensor, known, active, value)
        return self.tile(shape, self._loaded_origin(pointer, mask))

    def _loaded_origin(self, pointer: Pointer, mask: Known) -> int:
        parts = [p.identity() if isinstance(p, Tile) else hash(p) if isinstance(p, int) else id(p)
                 for p in (pointer.offset, mask)]  # fmt: skip
        return hash((id(pointer.tensor.storage), *parts))

    def _note_unknown_store(self, kind: str, pointer: Known) -> None:
        """A store that may go anywhere."""
        if kind != "load":
            self.record.is_complete = False

    def _touch(
        self,
        node: ast.Call,
        kind: str,
        tensor: Tensor,
        where: list[int] | None,
        active: list[Any],
        value: Known,
    ) -> None:
        origin = value.identity() if isinstance(value, Tile) else hash(repr(value))
        self.steps -= len(active) // 16
        held = shape_of(value)
        is_one = held is not None and all(extent == 1 for extent in held)
        is_sure, storage = self.unsure == 0, tensor.storage
        self.record.add(
            Touched(node, kind, storage, self.program, where, active, is_sure, origin, is_one)
        )

    # Block pointers and descriptors.

    def block_pointer(self, given: dict[str, Known], *, is_checked: bool) -> Known:
        """``tl.make_block_ptr`` and ``tl.make_tensor_descriptor``."""
        base, block = given.get("base"), given.get("block_shape")
        parts = [given.get(name) for name in ("shape", "strides")]
        is_listed = all(isinstance(part, tuple | list) for part in (*parts, block))
        if not isinstance(base, Pointer) or not is_listed or not isinstance(block, tuple | list):
            return UNKNOWN
        if not all(isinstance(extent, int) for extent in block):
            return UNKNOWN
        offsets = given.get("offsets", (0,) * len(block))
        self.demand_powers(tuple(block))
        return BlockPointer(
            base, tuple(parts[0] or ()), tuple(parts[1] or ()), tuple(offsets), tuple(block),
            is_checked,
        )  # fmt: skip

    def demand_powers(self, shape: tuple[int, ...]) -> None:
        """Raise Infeasible for a tile of another length than a power of two."""
        for extent in shape:
            if extent < 1 or extent & (extent - 1):
                raise Infeasible("a tile of that length", length=extent)

    def advanced(self, pointer: Known, steps: Known) -> Known:
        """``tl.advance``."""
        if not isinstance(pointer, BlockPointer) or not isinstance(steps, tuple | list):
            return UNKNOWN
        moved = tuple(
            self.operation(ast.Add, one, two)
            for one, two in zip(pointer.offsets, steps, strict=True)
        )
        return self.block_at(pointer, moved)

    def block_at(self, pointer: BlockPointer, offsets: tuple[Known, ...]) -> BlockPointer:
        """The same block somewhere else."""
        return BlockPointer(
            pointer.pointer, pointer.shape, pointer.strides, offsets, pointer.block,
            pointer.is_checked,
        )  # fmt: skip

    def _through_block(
        self, node: ast.Call, kind: str, pointer: BlockPointer, given: dict[str, Known]
    ) -> Known:
        checked = given.get("boundary_check", ())
        axes = range(len(pointer.block)) if pointer.is_checked else checked or ()
        base = pointer.pointer.offset
        tensor = pointer.pointer.tensor
        numbers = (base, *pointer.strides, *pointer.offsets)
        bounds = {axis: pointer.shape[axis] for axis in axes}
        for bound in bounds.values():
            self.asked_to_round(bound)
        active: list[Any] = []
        where: list[int] = []
        is_known = all(isinstance(n, int) for n in (*numbers, *bounds.values()))
        for lanes in all_of(*map(self.lanes.lanes_of, pointer.block)) if is_known else ():
            index = [o + lane for o, lane in zip(pointer.offsets, lanes, strict=True)]
            active.append(all(0 <= index[axis] < bound for axis, bound in bounds.items()))
            steps = zip(index, pointer.strides, strict=True)
            where.append(int(base + sum(i * s for i, s in steps)))
        value = given.get("value")
        self._touch(node, kind, tensor, where if is_known else None, active, value)
        origin = hash((id(tensor.storage), *map(str, (*numbers, *bounds.items()))))
        return self.tile(pointer.block, origin)
