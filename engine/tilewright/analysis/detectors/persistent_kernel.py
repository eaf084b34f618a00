"""Detectors of the persistent stage: how many programs share the tiles, and who decides it."""

import ast
import re
from collections.abc import Iterator
from math import prod
from pathlib import PurePath

from tilewright.analysis.detectors.chips import chip_of
from tilewright.analysis.detectors.common import TL, constants_at, triton_kernels
from tilewright.analysis.detectors.program_counts import stated_axes
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.values import Flow, Loop, Value, walk
from tilewright.python_syntax import parameter_defaults
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.host import host_of, last_assigned, resolve
from tilewright.source.model import Launch, Module

_MOST_UNITS = 1024
"""A literal above this is a limit of the grid, not a count of compute units."""

_CHIP = re.compile(r"_?(?:sm_?|gfx|gcu|mi|[abhl](?=\d{2}))\d{2,4}[a-z]?")
_ROUNDS = 4
_SHORT_LOOP = 32


@detector("persistent_num_progs_hardcoded")
def persistent_num_progs_hardcoded(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A literal count of programs for a kernel that walks over its tiles with that stride."""
    if _is_for_one_chip(module.path):
        return
    for kernel, flow in triton_kernels(module):
        loop = _grid_stride_loop(flow)
        if loop is None:
            continue
        for launch in module.launches_of(kernel.name):
            found = _literal_programs(module, launch)
            if found is not None and 1 < found[0] <= _MOST_UNITS:
                yield Finding(
                    module.index.range_of(launch.grid),
                    f"{found[0]} programs share all tiles of this kernel, whatever the chip: "
                    "beyond that many compute units the rest stay idle, below it programs queue "
                    "in uneven rounds.",
                    kernel.name,
                    related=(Related("the loop over tiles", module.index.range_of(loop.node)),),
                )


def _is_for_one_chip(path: str) -> bool:
    """Whether the file lies in a folder that is named after a chip: ``sm90``, ``gfx942``."""
    return any(_CHIP.fullmatch(folder.lower()) for folder in PurePath(path).parts[:-1])


def _grid_stride_loop(flow: Flow) -> Loop | None:
    """A loop that starts at the program id and steps by the number of programs."""
    for loop in flow.loops.values():
        if loop.bounds is None or loop.is_static:
            continue
        start, _, step = loop.bounds
        begins = any(v.op == "program_id" and v.detail == 0 for v in walk(start))
        if begins and (_counts_programs(step) or _is_other_constexpr(start, step)):
            return loop
    return None


def _counts_programs(step: Value) -> bool:
    return any(v.is_call(TL + "num_programs") for v in walk(step))


def _is_other_constexpr(start: Value, step: Value) -> bool:
    """Whether a plain program id strides by a parameter, as in ``range(pid, tiles, SMS)``."""
    return start.op == "program_id" and step.op == "param"


def _literal_programs(module: Module, launch: Launch) -> tuple[int, str] | None:
    """The literal number of programs of a 1-D grid, alone or as the limit in ``min``."""
    axes = stated_axes(module, launch)
    if axes is None or len(axes) != 1:
        return None
    count = resolve(module, launch, axes[0])
    if isinstance(count, ast.Call) and module.names.resolve(count.func) == "min":
        known = [(n, _number(module, launch, n)) for n in count.args]
        if sum(number is not None for _, number in known) != 1:
            return None
    else:
        known = [(count, _number(module, launch, count))]
    for node, number in known:
        if number is not None:
            return number, module.index.slice(module.index.range_of(node))
    return None


def _number(module: Module, launch: Launch, node: ast.expr) -> int | None:
    evaluator = Evaluator(constants_at(module, launch), {}, module.names)
    stated = resolve(module, launch, node)
    default = _default(module, launch, stated) if isinstance(stated, ast.Name) else None
    try:
        value = evaluator.value(stated if default is None else default)
    except Undecidable:
        return None
    return value if type(value) is int else None


def _default(module: Module, launch: Launch, name: ast.Name) -> ast.expr | None:
    """What a parameter of the host function is where the caller does not say."""
    host = host_of(module, launch)
    if host is None or last_assigned(module, launch, name.id) is not None:
        return None
    if name.id.lower().startswith("max"):
        # A limit, which few calls reach.
        return None
    return next((d for a, d in parameter_defaults(host.args) if a.arg == name.id), None)


@detector("missing_persistent")
def missing_persistent(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Many rounds of programs whose product loop is short next to prologue and epilogue."""
    target = chip_of(context)
    if target is None:
        return
    units = target.compute_units
    for kernel, flow in triton_kernels(module):
        loop = _product_loop(flow)
        if loop is None or _grid_stride_loop(flow) is not None:
            continue
        for launch in context.launches:
            if launch.kernel != kernel.name or len(launch.grid) == 0:
                continue
            programs = prod(launch.grid)
            turns = _turns(loop, Numbers.of_launch(launch))
            if programs < _ROUNDS * units or turns is None or not 0 < turns <= _SHORT_LOOP:
                continue
            yield Finding(
                kernel.name_range,
                f"{programs} programs come to {-(-programs // units)} rounds on {units} compute "
                f"units, and each fills its pipeline again for {turns} "
                f"iteration{'s' * (turns > 1)} of its K loop.",
                kernel.name,
                related=(Related("the K loop", module.index.range_of(loop.node)),),
            )
            break


def _product_loop(flow: Flow) -> Loop | None:
    """The innermost loop around the only ``tl.dot``; None where there is another shape."""
    dots = [loops for _, _, loops in flow.calls(TL + "dot")]
    if len(dots) != 1 or len(dots[0]) != 1:
        return None
    return flow.loops.get(dots[0][0])


def _turns(loop: Loop, numbers: Numbers) -> int | None:
    if loop.bounds is None:
        return None
    start, stop, step = (number_of(bound, numbers) for bound in loop.bounds)
    if start is None or stop is None or not step:
        return None
    return -(-(stop - start) // step)
