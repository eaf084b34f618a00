"""``tilewright memory``: what earlier runs learned on this machine; mining and removal."""

import json
import os
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.cli.captured import problem_for
from tilewright.cli.inputs import read_source
from tilewright.cli.options import Captured
from tilewright.cli.output import ERR, OUT, AsFormat, Exit, Format, emit_json, working
from tilewright.cli.session import device_for, stop_on_signal
from tilewright.cli.target import target_for
from tilewright.errors import InputError
from tilewright.evaluation.cascade import NO_PROBLEM
from tilewright.evaluation.sizing import sized
from tilewright.evaluation.syntax import require_python
from tilewright.evaluation.workbench import Workbench
from tilewright.memory.bank import Bank, Learned
from tilewright.memory.mining import GoodKernel
from tilewright.memory.model import Experience, Schedule
from tilewright.memory.projects import project_of
from tilewright.memory.rewinds import Effect, Rewinding
from tilewright.scratch import scratch_folder
from tilewright.serialize import dump
from tilewright.source import parse_module
from tilewright.store.store import open_store, unusable

DEFAULT_BUDGET = 20
CANNOT_TIME = (
    "{device} cannot time a kernel, so nothing is measured and nothing is stored; name a GPU with "
    "--device"
)
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="List, mine and remove what earlier runs learned on this machine.",
)
_Project = Annotated[
    Path | None, typer.Option(help="Only what comes from the project of this folder.")
]


@contextmanager
def _bank() -> Iterator[Bank]:
    """The bank of this machine, closed at the end."""
    store = open_store()
    bank = Bank(store)
    try:
        yield bank
    except sqlite3.DatabaseError as error:
        raise unusable(store.path, error) from error
    finally:
        bank.close()
        store.close()


@app.command("list")
def list_entries(project: _Project = None, form: AsFormat = Format.TEXT) -> None:
    """List what the memory holds, the newest first."""
    wanted = str(project_of(project)) if project else None
    with _bank() as bank:
        held = bank.snapshot()
        uses = bank.uses()
    entries = [one for one in reversed(held.experiences) if _is_of(one, wanted)]
    schedules = [one for one in reversed(held.schedules) if _is_of(one, wanted)]
    if form is Format.JSON:
        emit_json({
            "experiences": [entry_row(one, uses) for one in entries],
            "schedules": [schedule_row(one, uses) for one in schedules],
        })  # fmt: skip
        return
    if not entries and not schedules:
        OUT.print(
            "The memory is empty; `tilewright memory mine FILE` or a run with memory fills it."
        )
        return
    for line in _table(entries, schedules, uses):
        OUT.print(line)


def _is_of(entry: Experience | Schedule, project: str | None) -> bool:
    return project is None or entry.source.project == project


def entry_row(entry: Experience, uses: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """An entry of a list."""
    used, helped = uses.get(entry.id, (0, 0))
    measured = entry.measured
    return {
        "id": entry.id,
        "outcome": entry.outcome.value,
        "key": entry.key,
        "issue": entry.issue,
        "title": entry.title,
        "ratio": measured.ratio,
        "low": measured.low,
        "high": measured.high,
        "chip": entry.signature.chip,
        "device": measured.device,
        "origin": entry.source.origin.value,
        "project": entry.source.project,
        "path": entry.source.path,
        "created": entry.created,
        "used": used,
        "helped": helped,
    }


def schedule_row(schedule: Schedule, uses: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """A schedule of a list."""
    used, helped = uses.get(schedule.id, (0, 0))
    return {
        "id": schedule.id,
        "steps": [step.key for step in schedule.steps],
        "ratio": schedule.ratio,
        "low": schedule.low,
        "high": schedule.high,
        "chip": schedule.signature.chip,
        "project": schedule.source.project,
        "path": schedule.source.path,
        "created": schedule.created,
        "used": used,
        "helped": helped,
    }


def _table(
    entries: Sequence[Experience],
    schedules: Sequence[Schedule],
    uses: Mapping[str, tuple[int, int]],
) -> Iterator[str]:
    for entry in entries:
        row = entry_row(entry, uses)
        yield (
            f"{entry.id[:8]}  {row['outcome']:<6}  {_ratio_words(row)}  {row['chip'] or 'any'}  "
            f"{row['origin']:<7}  {row['issue'] or row['key']}  {row['path']}"
        )
    for schedule in schedules:
        row = schedule_row(schedule, uses)
        yield f"{schedule.id[:8]}  schedule  {_ratio_words(row)}  {' -> '.join(row['steps'])}"
    counted = f"{len(entries)} experiences, {len(schedules)} schedules"
    yield f"{counted}; `tilewright memory show ID` shows one"


def _ratio_words(row: Mapping[str, Any]) -> str:
    return f"{row['ratio']:.3f}x [{row['low']:.3f}, {row['high']:.3f}]"


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="An id, or its first digits.")],
    form: AsFormat = Format.TEXT,
) -> None:
    """Show one entry: measurement, conditions, origin and diff."""
    with _bank() as bank:
        entry = bank.named(name)
        uses = bank.uses()
    if form is Format.JSON:
        emit_json({**dump(entry), "id": entry.id})
        return
    lines = _experience_lines(entry, uses) if isinstance(entry, Experience) else _steps(entry, uses)
    for line in lines:
        OUT.print(line)


def _experience_lines(entry: Experience, uses: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    row = entry_row(entry, uses)
    yield f"{entry.title} ({entry.key})"
    yield f"  {entry.outcome.value}: {_ratio_words(row)} on {entry.measured.device}"
    yield f"  issue {entry.issue or 'none'}, bottleneck {entry.bottleneck or 'not known'}"
    for name, after in entry.measured.after.items():
        before = entry.measured.before.get(name)
        if before is not None and before != after:
            yield f"  {name} {before:g} -> {after:g}"
    yield from (f"  apply when {one.statement}" for one in entry.when)
    yield from (f"  avoid when {one.statement}" for one in entry.avoid)
    if entry.mechanism:
        yield f"  {entry.mechanism}"
    yield f"  {entry.source.origin.value} in {entry.source.path} of {entry.source.project}"
    yield f"  shown for {row['used']} steps, {row['helped']} of them faster"
    yield entry.diff


def _steps(schedule: Schedule, uses: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    yield f"schedule of {len(schedule.steps)} steps: {_ratio_words(schedule_row(schedule, uses))}"
    for number, step in enumerate(schedule.steps, 1):
        yield f"  {number}. {step.key}: {step.text} ({step.ratio:.3f}x)"
    yield f"  from {schedule.source.path} of {schedule.source.project}"


@app.command("forget")
def forget(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids, or the first digits of ids.")
    ] = None,
    project: Annotated[
        Path | None, typer.Option(help="Remove all that comes from the project of this folder.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove everything.")] = False,
    form: AsFormat = Format.TEXT,
) -> None:
    """Remove entries from the memory; they are overwritten in the file."""
    if not names and project is None and not everything:
        raise InputError("name the entries to remove, or pass --project FOLDER or --all")
    with _bank() as bank:
        chosen = [bank.full_id(name) for name in names or ()]
        root = _known_project(project) if project is not None else None
        gone = bank.forget(chosen, root, everything=everything)
    if form is Format.JSON:
        emit_json({"removed": gone})
        return
    OUT.print(f"{gone} entries removed")


def _known_project(folder: Path) -> str:
    """The root of a folder's project; the folder itself where it is gone."""
    return str(project_of(folder)) if folder.exists() else os.path.realpath(folder)


@app.command("export")
def export(
    file: Annotated[
        Path | None, typer.Argument(help="File to write; standard output without.")
    ] = None,
    project: _Project = None,
) -> None:
    """Write the memory as JSON, with all code that it holds."""
    wanted = str(project_of(project)) if project else None
    with _bank() as bank:
        held = bank.snapshot()
    entries = [{"id": one.id, **dump(one)} for one in held.experiences if _is_of(one, wanted)]
    schedules = [{"id": one.id, **dump(one)} for one in held.schedules if _is_of(one, wanted)]
    value = {"schema": 1, "experiences": entries, "schedules": schedules}
    if file is None:
        emit_json(value)
        return
    try:
        file.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(f"the memory cannot be written there ({why})", str(file)) from error
    OUT.print(f"{len(entries)} experiences and {len(schedules)} schedules written to {file}")


@app.command("mine")
def mine(
    files: Annotated[list[Path], typer.Argument(help="Python files with good Triton kernels.")],
    problem: Annotated[
        Path | None, typer.Option(help="Spec to run on. Default: the one next to each file.")
    ] = None,
    captured: Captured = None,
    device: Annotated[str, typer.Option(help="auto, cuda:0, ssh://host, ...")] = "auto",
    target: Annotated[str | None, typer.Option(help="Chip. Default: the device's own.")] = None,
    budget: Annotated[
        int, typer.Option(min=1, help="Most changes to verify in each file.")
    ] = DEFAULT_BUDGET,
    form: AsFormat = Format.TEXT,
) -> None:
    """Put issues into good kernels, measure what each costs, and remember those that cost time.

    Exits with 4 where no device can time a kernel; then nothing is stored.
    """
    found: list[dict[str, Any]] = []
    refused = None
    with stop_on_signal():
        for file in files:
            row = _mined(Mining(file, problem, captured, device, target, budget))
            found.append(row)
            refused = refused or row["refused"]
            if form is Format.TEXT:
                for line in _mined_lines(row):
                    OUT.print(line)
    if form is Format.JSON:
        emit_json({"files": found})
    if refused:
        ERR.print(f"tilewright: {refused}")
        raise typer.Exit(Exit.CANNOT)


@dataclass(frozen=True)
class Mining:
    """What to mine, on what."""

    file: Path
    problem: Path | None
    captured: Path | None
    device: str
    target: str | None
    budget: int


def _mined(asked: Mining) -> dict[str, Any]:
    """What mining one file gave, stored where it was measured."""
    text = read_source(asked.file)
    require_python(parse_module(text, str(asked.file)))
    spec = problem_for(asked.problem, asked.captured, asked.file, text)
    if spec is None:
        raise InputError(NO_PROBLEM.format(stem=asked.file.stem), str(asked.file))
    wanted = target_for(asked.target, asked.device, asked.file, text, spec).target
    with (
        working(f"mining {asked.file.name}"),
        device_for(asked.device, wanted) as opened,
        scratch_folder() as scratch,
    ):
        problem = sized(spec, opened, asked.file, text) or spec
        bench = Workbench(opened, problem, asked.file, scratch, secrets.randbits(48))
        good = GoodKernel(text, asked.file, bench, wanted or opened.info.target)
        if not opened.info.can_time:
            refused = CANNOT_TIME.format(device=opened.info.name)
            return _mined_row(asked.file, len(good.sites()), [], refused)
        results = list(good.rewound(asked.budget, datetime.now(UTC).isoformat(timespec="seconds")))
        with _bank() as bank:
            bank.merge(Learned([one.entry for one in results if one.entry is not None]))
        return _mined_row(asked.file, len(good.sites()), results, None)


def _mined_row(
    file: Path, count: int, results: Sequence[Rewinding], refused: str | None
) -> dict[str, Any]:
    return {
        "path": str(file),
        "sites": count,
        "judged": len(results),
        "stored": sum(one.entry is not None for one in results),
        "refused": refused,
        "effects": dict(Counter(one.effect.value for one in results)),
        "rewinds": [
            {
                "issue": one.site.rewind.issue,
                "rewrite": one.site.rewind.rewrite,
                "kernel": one.site.kernel,
                "line": one.site.rewound.line,
                "form": one.site.rewound.form,
                "effect": one.effect.value,
                "reason": one.reason,
                "entry": one.entry.id if one.entry else None,
            }
            for one in results
        ],
    }


def _mined_lines(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"{row['path']}: {row['sites']} sites, {row['judged']} judged, {row['stored']} stored"
    for one in row["rewinds"]:
        mark = "+" if one["effect"] == Effect.SLOWER.value else "-"
        yield (
            f"  {mark} {one['issue']} in {one['kernel']}, line {one['line']}: {one['effect']} "
            f"({one['reason']})"
        )
