"""Rewinds of warps and registers: large tiles at options that do not suit them."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from tilewright.analysis.detectors.common import decorators_known
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tiles import tiles_of
from tilewright.hardware.chips import chip
from tilewright.rewrites.calls import append_keywords, remove_keywords
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.rewinds.model import Rewind, Rewound
from tilewright.rewrites.rewinds.sites import names_of_sides, product_blocks
from tilewright.rewrites.scope import host_scope, keyword, only_value
from tilewright.source.model import Kernel, Launch, Module
from tilewright.targets.model import Target

_SIDE = 128
_ROW = 16384
_INTEL = Target("xpu", "bmg-g31")


def _few_warps(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """A large tile whose launch does not state its warps."""
    if kernel.autotune is not None or not decorators_known(module, kernel):
        return
    blocks = product_blocks(module, kernel)
    sizes = dict.fromkeys(blocks, _SIDE) or _row_sizes(module, kernel)
    for launch in module.launches_of(kernel.name):
        patch = Patch(module)
        places = _places(module, launch, sizes)
        if not launch.is_complete or not places:
            continue
        if "num_warps" in launch.options:
            if keyword(launch.node, "num_warps") is None:
                continue
            remove_keywords(patch, launch.node, {"num_warps"})
        _state(patch, places)
        line = patch.new_line(patch.span(launch.node)[0])
        form = "product" if blocks else "row"
        yield Rewound(patch.apply(), line, context, form)


def _row_sizes(module: Module, kernel: Kernel) -> dict[str, int]:
    """The one constexpr that is the length of every tile loaded, in a kernel without products."""
    flow = flow_of(module, kernel)
    if any(True for _ in flow.calls("triton.language.dot")):
        return {}
    tiles = tiles_of(module, kernel)
    found = {names_of_sides(tiles.facts_of(access.pointer).shape) for access in flow.loads} - {()}
    (only,) = found if len(found) == 1 else ((),)
    return {only[0]: _ROW} if len(only) == 1 and only[0] in kernel.constexprs else {}


def _places(
    module: Module, launch: Launch, sizes: dict[str, int]
) -> list[tuple[ast.expr, int]] | None:
    """The literals that give blocks at a launch, there or in the host's own name for them."""
    found: list[tuple[ast.expr, int]] = []
    for name, size in sizes.items():
        node = launch.arguments.get(name)
        if isinstance(node, ast.Name):
            node = only_value(host_scope(module, launch), node.id)
        if not isinstance(node, ast.Constant) or type(node.value) is not int:
            return None
        found.append((node, size))
    return found


def _state(patch: Patch, places: list[tuple[ast.expr, int]]) -> None:
    for node, size in dict(places).items():
        patch.replace(node, str(size))


def _small_registers(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """A large product tile for an Intel GPU, and no word about its registers."""
    blocks = product_blocks(module, kernel)
    launches = module.launches_of(kernel.name)
    if not blocks or len(launches) != 1 or not launches[0].is_complete:
        return
    launch = launches[0]
    places = _places(module, launch, dict.fromkeys(blocks, _SIDE))
    if kernel.autotune is not None or not places:
        return
    patch = Patch(module)
    _state(patch, places)
    if keyword(launch.node, "grf_mode") is not None:
        remove_keywords(patch, launch.node, {"grf_mode"})
    warps = keyword(launch.node, "num_warps")
    if warps is not None:
        patch.replace(warps.value, str(_warps()))
    elif keyword(launch.node, "grf_mode") is None:
        append_keywords(patch, launch.node, [f"num_warps={_warps()}"])
    else:
        return
    line = patch.new_line(patch.span(launch.node)[0])
    yield Rewound(patch.apply(), line, replace(context, target=_INTEL))


def _warps() -> int:
    """Warps at which the tile's accumulator fits the large register file and not the small."""
    gpu = chip(_INTEL)
    budget = gpu.menu.accumulator_share * gpu.register_bytes
    return next(w for w in (1, 2, 4, 8, 16, 32) if _SIDE * _SIDE * 4 / w <= budget)


REWINDS = (
    Rewind(
        issue="suboptimal_warps",
        name="rewind_state_warps",
        rewrite="state_warps",
        applies="Every launch of a kernel that is not tuned, whose blocks are literals: with "
        "blocks of 128 x 128 for a product or 16,384 for a row, and without num_warps.",
        apply=_few_warps,
    ),
    Rewind(
        issue="missing_grf_mode",
        name="rewind_large_registers",
        rewrite="large_registers",
        applies="The launch of a product whose blocks are literals, for bmg-g31, with blocks of "
        "128 x 128 and without grf_mode.",
        apply=_small_registers,
    ),
)
