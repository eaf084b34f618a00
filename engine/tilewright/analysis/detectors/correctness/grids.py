"""Detector of grids that count other blocks than the kernel's programs take."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, constants_at, source_numbers, triton_kernels
from tilewright.analysis.detectors.correctness.masks import unexpanded
from tilewright.analysis.detectors.registry import Reports, kernel_detector
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.values import Flow, Value, walk
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.host import resolve
from tilewright.source.model import Autotune, Kernel, Launch, Module

CDIV = ("triton.cdiv", "triton.language.cdiv")


@kernel_detector("grid_block_mismatch", triton_kernels)
def grid_block_mismatch(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """``cdiv(n, 128)`` programs that take 64 elements each."""
    if not module.launches_of(kernel.name) or any(True for _ in flow.calls(TL + "num_programs")):
        return
    blocks = program_blocks(flow)
    reported: set[int] = set()
    for launch, numbers in source_numbers(module, kernel) if blocks else ():
        for axis, call, arguments in rounded_up(module, launch):
            divisor = call.args[1]
            block = blocks.get(axis)
            counted = divisor_number(module, launch, divisor, arguments, numbers)
            taken = None if block is None else numbers.parameters.get(block)
            if counted is None or taken is None or taken < 1 or counted <= taken:
                continue
            if id(divisor) in reported or _is_of_tuner(module, kernel, launch, block):
                continue
            if _takes_several(flow, axis, counted // taken, numbers):
                continue
            reported.add(id(divisor))
            text = (
                f"The grid has a program for every {counted} elements along axis {axis}, and a "
                f"program takes {block}={taken}: the rest is never computed."
            )
            yield divisor, text


def _is_of_tuner(module: Module, kernel: Kernel, launch: Launch, block: str | None) -> bool:
    """Whether ``grid_ignores_tuned_block`` is about the same."""
    return block in varied_blocks(kernel.autotune) and ignores_meta(module, launch)


def varied_blocks(autotune: Autotune | None) -> set[str]:
    """Parameters to which configurations give at least two values."""
    values: dict[str, set[object]] = {}
    for config in (autotune.configs if autotune else None) or ():
        for name, value in config.values.items():
            values.setdefault(name, set()).add(value)
    return {name for name, found in values.items() if len(found - {None}) > 1}


def ignores_meta(module: Module, launch: Launch) -> bool:
    """Whether the grid is a tuple, or a lambda that does not look at its argument."""
    grid = resolve(module, launch, launch.grid)
    if isinstance(grid, ast.Lambda):
        names = {a.arg for a in grid.args.args}
        return not any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(grid.body))
    return isinstance(grid, ast.Tuple | ast.List) and not any(
        isinstance(n, ast.Lambda) or _is_best(module, launch, n) for n in ast.walk(grid)
    )


def _is_best(module: Module, launch: Launch, node: ast.AST) -> bool:
    """Whether it is the configuration that the tuner has chosen before."""
    given = resolve(module, launch, node) if isinstance(node, ast.Name) else node
    return isinstance(given, ast.Attribute) and given.attr == "best_config"


def _takes_several(flow: Flow, axis: int, times: int, numbers: Numbers) -> bool:
    """Whether each number of a program's block stands for that many elements.

    ``offs * 4`` or ``offs[:, None] * VEC``; ``n // 4`` of them in all; a turn of a loop through as
    many of its blocks.
    """
    for value in set(flow.values.values()):
        if value.is_binary("FloorDiv") and number_of(value.operands[1], numbers) == times:
            return True
        if value.is_binary("Mult"):
            for one, other in (value.operands, value.operands[::-1]):
                known = block_of(unexpanded(one))
                if known is not None and known[0] == axis and number_of(other, numbers) == times:
                    return True
    return any(
        loop.bounds is not None and number_of(loop.bounds[1], numbers) == times
        for loop in flow.loops.values()
    )


def program_blocks(flow: Flow) -> dict[int, str]:
    """Grid axis to the constexpr B of its one ``pid * B + arange(0, B)``, used as it is."""
    found: dict[int, set[str]] = {}
    bases = {access.base for access in flow.accesses}
    values = {*flow.values.values(), *flow.back_edges}
    moved = {part for value in values for part in _moved(value, bases)}
    for value in values:
        known = block_of(value)
        if known is not None:
            axis, block = known
            found.setdefault(axis, set()).add("" if value in moved else block)
    return {a: next(iter(b)) for a, b in found.items() if len(b) == 1 and "" not in b}


def _moved(value: Value, bases: set[str | None]) -> Iterator[Value]:
    """Offsets that a value moves on by a number, so that a program takes more than one block."""
    if value.op == "phi":
        yield from value.operands
    if not value.is_binary("Add", "Sub"):
        return
    for offsets, other in (value.operands, value.operands[::-1]):
        if block_of(unexpanded(offsets)) is not None and not any(
            v.op in ("arange", "program_id") or (v.op == "param" and v.detail in bases)
            for v in walk(other)
        ):
            yield unexpanded(offsets)


def block_of(value: Value) -> tuple[int, str] | None:
    """(grid axis, block) of ``pid * BLOCK + arange(0, BLOCK)``."""
    if not value.is_binary("Add") or value.varies:
        return None
    for one, two in (value.operands, value.operands[::-1]):
        if two.op != "arange" or not one.is_binary("Mult"):
            continue
        block = two.operands[1]
        ids = [v for v in one.operands if v.op == "program_id"]
        if len(ids) == 1 and block in one.operands and block.op == "param":
            axis = ids[0].detail
            return (axis, str(block.detail)) if isinstance(axis, int) else None
    return None


def rounded_up(module: Module, launch: Launch) -> Iterator[tuple[int, ast.Call, frozenset[str]]]:
    """(axis, call, names of the grid function's argument) of ``cdiv(n, divisor)`` elements."""
    grid = resolve(module, launch, launch.grid)
    arguments: frozenset[str] = frozenset()
    if isinstance(grid, ast.Lambda):
        arguments = frozenset(a.arg for a in grid.args.args)
        grid = grid.body
    if not isinstance(grid, ast.Tuple):
        return
    for axis, given in enumerate(grid.elts):
        if isinstance(given, ast.Starred):
            return
        part = resolve(module, launch, given)
        if isinstance(part, ast.Call) and module.names.is_call(part, *CDIV) and len(part.args) == 2:
            yield axis, part, arguments


def divisor_number(
    module: Module,
    launch: Launch,
    divisor: ast.expr,
    arguments: frozenset[str],
    numbers: Numbers,
) -> int | None:
    """What a divisor is under one configuration."""
    match divisor:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            return numbers.parameters.get(key) if name in arguments else None
    evaluator = Evaluator(constants_at(module, launch), {}, module.names)
    try:
        value = evaluator.value(resolve(module, launch, divisor))
    except Undecidable:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
