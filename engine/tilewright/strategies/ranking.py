"""Launch configurations in the order of their estimated times, with none of them run.

Two steps: the source alone rules some out and orders the others roughly; the first of these are
compiled, side by side, and estimated from what the compiler made of them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.costs import Estimate, estimate
from tilewright.costs.grids import grid_with
from tilewright.costs.infeasible import hopeless
from tilewright.costs.model import Workload
from tilewright.costs.rough_estimate import guessed_report
from tilewright.costs.workload import workload
from tilewright.evaluation.compile_step import unfit
from tilewright.hardware.model import Chip
from tilewright.rewrites.launch_config import set_launch_config
from tilewright.rewrites.model import Refusal
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module
from tilewright.strategies.menus import Setting
from tilewright.targets.model import ArgumentFacts, CompileReport, LaunchFacts
from tilewright.targets.toolchains import NoToolchainError

COMPILED_SHARE = 1 / 3
"""Of the configurations that the source does not rule out. Of what an H200 measured in 148
lists of configurations, the best of these, or of ``LEAST_COMPILED``, is within 2 % of the best of
all in 146."""
LEAST_COMPILED = 48
_USED = 0.6  # of the lanes that write: with less, most programs of a grid may have nothing to do
_UNEVEN = 1.8
Compile = Callable[[Sequence[LaunchFacts]], Sequence[CompileReport | NoToolchainError]]


@dataclass(frozen=True)
class Ranked:
    """A configuration, and what is known of it without a device.

    Attributes:
        why: it was left out, in a sentence; empty if it was not.
        estimate: None where there is none; ``why`` or ``note`` says the reason.
        note: what the estimate lacks.
        rough_us: the time by the source alone, by which is chosen what to compile.
    """

    setting: Setting
    launch: LaunchFacts
    report: CompileReport | None = None
    estimate: Estimate | None = None
    why: str = ""
    note: str = ""
    rough_us: float | None = None


def ranked(
    module: Module,
    kernel: Kernel,
    launch: LaunchFacts,
    settings: Sequence[Setting],
    on: Chip,
    compile_all: Compile,
) -> list[Ranked]:
    """Configurations of a launch: compiled ones by estimate, then the others, then those left out.

    Raises:
        NoToolchainError: nothing here compiles for the chip.
    """
    found = sorted(_looked_at(module, kernel, launch, settings, on), key=_order)
    fit = sum(not one.why for one in found)
    count = min(fit, max(LEAST_COMPILED, round(COMPILED_SHARE * fit)))
    reports = compile_all([one.launch for one in found[:count]])
    for at, report in enumerate(reports):
        if isinstance(report, NoToolchainError):
            raise report
        found[at] = _judged(module, found[at], report, on)
    return sorted(found, key=_order)


def presorted(
    module: Module, kernel: Kernel, launch: LaunchFacts, settings: Sequence[Setting], on: Chip
) -> list[Setting]:
    """Settings by the source alone, the most promising first; none is left out."""
    found = sorted(_looked_at(module, kernel, launch, settings, on), key=_order)
    return [one.setting for one in found]


def _order(one: Ranked) -> tuple[bool, bool, float]:
    """Estimated ones first, then roughly ordered ones, then those left out."""
    if one.estimate is not None:
        return bool(one.why), False, one.estimate.us
    return bool(one.why), True, math.inf if one.rough_us is None else one.rough_us


def _looked_at(
    module: Module, kernel: Kernel, launch: LaunchFacts, settings: Sequence[Setting], on: Chip
) -> Iterator[Ranked]:
    """Configurations before any compiler has seen them."""
    # The compiler's options change no grid; an option that no launch has is given by host code.
    grids: dict[tuple[ArgumentFacts, ...], tuple[int, ...] | None] = {}
    if launch.grid:
        grids[launch.arguments] = launch.grid
    for setting in settings:
        changed = launch_with(launch, setting)
        if changed.arguments not in grids:
            grids[changed.arguments] = _grid(module, kernel, launch, changed, setting)
        grid = grids[changed.arguments]
        is_told = grid is not None or changed.arguments == launch.arguments
        note = "" if is_told else "its grid is unknown from the host code: no estimate"
        changed = replace(changed, grid=grid or ())
        work = workload(module, kernel, changed)
        why = hopeless(work, changed, on) or ""
        rough = estimate(module, guessed_report(work, changed, on), on)
        yield Ranked(setting, changed, why=why, note=note, rough_us=rough.us if rough else None)


def _grid(
    module: Module, kernel: Kernel, launch: LaunchFacts, changed: LaunchFacts, setting: Setting
) -> tuple[int, ...] | None:
    """The grid that covers the launch's range with other tiles; None if it cannot be derived."""
    if not launch.grid:
        return grid_with(module, kernel, launch, changed)
    # Where the host's expression cannot be followed, the grid may do as it is: rows stay rows.
    covering = []
    for grid in (grid_with(module, kernel, launch, changed), launch.grid):
        written = _written(module, kernel, launch, replace(changed, grid=grid)) if grid else 0.0
        if written > _USED:
            return grid
        if written:
            covering.append(grid)
    # A grid with the tile sizes as numbers has to be written anew, lest most lanes be masked.
    anew = _grid_anew(module, kernel, changed, setting)
    if anew and _written(module, kernel, launch, replace(changed, grid=anew)):
        covering.insert(0, anew)
    return next(iter(covering), None)


def _grid_anew(
    module: Module, kernel: Kernel, changed: LaunchFacts, setting: Setting
) -> tuple[int, ...] | None:
    """The grid of the host's text with a setting written into it."""
    text = set_launch_config(module, kernel, setting.values, setting.options)
    if isinstance(text, Refusal):
        return None
    other = parse_module(text, module.path)
    rewritten = other.kernel(kernel.name)
    unknown = replace(changed, grid=())
    return None if rewritten is None else grid_with(other, rewritten, unknown, unknown)


def _written(module: Module, kernel: Kernel, launch: LaunchFacts, changed: LaunchFacts) -> float:
    """The part of all lanes that write, over the launch's own; 0 where less or more is written.

    Where nothing is stored, it is about what is read.
    """
    before, after = workload(module, kernel, launch), workload(module, kernel, changed)
    kind = "store" if any(t.kind == "store" for t in before.touches) else "load"
    (moved, lanes), (moved_after, lanes_after) = _moved(before, kind), _moved(after, kind)
    least, most = sorted((moved, moved_after))
    covers = most < _UNEVEN * least
    return lanes / lanes_after * moved_after / moved if covers else 0.0


def _moved(work: Workload, kind: str) -> tuple[float, float]:
    """Elements that all programs move, and the same without masks."""
    touches = [t for t in work.touches if t.kind == kind]
    lanes = sum(t.elements * t.turns for t in touches)
    moved = sum(t.elements * t.inside * t.turns for t in touches)
    return moved * work.programs, lanes * work.programs


def launch_with(launch: LaunchFacts, setting: Setting) -> LaunchFacts:
    """The launch with a setting's constexprs and options; its grid stays as it was."""
    values: Mapping[str, int] = setting.values
    arguments = tuple(
        replace(a, value=values[a.name]) if a.name in values else a for a in launch.arguments
    )
    return replace(launch, arguments=arguments, options={**launch.options, **setting.options})


def _judged(module: Module, one: Ranked, report: CompileReport, on: Chip) -> Ranked:
    # What spills is slower, which the estimate tells; only what does not run is left out.
    why = "" if report.ok else unfit([report]) or ""
    found = None if why or not one.launch.grid else estimate(module, report, on)
    lacking = (
        "its grid is not known" if not one.launch.grid else "the chip's figures do not suffice"
    )
    note = one.note or ("" if found or why else f"{lacking}: no estimate")
    return replace(one, report=report, estimate=found, why=why, note=note)
