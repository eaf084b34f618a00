"""Which tiles a Triton kernel moves and keeps, and how many bytes they are for given constants.

What is derived is what the source asks for: loads of a loop with a product are taken to be staged
in shared memory, one copy for each stage, and the result of a product to stay in registers.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.nodes import nodes_of
from tilewright.analysis.tiles import Shape, TileFacts, Tiles, tiles_of
from tilewright.analysis.tiles.model import Dim
from tilewright.analysis.values import Value
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.parse import module_constants

DTYPE_BYTES: Mapping[str, int] = {
    "fp64": 8,
    "i64": 8,
    "u64": 8,
    "fp32": 4,
    "i32": 4,
    "u32": 4,
    "fp16": 2,
    "bf16": 2,
    "i16": 2,
    "u16": 2,
    "i8": 1,
    "u8": 1,
    "fp8e4nv": 1,
    "fp8e5": 1,
    "fp8e4b8": 1,
    "fp8e5b16": 1,
    "fp8e4b15": 1,
    "i1": 1,
}
ACCUMULATOR_BYTES = 4
_MOVES = {"triton.language.load": "load", "triton.language.store": "store"}
_DOTS = ("triton.language.dot", "triton.language.dot_scaled")
_LOOPS = (ast.For, ast.While)


@dataclass(frozen=True)
class TileUse:
    """One tile that is loaded, stored or computed by a product.

    Attributes:
        name: of what it is assigned to, or the call as it is named.
        kind: "load", "store" or "dot".
        line: 1-based.
        dtype: element type as tile inference names it; None where that is not known.
        is_staged: a load in a loop with a product, so pipelined where there are several stages.
    """

    name: str
    kind: str
    line: int
    shape: Shape
    dtype: str | None
    is_staged: bool

    def elements(self, constants: Mapping[str, object]) -> int | None:
        """How many elements it has; None where an extent does not follow from the constants."""
        extents = [number(extent, constants) for extent in self.shape]
        known = [extent for extent in extents if extent is not None]
        return prod(known) if len(known) == len(extents) else None

    def size(self, constants: Mapping[str, object], otherwise: int | None = None) -> int | None:
        """Its bytes; ``otherwise`` are those of an element whose type is not known."""
        count = self.elements(constants)
        each = DTYPE_BYTES.get(self.dtype or "", otherwise)
        return None if count is None or each is None else count * each

    @property
    def constants(self) -> frozenset[str]:
        """The names that its extents are computed from."""
        found: set[str] = set()
        pending = [extent for extent in self.shape if isinstance(extent, Value)]
        while pending:
            value = pending.pop()
            if value.op == "param":
                found.add(str(value.detail))
            pending += value.operands
        return frozenset(found)


def number(extent: Dim, constants: Mapping[str, object]) -> int | None:
    """An extent as a number; None where it does not follow from the constants."""
    if isinstance(extent, int):
        return extent
    match extent.op:
        case "const":
            return extent.detail if isinstance(extent.detail, int) else None
        case "param":
            found = constants.get(str(extent.detail))
            return found if isinstance(found, int) else None
        case "binary":
            one, two = (number(operand, constants) for operand in extent.operands)
            return None if one is None or two is None else _combined(str(extent.detail), one, two)
    return None


def _combined(operator: str, one: int, two: int) -> int | None:
    match operator:
        case "Mult":
            return one * two
        case "Add":
            return one + two
        case "Sub":
            return one - two
        case "FloorDiv" if two:
            return one // two
    return None


def tile_uses(module: Module, kernel: Kernel, context: AnalysisContext) -> tuple[TileUse, ...]:
    """The tiles of a kernel in the order of its lines; of those whose shape is known."""
    tiles = tiles_of(module, kernel, context)
    nodes = nodes_of(kernel.node)
    loops = [node for node in nodes if isinstance(node, _LOOPS)]
    with_dot = [loop for loop in loops if _holds_dot(module, loop)]
    names = _assigned_names(nodes)
    found = []
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        dotted = module.names.resolve(node.func)
        kind = "dot" if dotted in _DOTS else _MOVES.get(dotted or "")
        facts = _tile(tiles, node, kind)
        if kind is None or facts is None or not facts.shape:
            continue
        staged = kind == "load" and any(_encloses(loop, node) for loop in with_dot)
        name = names.get(node, ast.unparse(node.func))
        found.append(TileUse(name, kind, node.lineno, facts.shape, facts.dtype, staged))
    return tuple(sorted(found, key=lambda use: use.line))


def _tile(tiles: Tiles, node: ast.Call, kind: str | None) -> TileFacts | None:
    """Facts of what a call moves: of a store, of its address."""
    if kind != "store":
        return tiles.facts_at(node)
    address = node.args[0] if node.args else None
    return tiles.facts_at(address) if address is not None else None


def _holds_dot(module: Module, loop: ast.AST) -> bool:
    return any(module.names.is_call(node, *_DOTS) for node in ast.walk(loop))


def _encloses(loop: ast.stmt, node: ast.expr) -> bool:
    return loop.lineno <= node.lineno and (node.end_lineno or 0) <= (loop.end_lineno or 0)


def _assigned_names(nodes: Sequence[ast.AST]) -> dict[ast.expr, str]:
    return {
        node.value: node.targets[0].id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


@dataclass(frozen=True)
class Settings:
    """Constants and options that a kernel runs with, and where they stand: ``origin`` in words."""

    values: Mapping[str, object]
    origin: str


def settings_at(
    module: Module, kernel: Kernel, context: AnalysisContext, line: int
) -> Settings | None:
    """The settings that a line states, or else those of a known launch, or the first stated."""
    defaults = {p.name: _literal(p.default) for p in kernel.parameters if p.default is not None}
    configs = (kernel.autotune.configs if kernel.autotune else None) or ()
    for config in configs:
        if config.range.line <= line <= config.range.end_line:
            return Settings({**defaults, **config.values, **config.options}, "this configuration")
    launches = module.launches_of(kernel.name)
    for launch in launches:
        if launch.range.line <= line <= launch.range.end_line:
            return Settings({**defaults, **_literals(module, launch)}, "this launch")
    for known in context.launches:
        if known.kernel == kernel.name:
            return Settings({**defaults, **known.settings}, "the known launch")
    if configs:
        first, count = configs[0], len(configs)
        which = "its configuration" if count == 1 else f"the first of {count} configurations"
        return Settings({**defaults, **first.values, **first.options}, which)
    if launches:
        where = f"the launch on line {launches[0].range.line}"
        return Settings({**defaults, **_literals(module, launches[0])}, where)
    return Settings(defaults, "its defaults") if defaults else None


def _literals(module: Module, launch: Launch) -> dict[str, object]:
    """What a launch states as literals or as constants of the module."""
    constants = module_constants(module.tree)
    found: dict[str, object] = {}
    for name, node in {**launch.arguments, **launch.options}.items():
        stated = constants.get(node.id, node) if isinstance(node, ast.Name) else node
        if isinstance(stated, ast.Constant):
            found[name] = stated.value
    return found


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


@dataclass(frozen=True)
class TileCost:
    """What tiles take for given settings.

    Attributes:
        staged: bytes of the loads of one turn that are staged; 0 for none.
        accumulators: elements of the largest result of a product; 0 without any.
        largest: elements of the largest tile of all.
    """

    staged: int
    accumulators: int
    largest: int


def tile_cost(
    uses: Sequence[TileUse], settings: Mapping[str, object], element_bytes: int = 2
) -> TileCost | None:
    """The cost of a kernel's tiles; None where no extent is known.

    Args:
        element_bytes: of tiles whose element type is not known.
    """
    sizes = {use: use.size(settings, element_bytes) for use in uses}
    counts = {use: use.elements(settings) for use in uses}
    known = [count for count in counts.values() if count is not None]
    if not known:
        return None
    staged = {(u.name, u.line): sizes[u] or 0 for u in uses if u.is_staged}
    return TileCost(
        sum(staged.values()),
        max((counts[use] or 0 for use in uses if use.kind == "dot"), default=0),
        max(known),
    )
