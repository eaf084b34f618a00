"""What each value of num_warps or num_stages costs on a chip: compiled, measured, else by size."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.analysis.tile_uses import TileCost
from tilewright.figures import kibibytes
from tilewright.hardware.model import Chip
from tilewright.targets.model import CompileReport, LaunchFacts
from tilewright.targets.occupancy import occupancy_of
from tilewright_server import wording
from tilewright_server.kernel_facts import CompiledFacts, ProfileFacts, Timing

TABLED = ("num_warps", "num_stages")
DEFAULT_WARPS = 4
_NOT_COMPILED = "not compiled"
_NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Known:
    """What compilers and devices said of a kernel."""

    compiled: CompiledFacts | None = None
    profiles: tuple[ProfileFacts, ...] = ()


@dataclass(frozen=True)
class _Choice:
    """A value of an option, where all other settings are ``values``."""

    name: str
    value: int
    values: Mapping[str, object]
    chip: Chip

    def is_made_by(self, launch: LaunchFacts) -> bool:
        """Whether a launch has this value and otherwise the settings of the place."""
        found, wanted = launch.settings, {**self.values, self.name: self.value}
        if any(key not in TABLED and found.get(key, one) != one for key, one in wanted.items()):
            return False
        return all(_value(k, found, self.chip) == _value(k, wanted, self.chip) for k in TABLED)


def warps_of(values: Mapping[str, object]) -> int:
    """The warps of a launch with these settings."""
    return _number(values.get("num_warps")) or DEFAULT_WARPS


def stages_of(values: Mapping[str, object], chip: Chip) -> int:
    """The stages of a launch with these settings."""
    found = _number(values.get("num_stages"))
    return found if found is not None else (3 if chip.backend == "cuda" else 2)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def stage_bytes(staged: int, stages: int, chip: Chip) -> int:
    """Shared memory that the copies of staged tiles take."""
    return staged * max(1, stages - 1 if chip.backend == "hip" else stages)


def cost_table(
    name: str,
    offered: Sequence[str],
    values: Mapping[str, object],
    cost: TileCost | None,
    chip: Chip,
    known: Known,
) -> str:
    """A row for each value, with all other settings as they are; what nothing says is said so.

    Args:
        offered: the values, as they are written.
        values: the settings at the place.
    """
    current = _value(name, values, chip)
    numbers = sorted({int(one) for one in offered if one.isdigit()} | {current})
    choices = [_Choice(name, number, values, chip) for number in numbers]
    head = f"| {name} | by its size | compiled for {chip.id} | time |\n|---|---|---|---|"
    rows = [
        f"| {f'**{one.value}**' if one.value == current else one.value} | {_by_size(one, cost)} "
        f"| {_compiled(_report(one, known.compiled))} | {_time(one, known)} |"
        for one in choices
    ]
    others = ", all other settings as here" if len(values) > 1 else ""
    return "\n".join([f"What each value costs on {chip.id}{others}:\n", head, *rows])


def _value(name: str, values: Mapping[str, object], chip: Chip) -> int:
    return warps_of(values) if name == "num_warps" else stages_of(values, chip)


def _by_size(choice: _Choice, cost: TileCost | None) -> str:
    """What follows from the extents of tiles alone."""
    chip = choice.chip
    if choice.name == "num_warps":
        threads = choice.value * chip.warp_size
        if cost is None:
            return f"{threads} threads"
        if cost.accumulators:
            each = cost.accumulators / threads
            over = ", **too many**" if each > chip.max_registers else ""
            return f"{threads} threads, {each:g} registers of each for the sum of dot{over}"
        return f"{threads} threads, at most {cost.largest / threads:g} elements of a tile each"
    if cost is None or not cost.staged:
        return "no tile is known to be staged"
    if chip.backend == "xpu":
        return "prefetches into caches, no shared memory"
    taken = stage_bytes(cost.staged, choice.value, chip)
    over = ", **does not fit**" if taken > chip.shared_limit else ""
    return f"{kibibytes(taken)} of {kibibytes(chip.shared_limit)} shared{over}"


def _report(choice: _Choice, compiled: CompiledFacts | None) -> CompileReport | None:
    reports = compiled.of_target(choice.chip.id) if compiled is not None else ()
    return next((report for report in reports if choice.is_made_by(report.launch)), None)


def _compiled(report: CompileReport | None) -> str:
    if report is None:
        return _NOT_COMPILED
    if not report.ok:
        return "**does not compile**"
    parts = [f"{report.registers} registers"] if report.registers is not None else []
    if report.spill_bytes is not None:
        parts.append(f"**{report.spill_bytes} B spilled**" if report.spill_bytes else "no spills")
    if report.shared_bytes:
        parts.append(f"{kibibytes(report.shared_bytes)} shared")
    found = occupancy_of(report)
    if found is not None:
        parts.append(f"{found.programs} a {found.unit}")
    return ", ".join(parts) or "compiles"


def _time(choice: _Choice, known: Known) -> str:
    """Measured, if this very setting was; else an estimate that is called one."""
    measured = next(_timings(choice, known.profiles), None)
    if measured is not None:
        return wording.time_text(measured)
    report = _report(choice, known.compiled)
    if report is None or known.compiled is None:
        return _NOT_MEASURED
    found = known.compiled.estimate_of(report)
    return _NOT_MEASURED if found is None else f"{_NOT_MEASURED}; {found.us:,.3g} µs by estimate"


def _timings(choice: _Choice, profiles: Sequence[ProfileFacts]) -> Iterator[Timing]:
    for one in profiles:
        if one.target != choice.chip.id or one.time is None or one.launch is None:
            continue
        if choice.is_made_by(one.launch):
            yield one.time
