"""The detector of grids that do not follow a block that the autotuner varies."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, constants_at, triton_kernels, tuned_launches
from tilewright.analysis.detectors.correctness.grids import (
    CDIV,
    ignores_meta,
    program_blocks,
    varied_blocks,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.values import Flow, walk
from tilewright.knowledge.model import ADVICE
from tilewright.python_syntax import dotted_text, parameter_defaults
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.host import host_of, last_assigned, resolve
from tilewright.source.model import Kernel, Launch, Module

_DEEPEST = 12
_KEEPS_DIVISORS = ("min", "max", "int", "ceil")


@detector("grid_ignores_tuned_block")
def grid_ignores_tuned_block(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A grid fixed before the tuner chose the block that programs are counted in.

    It is advice where the file does not say by which number the grid divides.
    """
    for kernel, flow in triton_kernels(module):
        blocks = sorted(varied_blocks(kernel.autotune) & _program_blocks(flow))
        for launch in tuned_launches(module, kernel) if blocks else ():
            if not launch.is_complete or not ignores_meta(module, launch):
                continue
            # A launch that passes the block as well raises an error before the tuner runs.
            asked = [name for name in blocks if name not in launch.arguments]
            found = {name: _is_too_small(module, kernel, flow, launch, name) for name in asked}
            missed = [name for name, is_small in found.items() if is_small is not False]
            if missed:
                yield Finding(
                    module.index.range_of(launch.grid),
                    f"The grid does not follow {', '.join(missed)}, which the autotuner varies: "
                    "with a smaller block part of the output is never written, and looks faster.",
                    kernel.name,
                    severity=None if any(found.values()) else ADVICE,
                )


def _is_too_small(
    module: Module, kernel: Kernel, flow: Flow, launch: Launch, block: str
) -> bool | None:
    """Whether a configuration's block is below the number by which a grid divides the elements.

    None where the text does not say. On which axis some blocks are counted is not known: for
    those any axis will do.
    """
    configs = (kernel.autotune.configs if kernel.autotune else None) or ()
    sizes = [size for c in configs if isinstance(size := c.values.get(block), int)]
    of_axis = program_blocks(flow)
    grid = resolve(module, launch, launch.grid)
    grid = grid.body if isinstance(grid, ast.Lambda) else grid
    if not isinstance(grid, ast.Tuple | ast.List) or len(sizes) < len(configs):
        return None
    axes = [axis for axis, name in of_axis.items() if name == block]
    parts = [grid.elts[axis] for axis in axes if axis < len(grid.elts)]
    divisors = [d for part in parts or grid.elts for d in _divisors(module, launch, part)]
    large = [divisor > min(sizes) for divisor in divisors if divisor is not None]
    if not parts and False in large:
        return False
    if None in divisors or not divisors:
        return None
    return any(large)


def _divisors(
    module: Module, launch: Launch, node: ast.expr, depth: int = 0
) -> Iterator[int | None]:
    """By what a number of programs divides extents; 1 for an extent, None for what is not known."""
    given = resolve(module, launch, node)
    terms = _terms(given) if depth < _DEEPEST else ()
    if _is_shape(given) or _is_part_of_shape(module, launch, given):
        yield 1
    elif isinstance(given, ast.Call) and module.names.is_call(given, *CDIV):
        yield _number(module, launch, given.args[1]) if len(given.args) == 2 else None
    elif isinstance(given, ast.BinOp) and isinstance(given.op, ast.FloorDiv | ast.Div):
        yield _number(module, launch, given.right)
    elif not terms:
        yield None
    for term in terms:
        yield from _divisors(module, launch, term, depth + 1)


def _terms(node: ast.expr) -> tuple[ast.expr, ...]:
    """What a number is made from by ``*``, ``max`` and the like, without the constants."""
    found: tuple[ast.expr, ...] = ()
    match node:
        case ast.BinOp(op=ast.Mult() | ast.Add() | ast.Sub(), left=left, right=right):
            found = (left, right)
        case ast.UnaryOp(operand=operand):
            found = (operand,)
        case ast.Call(func=function, args=args):
            name = (dotted_text(function) or "").rpartition(".")[2]
            found = tuple(args) if name in _KEEPS_DIVISORS else ()
    return tuple(term for term in found if not isinstance(term, ast.Constant))


def _is_shape(node: ast.expr) -> bool:
    """``x.shape[0]``, ``x.size(0)`` or ``x.numel()``."""
    owner = node.value if isinstance(node, ast.Subscript) else node
    owner = owner.func if isinstance(owner, ast.Call) else owner
    return isinstance(owner, ast.Attribute) and owner.attr in ("shape", "size", "numel")


def _is_part_of_shape(module: Module, launch: Launch, node: ast.expr) -> bool:
    """Whether it is a name of ``M, N = x.shape``."""
    found = last_assigned(module, launch, node.id) if isinstance(node, ast.Name) else None
    return found is not None and _is_shape(found.value)


def _number(module: Module, launch: Launch, node: ast.expr) -> int | None:
    """A divisor that the file states; of a parameter of the host function, its default."""
    given = resolve(module, launch, node)
    host = host_of(module, launch)
    if isinstance(given, ast.Name) and host is not None:
        defaults = {a.arg: default for a, default in parameter_defaults(host.args)}
        given = defaults.get(given.id) or given
    try:
        value = Evaluator(constants_at(module, launch), {}, module.names).value(given)
    except Undecidable:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _program_blocks(flow: Flow) -> set[str]:
    """Constexprs B of tiles ``pid * B + arange(0, B)``, where the grid alone counts the tiles."""
    if any(True for _ in flow.calls(TL + "num_programs")):
        return set()
    found = set()
    for value in set(flow.values.values()):
        if not value.is_binary("Add"):
            continue
        for one, two in (value.operands, value.operands[::-1]):
            if two.op != "arange" or not one.is_binary("Mult") or one.varies:
                continue
            block = two.operands[1]
            sides = set(one.operands) - {block}
            counts = any(v.op == "program_id" for side in sides for v in walk(side))
            if block.op == "param" and len(sides) == 1 and counts:
                found.add(str(block.detail))
    return found
