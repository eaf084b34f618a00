"""What one launch does by its source: memory touched, products, turns of loops."""

from __future__ import annotations

import ast
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.per_kernel import Same, kept_by
from tilewright.analysis.tiles import Kind, Tiles, tiles_of
from tilewright.analysis.values import Flow, Value, walk
from tilewright.costs.accesses import Site, Toucher, mean_over
from tilewright.costs.masks import sample_programs
from tilewright.costs.model import Dot, Touch, Turns, Workload
from tilewright.costs.numbers import Numbers, Place
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

_DESCRIPTOR_CALLS = {"load": "load", "store": "store", "atomic_add": "atomic"}
_VIEWS = tuple("triton.language." + name for name in ("trans", "permute", "reshape", "view"))
_COMPUTED = frozenset({"cast", "binary", "unary", "call", "select", "dot"})


class _Frame:
    """What is the same for all launches of a kernel that take the same branches."""

    def __init__(self, module: Module, kernel: Kernel, launch: LaunchFacts) -> None:
        self.flow: Flow = flow_of(module, kernel)
        self.tiles: Tiles = tiles_of(module, kernel, AnalysisContext(launches=(launch,)))
        self.sites = tuple(_sites(self.flow))
        self.read = _read(self.flow)
        self.launch = launch  # tiles are remembered by it


def _work_key(module: Module, kernel: Kernel, launch: LaunchFacts) -> Hashable:
    return Same(module), kernel.name, launch.grid, launch.arguments


@kept_by(_work_key, 256)
def workload(module: Module, kernel: Kernel, launch: LaunchFacts) -> Workload:
    """What a launch of a kernel of ``module`` does. Pure; what does not follow is in its notes.

    Compiler options change nothing of it: launches that differ in them alone share one.
    """
    frame = _frame(module, kernel, _general(launch))
    numbers = Numbers(frame.tiles, frame.flow, launch)
    dead = tuple(_dead_lines(kernel.node, frame.flow, numbers))
    places = sample_programs(numbers.grid)
    loops = _loops(frame, numbers, places)
    toucher = Toucher(frame.tiles, frame.flow, launch, numbers)
    touches: list[Touch] = []
    lost: list[int] = []
    for site in frame.sites:
        if _is_in_spans(site.line, dead):
            continue
        total = loops[site.loops[-1]].total if site.loops else 1.0
        found = toucher.touch(site, total, loops)
        if found is None:
            lost.append(site.line)
        else:
            touches.append(found)
    dots = tuple(d for d in _dots(frame, numbers, loops) if not _is_in_spans(d.line, dead))
    notes = [f"line {line}: its memory traffic does not follow from the source" for line in lost]
    notes += [
        f"line {turns.first}: the number of iterations does not follow from the text; one was "
        "assumed"
        for turns in loops.values()
        if not turns.known
    ]
    grid = numbers.grid
    programs = max(1, grid[0] * grid[1] * grid[2])
    return Workload(programs, tuple(touches), dots, loops, tuple(notes), grid)


def _frame_key(module: Module, kernel: Kernel, launch: LaunchFacts) -> Hashable:
    return Same(module), kernel.name, launch.arguments


_frame = kept_by(_frame_key, 64)(_Frame)


def _general(launch: LaunchFacts) -> LaunchFacts:
    """Of a launch the types, and the constants that choose branches, but no tile sizes."""
    kept = tuple(
        replace(a, shape=None, strides=None, divisible_by_16=False)
        for a in launch.arguments
        if a.kind == "tensor" or isinstance(a.value, bool | str) or a.value is None
    )
    return LaunchFacts(launch.kernel, (), kept)


def _sites(flow: Flow) -> Iterator[Site]:
    for access in flow.accesses:
        node = access.node
        yield Site(
            access.kind, node.lineno, access.pointer, access.mask, access.loops,
            last=node.end_lineno or node.lineno,
        )  # fmt: skip
    for node, value, loops in flow.placed:
        called = flow.sources.get(value)
        if called is None or not called.is_method or called.name not in _DESCRIPTOR_CALLS:
            continue
        if len(called.positional) < 2 or called.positional[1].op != "tuple":
            continue
        owner, offsets = called.positional[0], called.positional[1].operands
        kind = _DESCRIPTOR_CALLS[called.name]
        last = node.end_lineno or node.lineno
        yield Site(kind, node.lineno, owner, None, loops, tuple(offsets), last)


def _read(flow: Flow) -> frozenset[Value]:
    """Values that some expression of the kernel reads."""
    made = {*flow.values.values(), *flow.back_edges.values()}
    return frozenset(made | {operand for value in made for operand in value.operands})


def _loops(
    frame: _Frame, numbers: Numbers, places: tuple[tuple[int, ...], ...]
) -> Mapping[int, Turns]:
    found: dict[int, Turns] = {}
    for number, loop in frame.flow.loops.items():
        each = mean_over(places, partial(numbers.trips, loop))
        outer = found[loop.parent].total if loop.parent in found else 1.0
        turns = 1.0 if each is None else each
        found[number] = Turns(
            first=loop.node.lineno,
            last=loop.node.end_lineno or loop.node.lineno,
            each=turns,
            total=outer * turns,
            known=each is not None,
            is_static=loop.is_static,
            carried=_carried(frame, numbers, number),
            longest=_longest(each, [numbers.trips(loop, Place(program)) for program in places]),
        )
    return found


def _longest(mean: float | None, turns: Sequence[int | None]) -> float:
    most = max((n for n in turns if n is not None), default=0)
    return most / mean if mean else 1.0


def _carried(frame: _Frame, numbers: Numbers, loop: int) -> int:
    """Elements of the tiles of numbers that a loop carries from turn to turn."""
    total = 0
    for value in frame.flow.back_edges:
        if value not in frame.read:  # set anew in each turn before it is read
            continue
        facts = frame.tiles.facts_of(value)
        if not str(value.detail).startswith(f"{loop}:") or facts.kind is not Kind.TILE:
            continue
        total += math.prod(_extents(frame.tiles, numbers, value) or (0,))
    return total


def _dots(frame: _Frame, numbers: Numbers, loops: Mapping[int, Turns]) -> Iterator[Dot]:
    for node, value, around in frame.flow.placed:
        if value.op != "dot" or len(value.operands) < 2:
            continue
        left = _extents(frame.tiles, numbers, value.operands[0])
        right = _extents(frame.tiles, numbers, value.operands[1])
        if left is None or right is None or len(left) < 2 or len(right) < 2:
            continue
        dtype = frame.tiles.facts_of(value.operands[0]).dtype or "fp16"
        batch = left[0] if len(left) > 2 else 1
        total = loops[around[-1]].total if around else 1.0
        yield Dot(
            node.lineno, left[-2], right[-1], left[-1], dtype, total * batch, around,
            made=any(_is_made(frame.tiles, one, around) for one in value.operands[:2]),
        )  # fmt: skip


def _is_made(tiles: Tiles, factor: Value, around: Sequence[int]) -> bool:
    """Whether threads compute a factor in the turn that multiplies it.

    What is loaded and at most turned around goes to the product as it was copied.
    """
    while factor.op in ("attribute", "cast") or factor.is_call(*_VIEWS):
        if (
            factor.op == "cast"
            and tiles.facts_of(factor).dtype != tiles.facts_of(factor.operands[0]).dtype
        ):
            break
        factor = factor.operands[0]
    in_turn = not around or around[-1] in factor.varies
    return in_turn and factor.op in _COMPUTED


def _extents(tiles: Tiles, numbers: Numbers, value: Value) -> tuple[int, ...] | None:
    shape = tiles.facts_of(value).shape
    if shape is None:
        return None
    found = [d if isinstance(d, int) else numbers.number_of(d) for d in shape]
    return None if None in found else tuple(int(d) for d in found if d is not None)


def _dead_lines(node: ast.FunctionDef, flow: Flow, numbers: Numbers) -> Iterator[tuple[int, int]]:
    """Lines of branches that a launch's constants rule out."""
    for found in ast.walk(node):
        if not isinstance(found, ast.If) or found.test not in flow.values:
            continue
        value = flow.values[found.test]
        truth = numbers.number_of(value) if not value.varies and _is_constant(value) else None
        if truth is None:
            continue
        dead = found.orelse if truth else found.body
        if dead:
            yield dead[0].lineno, dead[-1].end_lineno or dead[-1].lineno


def _is_constant(value: Value) -> bool:
    """Whether a condition is the same in every program."""
    varying = ("program_id", "load", "arange", "loop_index", "opaque", "phi", "after")
    return all(current.op not in varying for current in walk(value))


def _is_in_spans(line: int, spans: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= line <= last for first, last in spans)
