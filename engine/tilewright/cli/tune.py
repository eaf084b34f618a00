"""``tilewright tune``: launch configurations by their estimated times, with no device at all."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from tilewright.cli.compile_options import launches_of
from tilewright.cli.inputs import target_of
from tilewright.cli.options import LaunchSpec
from tilewright.cli.output import ERR, OUT, AsFormat, Exit, Format, emit_json, working
from tilewright.errors import InputError
from tilewright.hardware.chips import chip
from tilewright.hardware.model import Chip
from tilewright.inspection.variants import OPTIONS, Launches
from tilewright.rewrites.launch_config import set_launch_config
from tilewright.rewrites.model import Refusal
from tilewright.rewrites.tiles import tunable
from tilewright.serialize import dump
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module
from tilewright.strategies.menus import Setting, menu
from tilewright.strategies.ranking import Ranked, launch_with, ranked
from tilewright.targets.compilation import compile_many
from tilewright.targets.model import CompileReport, LaunchFacts, Target
from tilewright.targets.toolchains import NoToolchainError

_MOST = 4096
_SAID = (
    "estimated, not measured; ranking validated on one H200 (cuda:90) only: "
    "benchmarks/README.md has its accuracy"
)


@dataclass(frozen=True)
class _Order:
    kernel: str
    source: str
    found: list[Ranked]
    ties: tuple[str, ...] = ()


def tune(
    file: Annotated[str, typer.Argument(help="FILE or FILE::KERNEL.")],
    target: Annotated[str, typer.Option(help="Chip, e.g. cuda:90.")],
    problem: LaunchSpec = None,
    space: Annotated[
        str,
        typer.Option(
            help="Search space, e.g. BLOCK_M=64,128;num_warps=4,8: all combinations are ranked."
        ),
    ] = "",
    top: Annotated[int, typer.Option(min=1, help="Number of configurations to print.")] = 20,
    form: AsFormat = Format.TEXT,
) -> None:
    """Rank launch configurations by estimated time; no kernel is run.

    Configurations come from --space, else the kernel's triton.autotune list,
    else a default menu for the target. A configuration that does not compile or
    does not fit is listed with the reason. Exits with 1 if none is left.
    """
    name, _, kernel = file.partition("::")
    path = Path(name)
    one = target_of(target)
    assert one is not None
    wanted = _space(space)
    with working(f"ordering {path} for {one}"), launches_of(path, kernel or None, problem, 1) as on:
        orders = list(_orders(path, on, one, wanted))
    for lost, reason in on.left_out:
        ERR.print(f"{lost}: {reason}")
    if not orders:
        raise InputError(
            "no kernel with configurations to rank: none is autotuned, and the tile sizes "
            "are unknown; pass --space NAME=1,2;num_warps=4,8",
            str(path),
        )
    if form is Format.JSON:
        told = [_as_json(order) for order in orders]
        emit_json({"path": str(path), "target": str(one), "kernels": told, "note": _SAID})
    else:
        for order in orders:
            _print(order, top)
        OUT.print(f"{_SAID}")
        for note in on.notes:
            OUT.print(f"note: {note}")
    left = any(not ranked_one.why for order in orders for ranked_one in order.found)
    raise typer.Exit(Exit.DONE if left else Exit.FINDINGS)


def _space(text: str) -> Mapping[str, tuple[int, ...]]:
    """``A=1,2;num_warps=4`` as values by name.

    Raises:
        InputError: a part that is no name with whole numbers, or far too many combinations.
    """
    found: dict[str, tuple[int, ...]] = {}
    total = 1
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, values = part.partition("=")
        numbers = [value.strip() for value in values.split(",")]
        if not equals or not all(n.isdigit() for n in numbers):
            raise InputError(f"cannot read {part!r} of --space; write BLOCK_M=64,128")
        found[name.strip()] = tuple(map(int, numbers))
        total *= len(numbers)
    if total > _MOST:
        raise InputError(f"--space has {total} combinations; {_MOST} are the most")
    return found


def _orders(
    path: Path,
    launches: Launches,
    target: Target,
    space: Mapping[str, tuple[int, ...]],
) -> Iterator[_Order]:
    module = parse_module(launches.text, str(path))
    seen: set[str] = set()
    for launch in launches.launches:
        kernel = module.kernel(launch.kernel)
        if kernel is None or kernel.name in seen:
            continue
        seen.add(kernel.name)
        source, settings = _settings(module, kernel, launch, chip(target), space)
        if settings:
            compiling = _Compiling(launches, target, kernel.name)
            apart = _apart(module, kernel, settings, is_made_up=not space)
            found = ranked(
                module,
                kernel,
                launch,
                [one for one in settings if str(one) not in apart],
                chip(target),
                compiling,
            )
            found += [
                Ranked(one, launch_with(launch, one), why=apart[str(one)])
                for one in settings
                if str(one) in apart
            ]
            yield _Order(kernel.name, source, found, _ties(module, kernel, settings))


def _apart(
    module: Module, kernel: Kernel, settings: Sequence[Setting], *, is_made_up: bool
) -> Mapping[str, str]:
    """Settings that would come apart from the rest of the file, each with the reason.

    ``is_made_up``: they are neither the file's own nor the user's, who may change its host code.
    """
    found = tunable(module, kernel)
    if isinstance(found, Refusal):
        return {}
    apart: dict[str, str] = {}
    for one in settings:
        why = found.refusal(one.values)
        if not why and is_made_up and kernel.autotune is None:
            text = set_launch_config(module, kernel, one.values, one.options)
            why = text.reason if isinstance(text, Refusal) else ""
        if why:
            apart[str(one)] = why
    return apart


def _ties(module: Module, kernel: Kernel, settings: Sequence[Setting]) -> tuple[str, ...]:
    """What belongs together with the constants that settings change, or would have changed."""
    found = tunable(module, kernel)
    if isinstance(found, Refusal):
        return ()
    names = {name for one in settings for name in one.values}
    doubts = found.doubts(sorted(names))
    return (
        *(f"{name} is left as it is: {why}" for name, why in found.fixed_reasons.items()),
        *(f"{name} is only made smaller: {why}" for name, why in found.limited.items()),
        *(
            f"{doubt}: that it may change alone was not checked, as nothing is run"
            for doubt in doubts
        ),
    )


def _settings(
    module: Module,
    kernel: Kernel,
    launch: LaunchFacts,
    on: Chip,
    space: Mapping[str, tuple[int, ...]],
) -> tuple[str, list[Setting]]:
    """Where configurations come from, and which."""
    if space:
        return "--space", _combinations(launch, space)
    configs = kernel.autotune.configs if kernel.autotune else None
    if configs:
        listed = [_setting(config.values, config.options) for config in configs]
        return "its autotune list", listed
    found = tunable(module, kernel)
    if isinstance(found, Refusal):
        return found.reason, []
    return f"what suits {on.id}", menu(found, launch, on)


def _combinations(launch: LaunchFacts, space: Mapping[str, tuple[int, ...]]) -> list[Setting]:
    constexprs = {a.name for a in launch.arguments if a.kind == "constexpr"}
    for name in space:
        if name not in constexprs | OPTIONS:
            has = ", ".join(sorted(constexprs)) or "none"
            raise InputError(
                f"{name} is no compiler option, and {launch.kernel} has no such constexpr ({has})"
            )
    made = []
    for values in itertools.product(*space.values()):
        given = dict(zip(space, values, strict=True))
        chosen = {n: v for n, v in given.items() if n in constexprs}
        made.append(Setting(chosen, {n: v for n, v in given.items() if n not in constexprs}))
    return made


def _setting(values: Mapping[str, Any], options: Mapping[str, Any]) -> Setting:
    return Setting(
        {name: value for name, value in values.items() if value is not None},
        {name: value for name, value in options.items() if value is not None},
    )


@dataclass(frozen=True)
class _Compiling:
    """Compiles launches of a file side by side, and says how far it is."""

    launches: Launches
    target: Target
    kernel: str

    def __call__(self, wanted: Sequence[LaunchFacts]) -> Sequence[CompileReport | NoToolchainError]:
        bench = self.launches.compilers.bench
        placed = str(bench.place(self.launches.text))
        asked = [(placed, launch, self.target) for launch in wanted]
        return compile_many(bench.device, asked, progress=self._tell)

    def _tell(self, done: int, count: int) -> None:
        if ERR.is_terminal and done % 10 == 0:
            ERR.print(f"{self.kernel}: {done} of {count} compiled")


def _print(order: _Order, top: int) -> None:
    kept = [one for one in order.found if not one.why]
    compiled = sum(one.report is not None for one in kept)
    OUT.print(
        f"{order.kernel}: {len(order.found)} configurations of {order.source}, "
        f"{compiled} compiled; best first"
    )
    names = [*dict.fromkeys(n for one in kept for n in _chosen(one.setting))]
    OUT.print(f"configuration: {' '.join(names)}")
    table = Table(
        "",
        Column(no_wrap=True),
        "estimate",
        "bound by",
        "of peak",
        "registers",
        "spills",
        "shared",
        box=None,
    )
    for place, one in enumerate(kept[:top], 1):
        table.add_row(str(place), Text(_values(one.setting, names)), *_figures(one))
    OUT.print(table)
    if len(kept) > top:
        OUT.print(f"{len(kept) - top} more; --top {len(kept)} shows all")
    _print_left_out([one for one in order.found if one.why])
    for tie in order.ties:
        OUT.print(f"note: {order.kernel}: {tie}")
    for note in _notes(kept):
        OUT.print(f"note: {order.kernel}: {note}")


def _chosen(setting: Setting) -> dict[str, int | str]:
    return {**setting.values, **setting.options}


def _values(setting: Setting, names: Sequence[str]) -> str:
    chosen = _chosen(setting)
    return " ".join(str(chosen.get(name, "-")) for name in names)


def _figures(one: Ranked) -> tuple[str, ...]:
    told, report = one.estimate, one.report
    if report is None:
        return f"~{one.rough_us:.0f} us" if one.rough_us else "none", "not compiled"
    return (
        f"{told.us:.1f} us" if told else "none",
        told.bound.value if told else "",
        f"{told.roofline_percent:.0f} %" if told else "",
        "" if report.registers is None else str(report.registers),
        f"{report.spill_bytes} B" if report.spill_bytes else "",
        "" if report.shared_bytes is None else f"{report.shared_bytes} B",
    )


def _print_left_out(out: Sequence[Ranked]) -> None:
    """Why, with the configurations it holds for; the figures in a reason differ."""
    reasons: dict[str, list[str]] = {}
    for one in out:
        reasons.setdefault(one.why, []).append(str(one.setting))
    for why, settings in sorted(reasons.items(), key=lambda item: -len(item[1])):
        more = f" and {len(settings) - 1} more" if len(settings) > 1 else ""
        OUT.print(f"left out: {settings[0]}{more}: {why}")


def _notes(kept: Sequence[Ranked]) -> Iterator[str]:
    told = [note for one in kept if one.estimate for note in one.estimate.notes]
    yield from dict.fromkeys([*(one.note for one in kept if one.note), *told])


def _as_json(order: _Order) -> dict[str, Any]:
    return {
        "kernel": order.kernel,
        "configurations_of": order.source,
        "ties": list(order.ties),
        "ranked": [_one_as_json(one) for one in order.found],
    }


def _one_as_json(one: Ranked) -> dict[str, Any]:
    report = one.report
    return {
        "values": dict(one.setting.values),
        "options": dict(one.setting.options),
        "left_out": one.why or None,
        "estimate": dump(one.estimate) if one.estimate else None,
        "registers": report.registers if report else None,
        "spill_bytes": report.spill_bytes if report else None,
        "shared_bytes": report.shared_bytes if report else None,
        "rough_us": one.rough_us,
        "note": one.note or None,
    }
