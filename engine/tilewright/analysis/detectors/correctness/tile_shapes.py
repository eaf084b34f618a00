"""Detectors of tiles whose shapes do not fit together."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.detectors.common import TL, all_numbers, source_of, triton_kernels
from tilewright.analysis.detectors.correctness.entries import is_launched
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.dtypes import WEAK
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.tiles import Dim, Kind, Shape, Tiles, tiles_of
from tilewright.analysis.values import Flow, Value, walk
from tilewright.knowledge.base import constraints
from tilewright.source.model import Kernel, Module

_BITS = {"fp64": 64, "fp32": 32, "fp16": 16, "bf16": 16, "i8": 8, "u8": 8, "i32": 32}


@dataclass(frozen=True)
class _Subject:
    """A kernel with what is known of its tiles and constexprs."""

    module: Module
    kernel: Kernel
    tiles: Tiles
    numbers: list[Numbers]

    def shape(self, value: Value) -> Shape | None:
        """The shape of a value; None where branches may give it another."""
        return self.tiles.facts_of(value).shape

    def differ(self, one: Dim, two: Dim) -> tuple[int, int] | None:
        """Two numbers that the extents surely are at some launch, and that differ."""
        if one is two:
            return None
        for known in self.numbers:
            a, b = number_of(one, known), number_of(two, known)
            if a is not None and b is not None and a != b:
                return a, b
        return None


def _subjects(module: Module, context: AnalysisContext) -> Iterator[tuple[_Subject, Flow]]:
    for kernel, flow in triton_kernels(module):
        numbers = all_numbers(module, context, kernel) or [Numbers()]
        yield _Subject(module, kernel, tiles_of(module, kernel, context), numbers), flow


def _is_settled(*values: Value) -> bool:
    """Whether no branch and no loop decides which value it is."""
    unsettled = ("select", "phi", "after", "opaque")
    return not any(v.op in unsettled for value in values for v in walk(value))


@detector("dot_shape_mismatch")
def dot_shape_mismatch(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Products whose inner extents differ."""
    for subject, flow in _subjects(module, context):
        for node, value, _ in flow.calls(TL + "dot"):
            if len(value.positional) < 2:
                continue
            left, right = (subject.shape(v) for v in value.positional[:2])
            if left is None or right is None or len(left) != len(right) or len(left) < 2:
                continue
            found = subject.differ(left[-1], right[-2])
            if found is not None and _is_settled(*_shape_roots(value.positional[:2])):
                yield Finding(
                    module.index.range_of(node),
                    f"The left tile has {found[0]} columns and the right one {found[1]} rows: this "
                    "does not compile.",
                    subject.kernel.name,
                )


def _shape_roots(values: tuple[Value, ...]) -> list[Value]:
    """What the shapes come from: a loaded tile has the shape of its address."""
    return [v.operands[0] if v.op in ("load", "cast") and v.operands else v for v in values]


@detector("dot_tile_too_small")
def dot_tile_too_small(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Products of tiles below what the target's matrix units take."""
    least = _least_extents(context)
    if not least:
        return
    for subject, flow in _subjects(module, context):
        for node, value, _ in flow.calls(TL + "dot"):
            found = _too_small(subject, value, least) if len(value.positional) >= 2 else None
            if found is not None:
                axis, extent, minimum = found
                yield Finding(
                    module.index.range_of(node),
                    f"{axis} is {extent} here and tl.dot on {context.target} needs at least "
                    f"{minimum}: this does not compile.",
                    subject.kernel.name,
                )


def _least_extents(context: AnalysisContext) -> dict[int, tuple[int, int, int]]:
    """Bits of an element to the least (M, N, K), as the knowledge base has it for this target."""
    if context.target is None or context.triton_version is None:
        return {}
    found: dict[int, tuple[int, int, int]] = {}
    for constraint in constraints(context.target, context.triton_version):
        if constraint.check.name == "dot_minimum":
            given = constraint.check.parameters
            m, n, k = given.get("m", 1), given.get("n", 1), given.get("k", {})
            if isinstance(m, int) and isinstance(n, int) and isinstance(k, dict):
                found |= {int(bits): (m, n, int(least)) for bits, least in k.items()}
    return found


def _too_small(
    subject: _Subject, dot: Value, least: dict[int, tuple[int, int, int]]
) -> tuple[str, int, int] | None:
    left, right = dot.positional[:2]
    shapes = subject.shape(left), subject.shape(right)
    if shapes[0] is None or shapes[1] is None or len(shapes[0]) != 2 or len(shapes[1]) != 2:
        return None
    if not _is_settled(*_shape_roots((left, right))):
        return None
    minimum = _minimum(subject.tiles, left, right, least)
    extents = (shapes[0][0], shapes[1][1], shapes[0][1])
    for axis, extent, bound in zip("MNK", extents, minimum, strict=True):
        for known in subject.numbers:
            number = number_of(extent, known)
            if number is not None and number < bound:
                return axis, number, bound
    return None


def _minimum(
    tiles: Tiles, left: Value, right: Value, least: dict[int, tuple[int, int, int]]
) -> tuple[int, int, int]:
    """The bound for these types; where they are not known, what no type may fall below."""
    types = {tiles.facts_of(v).dtype for v in (left, right)} - {None, WEAK}
    bits = {_BITS[t] for t in types if t in _BITS}
    if len(bits) == 1 and next(iter(bits)) in least:
        return least[next(iter(bits))]
    m, n, k = (min(bounds[i] for bounds in least.values()) for i in range(3))
    return m, n, k


@detector("broadcast_mismatch")
def broadcast_mismatch(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Tiles combined lane by lane whose extents neither agree nor are 1."""
    for subject, flow in _subjects(module, context):
        seen: set[Value] = set()
        for node, value in flow.values.items():
            if value in seen or value.op not in ("binary", "compare", "bool"):
                continue
            seen.add(value)
            found = _clash(subject, value.operands)
            if found is not None and _is_settled(value):
                yield Finding(
                    module.index.range_of(node),
                    f"Extents {found[0]} and {found[1]} meet along one axis: tiles broadcast where "
                    "one of them is 1, and this does not compile.",
                    subject.kernel.name,
                )
        yield from _scalar_accesses(subject, flow, context)


def _clash(subject: _Subject, operands: tuple[Value, ...]) -> tuple[int, int] | None:
    shapes = [subject.shape(v) for v in operands]
    if len(shapes) != 2 or shapes[0] is None or shapes[1] is None:
        return None
    for one, two in zip(reversed(shapes[0]), reversed(shapes[1]), strict=False):
        if one == 1 or two == 1:
            continue
        found = subject.differ(one, two)
        # An extent below 1, as in a reshape to -1, is no extent.
        if found is not None and min(found) > 1:
            return found
    return None


def _scalar_accesses(subject: _Subject, flow: Flow, context: AnalysisContext) -> Iterator[Finding]:
    """A tile stored to one address, or one address masked by a tile."""
    if not is_launched(subject.module, subject.kernel, context):
        return
    for access in flow.accesses:
        pointer = subject.tiles.facts_of(access.pointer)
        if pointer.shape != () or pointer.kind is not Kind.POINTER or access.base is None:
            continue
        stored = access.result if access.kind != "load" else None
        for part, what in ((stored, "stored to"), (access.mask, "the mask of")):
            shape = None if part is None else subject.shape(part)
            if part is not None and shape and _is_settled(access.pointer, part):
                yield Finding(
                    subject.module.index.range_of(access.node),
                    f"A tile is {what} the single address "
                    f"{_pointer_text(subject.module, access.node)}: this does not compile.",
                    subject.kernel.name,
                )
                break


def _pointer_text(module: Module, call: ast.Call) -> str:
    return source_of(module, call.args[0]) if call.args else source_of(module, call.func)
