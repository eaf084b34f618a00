"""How an address walks its tensor, in sizes of the host code that launches the kernel."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.detectors.correctness.masks import unexpanded, upper_bounds
from tilewright.analysis.host_sizes import HostSizes, quotients, sizes_at, times
from tilewright.analysis.per_kernel import per_module
from tilewright.analysis.tiles import ONE, ZERO, Polynomial
from tilewright.analysis.values import Access, Value, reached
from tilewright.source.grids import grid_of
from tilewright.source.model import Kernel, Launch, Module

_CDIV = (TL + "cdiv", "triton.cdiv")
_INDICES = ("program_id", "arange", "loop_index")
_COUNTED = ("program_id", "loop_index")
_MOST_STEPS = 24


@dataclass(frozen=True)
class Step:
    """One index of an address.

    Attributes:
        extent: how many values it takes, from 0 on; None where that is not known.
        stride: what one more of the index adds to the address, in elements.
        is_masked: the access's mask keeps the index below ``extent``.
        is_rounded: ``extent`` is what the blocks of the grid cover, and they may cover more.
        block: the length of a block of the index; 1 for single ones.
    """

    index: Value
    extent: Polynomial | None
    stride: Polynomial
    is_masked: bool = False
    is_rounded: bool = False
    block: Polynomial = ONE


class KernelSizes:
    """Sizes and addresses of a kernel as one launch makes them."""

    def __init__(
        self, module: Module, kernel: Kernel, launch: Launch, *, asks_callers: bool = False
    ) -> None:
        self._kernel = kernel
        self._launch = launch
        self.host: HostSizes = sizes_at(module, launch, asks_callers=asks_callers)
        grid = grid_of(module, launch)
        chosen = frozenset().union(*(axis.chosen for axis in grid.axes)) if grid else frozenset()
        self.grid: tuple[Polynomial | None, ...] = ()
        if grid is not None:
            with_chosen = self.host.with_open(chosen)
            self.grid = tuple(with_chosen.size(axis.expression) for axis in grid.axes)
        self._known: dict[Value, Polynomial | None] = {}

    def size(self, value: Value) -> Polynomial | None:
        """A value that is the same in all programs and lanes, by the launch."""
        if value not in self._known:
            # Operands come first: a long chain of them is not gone down by calls.
            for part in sorted(reached(value, self._unknown), key=lambda part: part.order):
                if part not in self._known:
                    self._known[part] = self._size(unexpanded(part))
        return self._known[value]

    def _unknown(self, value: Value) -> tuple[Value, ...]:
        """The operands that a size follows from, unless it is known."""
        is_made = value.op in ("binary", "expand", "cast") or value.is_call(*_CDIV)
        return value.operands if is_made and value not in self._known else ()

    def _size(self, value: Value) -> Polynomial | None:
        if value.op == "const" and type(value.detail) is int:
            return Polynomial.from_value(value.detail)
        if value.op == "param":
            return self._argument(str(value.detail))
        operands = value.operands[:2]
        is_pair = value.op == "binary" or value.is_call(*_CDIV)
        sizes = [self.size(operand) for operand in operands] if is_pair else []
        known = [size for size in sizes if size is not None]
        if len(known) != 2:
            return None
        one, two = known
        match "cdiv" if value.op == "call" else value.detail:
            case "Add":
                return one + two
            case "Sub":
                return one - two
            case "Mult":
                return times(one, two)
            case "FloorDiv":
                return self.host.rounded("floordiv", one, two)
            case "cdiv":
                return self.host.rounded("cdiv", one, two)
        return None

    def _argument(self, name: str) -> Polynomial | None:
        given = self._launch.arguments.get(name)
        if given is not None:
            return self.host.size(given)
        parameter = self._kernel.parameter(name)
        if parameter is not None and parameter.default is not None:
            is_number = parameter.default.isdecimal()
            return Polynomial.from_value(int(parameter.default)) if is_number else None
        # The tuner, or a heuristic, gives it.
        return self.host.open(name) if self._launch.is_complete else None

    def steps(self, access: Access) -> tuple[list[Step], Polynomial] | None:
        """All indices of an address and its fixed offset; None if some part is another thing."""
        bounds: dict[Value, Value] = {}
        for index, bound in upper_bounds(access.mask) if access.mask is not None else ():
            bounds.setdefault(index, bound)
        found: list[Step] = []
        offset = ZERO
        pending: list[tuple[Value, Polynomial]] = [(access.pointer, ONE)]
        while pending:
            value, stride = pending.pop()
            value = unexpanded(value)
            step = self._step(value, stride, bounds)
            if step is not None:
                found.append(step)
            elif value.op == "param" and value.detail == access.base:
                continue
            elif (size := self.size(value)) is not None:
                offset = offset + stride * size
            else:
                inner = self._parts(value, stride)
                if inner is None or len(found) > _MOST_STEPS:
                    return None
                pending += inner
        return found, offset

    def _parts(self, value: Value, stride: Polynomial) -> list[tuple[Value, Polynomial]] | None:
        if value.is_binary("Add"):
            return [(operand, stride) for operand in value.operands]
        if value.is_binary("Mult"):
            for one, two in (value.operands, value.operands[::-1]):
                size = self.size(two)
                if size is not None:
                    return [(one, stride * size)]
        return None

    def _step(self, value: Value, stride: Polynomial, bounds: dict[Value, Value]) -> Step | None:
        parts = list(_index_parts(value))
        if not parts:
            return None
        lanes = next((p for p in parts if p.op == "arange"), None)
        block = None if lanes is None else self.size(lanes.operands[1])
        first = next((p for p in parts if p.op != "arange"), None)
        if value in bounds:
            extent = self.size(bounds[value])
            return Step(value, extent, stride, is_masked=True, block=block or ONE)
        if first is None:
            return Step(value, block, stride, block=block or ONE)
        if first.op == "loop_index" and first in map(unexpanded, value.operands or (value,)):
            return Step(value, self._turns(first, lanes), stride, block=block or ONE)
        count = self._turns(first, None) if first.op == "loop_index" else self._programs(first)
        if lanes is None or count is None:
            return Step(value, count, stride)
        for name, one, two in quotients(self.host, count):
            if name == "cdiv" and two == block:
                return Step(value, one, stride, is_rounded=True, block=two)
        return Step(value, None if block is None else count * block, stride, block=block or ONE)

    def _turns(self, loop: Value, lanes: Value | None) -> Polynomial | None:
        """The stop of ``range(0, stop[, block])``."""
        if len(loop.operands) != 3 or not loop.operands[0].is_const(0):
            return None
        step = loop.operands[2]
        is_whole = step.is_const(1) if lanes is None else step is lanes.operands[1]
        return self.size(loop.operands[1]) if is_whole else None

    def _programs(self, program: Value) -> Polynomial | None:
        axis = program.detail
        if not isinstance(axis, int) or axis >= len(self.grid):
            return None
        return self.grid[axis]


@per_module
def _known_sizes(module: Module) -> dict[tuple[ast.Call, str, bool], KernelSizes]:
    return {}


def kernel_sizes(
    module: Module, kernel: Kernel, launch: Launch, *, asks_callers: bool = False
) -> KernelSizes:
    """The sizes of a kernel at a launch; made once for each parsed file."""
    known, key = _known_sizes(module), (launch.node, kernel.name, asks_callers)
    if key not in known:
        known[key] = KernelSizes(module, kernel, launch, asks_callers=asks_callers)
    return known[key]


def _index_parts(value: Value) -> Iterator[Value]:
    """A program's id, lanes, a loop's index, ``pid * B + arange(0, B)`` or ``start + arange``."""
    if value.op in _INDICES:
        if value.op != "arange" or value.operands[0].is_const(0):
            yield value
        return
    if not value.is_binary("Add"):
        return
    for one, two in (value.operands, value.operands[::-1]):
        lanes, first = unexpanded(two), unexpanded(one)
        if lanes.op != "arange" or not lanes.operands[0].is_const(0):
            continue
        if first.op == "loop_index":
            yield from (first, lanes)
        elif first.is_binary("Mult") and lanes.operands[1] in first.operands:
            ids = [unexpanded(v) for v in first.operands if unexpanded(v).op in _COUNTED]
            if len(ids) == 1:
                yield from (ids[0], lanes)
