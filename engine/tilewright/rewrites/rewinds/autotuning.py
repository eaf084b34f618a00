"""Rewinds of tuning and of the order of programs."""

import ast
from collections.abc import Iterator

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.values import Flow, Value, walk
from tilewright.rewrites.calls import append_keywords, literal
from tilewright.rewrites.configs import autotune_call
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.rewinds.model import Rewind, Rewound
from tilewright.source.model import Kernel, Module


def _fixed(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """The first configuration at the launch, and no tuner."""
    launches = module.launches_of(kernel.name)
    call = autotune_call(module, kernel)
    configs = kernel.autotune.configs if kernel.autotune else None
    if call is None or not configs or len(launches) != 1 or not launches[0].is_complete:
        return
    if kernel.heuristics or kernel.other_decorators or _is_one_program(launches[0].grid):
        return
    values = {**configs[0].values, **configs[0].options}
    given = {n: v for n, v in values.items() if v is not None}
    if len(given) != len(values) or set(given) & set(launches[0].arguments):
        return
    if not _has_choice(module, kernel, set(given)):
        return
    patch = Patch(module)
    start = patch.line_start(call.lineno)
    patch.splice(start, patch.line_start((call.end_lineno or call.lineno) + 1), "")
    append_keywords(patch, launches[0].node, [f"{n}={literal(v)}" for n, v in given.items()])
    line = patch.new_line(patch.line_start(kernel.name_range.line))
    yield Rewound(patch.apply(), line, context)


def _is_one_program(grid: ast.expr) -> bool:
    return isinstance(grid, ast.Tuple) and all(
        isinstance(side, ast.Constant) and side.value == 1 for side in grid.elts
    )


def _has_choice(module: Module, kernel: Kernel, tuned: set[str]) -> bool:
    """Whether tuned blocks lay out tiles that are reused: by a product, or turn by turn."""
    flow = flow_of(module, kernel)
    every = list(flow.values.values())
    lengths = {str(v.operands[1].detail) for v in every if v.op == "arange"}
    counted = {
        str(operand.detail)
        for value in every
        if value.is_binary("Mult")
        and any(part.op in ("program_id", "loop_index") for part in walk(value))
        for operand in value.operands
    }
    counted |= {str(loop.bounds[2].detail) for loop in flow.loops.values() if loop.bounds}
    multiplies = any(True for _ in flow.calls("triton.language.dot"))
    summed = {part for end in _sums(flow) for part in walk(end)}
    reduces = any(
        set(access.loops) & access.pointer.varies
        and access.result in summed
        and any(part.op == "arange" for part in walk(access.pointer))
        for access in flow.loads
    )
    return bool(lengths & counted & tuned) and (multiplies or reduces)


def _sums(flow: Flow) -> list[Value]:
    """What a turn of a loop makes of a value of the turn before, where it computes with it."""
    return [
        way
        for phi, end in flow.back_edges.items()
        for way in _ways(end)
        if way is not phi and phi in set(walk(way))
    ]


def _ways(value: Value) -> Iterator[Value]:
    """What a value may be, behind a branch or a loop that may leave it alone."""
    if value.op not in ("select", "after"):
        yield value
        return
    for operand in value.operands:
        yield from _ways(operand)


REWINDS = (
    Rewind(
        issue="missing_autotune",
        name="rewind_add_autotune",
        rewrite="add_autotune",
        applies="Every kernel that a literal list of configurations tunes, at its only launch, "
        "where a product or a sum over a loop uses the tiles: with the first configuration as "
        "literals.",
        apply=_fixed,
    ),
)
