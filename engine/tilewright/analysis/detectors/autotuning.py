"""Detectors of the tuning stage: what is tuned, by which key, and how the launch uses it."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import (
    DOTS,
    TL,
    context_numbers,
    decorators_known,
    stated_arguments,
    triton_kernels,
    tuned_launches,
)
from tilewright.analysis.detectors.correctness.tuning import tuned_at
from tilewright.analysis.detectors.host_code.block_layouts import lays_out_data
from tilewright.analysis.detectors.registry import Reports, detector, kernel_detector
from tilewright.analysis.detectors.sizes import elements_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import ONE, tiles_of
from tilewright.analysis.values import Flow, Value, walk
from tilewright.knowledge.model import HINT
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Launch, Module

_FORWARD = 2
"""Products in the loop of an attention; those backwards have more, and were not measured."""
_SMALL_PRODUCT = 64 * 128
_SMALL_SCORES = 64 * 32
"""Elements of a tile up to which a product, and the scores of an attention, took at least 1.1
times as long as the best of all tiles tried (``benchmarks/advice_sizes.py``)."""


@detector("missing_autotune")
def missing_autotune(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Tile sizes fixed as literals at the only launch of a kernel whose speed hangs on them."""
    for kernel, flow in triton_kernels(module):
        launches = module.launches_of(kernel.name)
        if kernel.autotune is not None or len(launches) != 1 or not launches[0].is_complete:
            continue
        if kernel.heuristics or not decorators_known(module, kernel):
            continue
        tiles = _chosen_tiles(flow)
        tiles = [name for name in tiles if not lays_out_data(module, launches[0], name)]
        if not tiles or _is_single_program(module, launches[0]):
            continue
        if not _reuses_tiles(module, kernel, flow):
            continue
        stated = stated_arguments(module, kernel, launches[0])
        if all(name in stated for name in tiles):
            sizes = ", ".join(f"{name}={stated[name]}" for name in tiles)
            yield Finding(
                kernel.name_range,
                f"Tile sizes are fixed at the launch ({sizes}); which are best depends on the chip "
                "and the shapes, and nothing tries others.",
                kernel.name,
                related=(Related("fixed at this launch", launches[0].range),),
                severity=None if _is_far_from_best(module, context, kernel, flow) else HINT,
            )


def _is_far_from_best(module: Module, context: AnalysisContext, kernel: Kernel, flow: Flow) -> bool:
    """Whether tiles of a captured launch were clearly slower than the best on an H200.

    A kernel without a product, or with one that no loop repeats, streams rows: few tiles are far
    from the best there. Without a captured launch the problem may be small.
    """
    tiles = tiles_of(module, kernel, context)
    results = [value for _, value, loops in flow.calls(*DOTS) if loops]
    first = [value for value in results if not _is_of_a_product(value)]
    is_attention = len(first) < len(results)
    if is_attention and len(results) > _FORWARD:
        return False
    limit = _SMALL_SCORES if is_attention else _SMALL_PRODUCT
    sizes = (
        elements_of(tiles.facts_of(value).shape, numbers)
        for numbers in context_numbers(context, kernel.name)
        for value in first
    )
    return min((size for size in sizes if size is not None), default=limit + 1) <= limit


def _is_of_a_product(value: Value) -> bool:
    """Whether an operand of a product is computed from another, as in attention."""
    return any(
        part.op == "dot" or part.is_call(*DOTS)
        for operand in value.positional[:2]
        for part in walk(operand)
    )


def _has_products(flow: Flow) -> bool:
    return any(True for _ in flow.calls(*DOTS))


def _reuses_tiles(module: Module, kernel: Kernel, flow: Flow) -> bool:
    """Whether the kernel does more than stream blocks, which any block does equally well."""
    if _has_products(flow):
        return True
    summed = _accumulated(flow)
    reduced = (
        set(access.loops) & access.pointer.varies
        and access.result in summed
        and "arange" in access.pointer.operations
        for access in flow.loads
    )
    return any(reduced) or _transposes(module, kernel, flow)


def _accumulated(flow: Flow) -> set[Value]:
    """What each iteration of a loop adds to a value of the turn before."""
    found: set[Value] = set()
    for phi, end in flow.back_edges.items():
        for outcome in _outcomes(end):
            parts = set(walk(outcome)) if outcome is not phi else set()
            if phi in parts:
                found |= parts
    return found


def _outcomes(value: Value) -> Iterator[Value]:
    """The values that one with several ways to it may be."""
    if value.op in ("select", "after"):
        for operand in value.operands:
            yield from _outcomes(operand)
    else:
        yield value


def _transposes(module: Module, kernel: Kernel, flow: Flow) -> bool:
    """Whether tiles are contiguous along one axis where they are read, another where written."""
    if not any(value.op == "expand" for value in flow.values.values()):
        return False
    tiles = tiles_of(module, kernel)
    axes: dict[str, set[int]] = {"load": set(), "store": set(), "atomic": set()}
    for access in flow.accesses:
        strides = tiles.facts_of(access.pointer).strides or ()
        if len(strides) == 2:
            axes[access.kind] |= {axis for axis, step in enumerate(strides) if step == ONE}
    return bool(axes["load"] and axes["store"]) and not axes["load"] & axes["store"]


def _chosen_tiles(flow: Flow) -> list[str]:
    """Constexprs that lay tiles out over programs or iterations of a loop, in order of use.

    Another length of an arange covers a whole row, or belongs to the data.
    """
    steps = {value for loop in flow.loops.values() if loop.bounds for value in loop.bounds}
    factors = {
        operand
        for value in flow.values.values()
        if value.is_binary("Mult")
        and any(not o.operations.isdisjoint(("program_id", "loop_index")) for o in value.operands)
        for operand in value.operands
    }
    chosen = {str(v.detail) for v in (*steps, *factors) if v.op == "param"}
    return [name for name in _tile_parameters(flow) if name in chosen]


def _is_single_program(module: Module, launch: Launch) -> bool:
    grid = resolve(module, launch, launch.grid)
    return isinstance(grid, ast.Tuple | ast.List) and all(
        isinstance(side, ast.Constant) and side.value == 1 for side in grid.elts
    )


def _tile_parameters(flow: Flow) -> list[str]:
    """Constexprs that are the length of an arange, in order of use."""
    found: dict[str, None] = {}
    for value in flow.values.values():
        if value.op == "arange" and value.operands[1].op == "param":
            found[str(value.operands[1].detail)] = None
    return list(found)


@kernel_detector("autotune_duplicate_params", triton_kernels)
def autotune_duplicate_params(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A launch passes what the autotuner passes as well."""
    if kernel.autotune is None or not kernel.autotune.configs:
        return
    tuned = {n for c in kernel.autotune.configs for n in (*c.values, *c.options)}
    for launch in tuned_launches(module, kernel):
        for name, node in _passed(launch):
            if name in tuned:
                text = (
                    f"{name} is tuned by this kernel's configurations and passed here too: "
                    "the launch raises an error."
                )
                yield node, text, (Related("tuned here", tuned_at(module, kernel)),)


def _passed(launch: Launch) -> Iterator[tuple[str, ast.expr | ast.keyword]]:
    keywords = {k.arg: k for k in launch.node.keywords if k.arg is not None}
    for name, value in (*launch.arguments.items(), *launch.options.items()):
        yield name, keywords.get(name, value)


@detector("autotune_key_missing")
def autotune_key_missing(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Tuned for the first value of an extent, and never again for another."""
    for kernel, flow in triton_kernels(module):
        if kernel.autotune is None or kernel.autotune.key is None:
            continue
        if kernel.autotune.configs is not None and len(kernel.autotune.configs) < 2:
            continue
        if kernel.autotune.key == ():
            extents = _extents(kernel, flow)
            what = "Without a key the first launch picks the configuration for all shapes; "
            what += f"{', '.join(extents)} decide how much work there is."
        else:
            extents = _unkeyed_loops(module, kernel, flow)
            what = f"The key lacks {', '.join(extents)}, which a loop runs up to: what was fastest "
            what += "for the first value is used for all others."
        if extents:
            yield Finding(
                tuned_at(module, kernel),
                what,
                kernel.name,
            )


def _unkeyed_loops(module: Module, kernel: Kernel, flow: Flow) -> list[str]:
    """Run-time integers outside the key up to which loops over tiles run, in signature order."""
    found: set[str] = set()
    tiled = {
        part.detail
        for value in flow.values.values()
        if value.is_binary("Mult") and any(o.op == "param" for o in value.operands)
        for part in value.operands
        if part.op == "loop_index"
    }
    for loop in flow.loops.values():
        if loop.bounds is None or "program_id" in loop.bounds[0].operations:
            continue
        if loop.number in tiled or loop.bounds[2].op == "param":
            found |= _run_up_to(loop.bounds[1])
    pointers = {access.base for access in flow.accesses}
    key = set(kernel.autotune.key or ()) if kernel.autotune else set()
    return [
        p.name
        for p in kernel.parameters
        if p.name in found - key - pointers
        and not p.is_constexpr
        # A rounded extent is in the key by a name of its own: CACHE_K or K_bucket for K.
        and not any(f"_{p.name}_".lower() in f"_{other}_".lower() for other in key)
        and not _follows_key(module, kernel, p.name, key)
    ]


def _run_up_to(stop: Value, depth: int = 0) -> set[str]:
    """Parameters in a loop's end that are no product of the grid's: ``N``, ``cdiv(N, B)``."""
    if depth > 20 or stop.op in ("load", "program_id", "select", "phi", "after"):
        return set()
    if stop.op == "param":
        return {str(stop.detail)}
    if stop.is_binary("FloorDiv", "Add", "Sub") or stop.is_call(TL + "cdiv", "triton.cdiv"):
        return {name for operand in stop.operands for name in _run_up_to(operand, depth + 1)}
    return set()


def _follows_key(module: Module, kernel: Kernel, name: str, key: set[str]) -> bool:
    """Whether launches compute an argument from the key's arguments, or pass a literal."""
    for launch in module.launches_of(kernel.name):
        node = launch.arguments.get(name)
        if node is None:
            return False
        stated = [launch.arguments[n] for n in kernel.constexprs if n in launch.arguments]
        fixed = [form for e in stated for form in (e, resolve(module, launch, e))]
        if not _is_arithmetic_on(module, launch, node, key, fixed):
            return False
    return bool(module.launches_of(kernel.name))


def _is_arithmetic_on(
    module: Module, launch: Launch, node: ast.expr, key: set[str], fixed: list[ast.expr]
) -> bool:
    """Whether an argument follows from the key's and from what is fixed when it is compiled."""
    given = [launch.arguments[k] for k in key if k in launch.arguments]
    known = {n.id for e in (*given, *fixed) for n in ast.walk(e) if isinstance(n, ast.Name)}
    if any(_is_factor(resolve(module, launch, e), node, fixed) for e in given):
        return True
    for form in (node, resolve(module, launch, node)):
        parts = list(ast.walk(form))
        if any(isinstance(n, ast.Subscript) for n in parts):
            continue
        names = {n.id for n in parts if isinstance(n, ast.Name)}
        if names - {"triton", "math", "min", "max"} <= known:
            return True
    return False


def _is_factor(product: ast.expr, node: ast.expr, fixed: list[ast.expr]) -> bool:
    """Whether a product is that of an argument and of a constant of the launch."""
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return False
    constants = {ast.unparse(e) for e in fixed}
    return any(
        ast.unparse(one) == ast.unparse(node)
        and (isinstance(two, ast.Constant) or ast.unparse(two) in constants)
        for one, two in ((product.left, product.right), (product.right, product.left))
    )


def _extents(kernel: Kernel, flow: Flow) -> list[str]:
    """Run-time parameters that bound a mask or a loop, in signature order."""
    bounds: set[str] = set()
    for loop in flow.loops.values():
        bounds.update(_parameters(loop.bounds[1]) if loop.bounds else ())
    for access in flow.accesses:
        for value in walk(access.mask) if access.mask is not None else ():
            if value.op == "compare" and value.detail in ("Lt", "LtE"):
                bounds.update(_parameters(value.operands[1]))
    # A length that is loaded is known to the device alone: no key can have it.
    bounds -= {str(access.base) for access in flow.accesses}
    return [p.name for p in kernel.parameters if p.name in bounds and not p.is_constexpr]


def _parameters(value: Value) -> set[str]:
    return {str(v.detail) for v in walk(value) if v.op == "param"}
