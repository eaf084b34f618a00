"""Turning tile sizes fixed at a launch into a ``triton.autotune`` over a chip's menu."""

import ast
from dataclasses import dataclass

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.hardware.chips import chip
from tilewright.hardware.configs import dot_configs, row_configs
from tilewright.rewrites.calls import imports, local_name, remove_keywords
from tilewright.rewrites.configs import Value, config_source
from tilewright.rewrites.edit import Patch, first_line
from tilewright.rewrites.grid import WrittenGrid, division, factors, meta_key, written_grid
from tilewright.rewrites.model import Numerics, RefusedError, accepted, rewrite
from tilewright.rewrites.pointers import base_pointer
from tilewright.rewrites.scope import (
    argument_facts,
    facts_of,
    is_tl_call,
    kernel_named,
    literal_int,
    same,
    uses,
)
from tilewright.rewrites.ties import Ties, grid_axes
from tilewright.rewrites.tiles import TileKind, Tunable, current_value, tunable
from tilewright.source.model import Kernel, Launch, Module
from tilewright.targets.model import Target

DEFAULT_TARGET = Target("cuda", "90")
"""The chip whose menu is used when no target was chosen."""

MOST_CONFIGS = 8

_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
_OPTIONS = ("num_warps", "num_stages", "grf_mode")


@dataclass(frozen=True)
class _Choice:
    """One configuration: constexprs, options."""

    values: dict[str, Value]
    options: dict[str, Value]


@rewrite(
    "missing_autotune",
    "Autotune over configurations that suit the chip",
    Numerics.REASSOCIATING,
    needs_launch=True,
)
def add_autotune(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = kernel_named(module, issue)
    found = accepted(tunable(module, kernel))
    launch = module.launches_of(kernel.name)[0]
    _check(module, kernel, launch, found)
    choices = _untied(found, _choices(module, kernel, found, context))
    tuned = set(choices[0].values)
    patch = Patch(module)
    _follow_meta(module, launch, found, tuned, patch)
    passed = {k.arg for k in launch.node.keywords if k.arg}
    by_place = tuned & (set(launch.arguments) - passed)
    if by_place:
        raise RefusedError(f"{min(by_place)} is passed by place; pass it by keyword first")
    remove_keywords(patch, launch.node, tuned | set(_OPTIONS))
    start = patch.line_start(first_line(kernel.node))
    guessed = context.target is None and found.kind is not TileKind.ELEMENTWISE
    key = [found.extents[role] for role in found.roles if role in found.extents]
    patch.splice(start, start, _decorator(module, kernel, patch, choices, key, guessed))
    return patch.apply()


def _check(module: Module, kernel: Kernel, launch: Launch, found: Tunable) -> None:
    if kernel.autotune is not None or kernel.heuristics:
        raise RefusedError("the kernel is tuned already")
    if not imports(module, "triton"):
        raise RefusedError("the file does not import triton, whose autotune is needed")
    if not launch.is_complete:
        raise RefusedError("the launch hides arguments behind * or **")
    if not found.extents:
        raise RefusedError("no run-time parameter is shown to bound the tiles, so there is no key")
    _check_reruns(module, kernel, launch)


def _check_reruns(module: Module, kernel: Kernel, launch: Launch) -> None:
    """The autotuner runs the kernel many times on the same buffers."""
    read: set[str | None] = set()
    written: set[str | None] = set()
    for node in ast.walk(kernel.node):
        if not isinstance(node, ast.Call):
            continue
        if _is_atomic(module, node):
            raise RefusedError("the kernel uses atomics, and tuning would run it many times")
        if is_tl_call(module, node, "load", "store") and node.args:
            side = written if is_tl_call(module, node, "store") else read
            side.add(base_pointer(kernel, node.args[0]))
    if None in written:
        raise RefusedError("it is not clear which buffer the kernel writes")
    for out in written:
        given = launch.arguments.get(out or "")
        for other in read - {None}:
            if other == out or same(given, launch.arguments.get(other or "")):
                raise RefusedError(
                    f"the kernel reads {out}, which it also writes, and tuning runs it many times"
                )


def _is_atomic(module: Module, call: ast.Call) -> bool:
    return (module.names.resolve(call.func) or "").startswith("triton.language.atomic_")


def _choices(
    module: Module, kernel: Kernel, found: Tunable, context: AnalysisContext
) -> list[_Choice]:
    target = context.target or DEFAULT_TARGET
    extents = _captured_extents(kernel, found, context)
    if found.kind is TileKind.DOT:
        if not {"m", "n", "k"} <= set(extents) or not {"m", "n", "k"} <= _free_roles(found):
            raise RefusedError("the three tile sizes of the product are not all free to choose")
        choices = _dot_choices(kernel, found, context, target, extents)
    else:
        choices = _row_choices(kernel, found, context, target, extents)
    if not choices:
        raise RefusedError(f"no configuration fits {target}")
    return choices


def _untied(found: Tunable, choices: list[_Choice]) -> list[_Choice]:
    """The configurations that come apart from nothing that the host has settled before."""
    tuned = sorted({name for choice in choices for name in choice.values})
    for name in tuned:
        ties = found.ties.get(name, Ties())
        if ties.followers:
            raise RefusedError(f"{name} has to be known before the launch: {ties.followers[0]}")
    numbers = [{n: v for n, v in choice.values.items() if isinstance(v, int)} for choice in choices]
    told = [found.refusal(values) for values in numbers]
    kept = [choice for choice, why in zip(choices, told, strict=True) if not why]
    if not kept:
        raise RefusedError(next(filter(None, told), "no configuration is left"))
    return kept


def _free_roles(found: Tunable) -> set[str]:
    return {role for role, name in found.roles.items() if name in found.free}


def _captured_extents(kernel: Kernel, found: Tunable, context: AnalysisContext) -> dict[str, int]:
    if not facts_of(context, kernel.name):
        raise RefusedError("the shapes are not known: no launch was captured")
    sizes: dict[str, int] = {}
    for role, name in found.extents.items():
        captured = [f.value for f in argument_facts(context, kernel.name, name)]
        known = [v for v in captured if type(v) is int and v > 0]
        if known:
            sizes[role] = max(known)
    return sizes


def _element_bytes(kernel: Kernel, context: AnalysisContext, names: list[str]) -> int:
    """Bytes of the widest captured element; 4 where none was captured."""
    types = [
        facts.type
        for launch in facts_of(context, kernel.name)
        for facts in launch.arguments
        if facts.type.startswith("*") and (not names or facts.name in names)
    ]
    sizes = [size for t in types for digits, size in _BYTES.items() if t.endswith(digits)]
    return max(sizes, default=4)


def _dot_choices(
    kernel: Kernel,
    found: Tunable,
    context: AnalysisContext,
    target: Target,
    extents: dict[str, int],
) -> list[_Choice]:
    size = _element_bytes(kernel, context, list(found.operands.values()))
    m, n, k = (extents[role] for role in ("m", "n", "k"))
    configs = dot_configs(
        chip(target), m, n, k, size, limit=MOST_CONFIGS, whole_blocks=found.whole_blocks
    )
    old = context.triton_version is not None and context.triton_version < (3, 6)
    choices = []
    for config in configs:
        sizes = {"m": config.block_m, "n": config.block_n, "k": config.block_k}
        sizes["group"] = config.group_m
        values: dict[str, Value] = {name: sizes[role] for role, name in found.roles.items()}
        options: dict[str, Value] = {
            "num_warps": config.num_warps,
            "num_stages": config.num_stages,
        }
        if config.register_mode is not None:
            large = config.register_mode != "128"
            old_name = "large" if large else "small"
            options["grf_mode"] = old_name if old else config.register_mode
        choices.append(_Choice(values, options))
    return choices


def _row_choices(
    kernel: Kernel,
    found: Tunable,
    context: AnalysisContext,
    target: Target,
    extents: dict[str, int],
) -> list[_Choice]:
    role = "row" if found.kind is TileKind.ROW else "block"
    name = found.roles[role]
    if role not in extents:
        return []
    configs = row_configs(chip(target), extents[role], _element_bytes(kernel, context, []))
    if name not in found.free:
        return [_Choice({}, {"num_warps": c.num_warps}) for c in configs[:MOST_CONFIGS]]
    if found.kind is TileKind.ELEMENTWISE:
        blocks = [(256, 4), (512, 4), (1024, 4), (1024, 8), (2048, 8), (4096, 8)]
        return [_Choice({name: b}, {"num_warps": w}) for b, w in blocks]
    sizes = [(c.block >> shift, c.num_warps) for c in configs for shift in (0, 1, 2)]
    pairs = list(dict.fromkeys((b, w) for b, w in sizes if b >= 128))[:MOST_CONFIGS]
    return [_Choice({name: b}, {"num_warps": w}) for b, w in pairs]


def _follow_meta(
    module: Module, launch: Launch, found: Tunable, tuned: set[str], patch: Patch
) -> None:
    """Make the grid read the blocks from META."""
    axes = tuned & set(found.axes)
    if not axes:
        return
    grid = accepted(written_grid(module, launch))
    named = launch.grid.id if grid.meta is None and isinstance(launch.grid, ast.Name) else None
    if named is not None and len(uses(grid.scope, named)) != 1:
        raise RefusedError(f"the grid {named!r} is used in other places as well")
    done: set[int] = set()
    for name in sorted(axes):
        _follow(module, launch, found, grid, name, patch, done)
    if grid.meta is None:
        start = patch.span(grid.tuple_node)[0]
        patch.splice(start, start, "lambda META: ")


def _follow(
    module: Module,
    launch: Launch,
    found: Tunable,
    grid: WrittenGrid,
    name: str,
    patch: Patch,
    done: set[int],
) -> None:
    role = next(role for role, block in found.roles.items() if block == name)
    extent = launch.arguments.get(found.extents.get(role, ""))
    given = launch.arguments.get(name)
    kernel = module.kernel(found.kernel)
    assert kernel is not None
    present = current_value(module, kernel, launch, name)
    along = grid_axes(module, kernel, name)
    for at, axis in enumerate(grid.axes):
        for factor in factors(axis) if along is None or at in along else ():
            d = division(module, factor)
            if d is None or extent is None or not same(d.extent, extent) or id(d.node) in done:
                continue
            if meta_key(d.block, grid.meta) == name:
                done.add(id(d.node))
                return
            literal = literal_int(d.block) is not None and literal_int(d.block) == present
            if literal or (given is not None and same(d.block, given)):
                cdiv = local_name(module, "triton.cdiv")
                meta = grid.meta or "META"
                new = f'{cdiv}({patch.source(d.extent)}, {meta}["{name}"])'
                patch.replace(d.node, new)
                done.add(id(d.node))
                return
    raise RefusedError(f"the grid does not show how it counts the tiles of {name}")


def _decorator(
    module: Module,
    kernel: Kernel,
    patch: Patch,
    choices: list[_Choice],
    key: list[str],
    guessed: bool,
) -> str:
    indent = patch.indent(kernel.node)
    names = ", ".join(f'"{name}"' for name in key)
    chosen = [f"# No target was chosen: these configurations suit {DEFAULT_TARGET}."]
    lines = [
        *(chosen if guessed else []),
        f"@{local_name(module, 'triton.autotune')}(",
        "    configs=[",
        *(f"        {config_source(module, c.values, c.options)}," for c in choices),
        "    ],",
        f"    key=[{names}],",
        ")",
    ]
    return "".join(f"{indent}{line}{patch.newline}" for line in lines)
