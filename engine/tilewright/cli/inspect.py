"""``tilewright inspect``: compiler output of several chips for an unchanged file."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.cli.inputs import read_source, target_of
from tilewright.cli.options import FileStdin
from tilewright.cli.output import OUT, AsStream, Exit, StreamFormat, answer, emit_event, working
from tilewright.cli.session import device_for, stop_on_signal
from tilewright.devices.model import INTERPRETER
from tilewright.errors import InputError
from tilewright.evaluation.sizing import sized
from tilewright.evaluation.workbench import Workbench
from tilewright.inspection.launch_sources import KernelLaunches, captures_near, launch_sources
from tilewright.inspection.report import Compilers, inspected_for, not_inspected, stage_view
from tilewright.problems.loading import find_problem
from tilewright.scratch import scratch_folder
from tilewright.serialize import dump
from tilewright.signatures.sources import problem_without_spec
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.targets.model import STAGES, Target


def inspect(
    file: Annotated[str, typer.Argument(help="FILE or FILE::KERNEL.")],
    target: Annotated[list[str], typer.Option(help="Chip to compile for; may be repeated.")],
    stdin: FileStdin = False,
    emit: Annotated[
        str | None, typer.Option(help="Print this compiler stage of one kernel for one target.")
    ] = None,
    form: AsStream = StreamFormat.TEXT,
) -> None:
    """Cross-compile FILE's kernels and report problems per source line.

    No target has to be installed. The editor extension uses this command.
    """
    name, _, kernel = file.partition("::")
    path, targets = Path(name), [t for t in map(target_of, target) if t is not None]
    text = read_source(path, from_stdin=stdin)
    with working(f"compiling {path.name}"), stop_on_signal(), _opened(path, text) as opened:
        if emit is not None:
            value = _stage(opened, kernel, targets, emit)
            answer(value, form, _print_stage)
        else:
            value = _inspect(opened, kernel, targets, form)
            answer(value, form, _print)
    raise typer.Exit(Exit.DONE)


_MOST = 8
"""Launches of one kernel that are compiled; an editor waits for them."""


@dataclass(frozen=True)
class _Opened:
    """A text, its launches, and where it is compiled."""

    module: Module
    found: tuple[KernelLaunches, ...]
    compilers: Compilers

    def kernels(self, wanted: str) -> tuple[KernelLaunches, ...]:
        """All of them, or the one that is wanted."""
        found = tuple(one for one in self.found if wanted in ("", one.kernel.name))
        if not found:
            known = ", ".join(one.kernel.name for one in self.found) or "none"
            what = f"launched kernel {wanted}" if wanted else "launched kernel"
            raise InputError(f"no {what}; it has {known}", self.module.path)
        return found


@contextmanager
def _opened(path: Path, text: str) -> Iterator[_Opened]:
    module = parse_module(text, str(path))
    with device_for(INTERPRETER, None) as device, scratch_folder() as scratch:
        problem = sized(find_problem(path), device, path, text) or problem_without_spec(path)
        bench = Workbench(device, problem, path, scratch, secrets.randbits(48))
        found = launch_sources(bench, module, captures_near(path)).kernels
        yield _Opened(module, tuple(one.first(_MOST) for one in found), Compilers(bench, text))


def _inspect(
    opened: _Opened, kernel: str, targets: Sequence[Target], form: StreamFormat
) -> dict[str, Any]:
    """All kernels for the first target, then for the next; each is reported when it is done."""
    found = opened.kernels(kernel)
    known = {one.kernel.name: not_inspected(one) for one in found}
    todo = [(target, one) for target in targets for one in found]
    for done, (target, one) in enumerate(todo):
        name = one.kernel.name
        if form is StreamFormat.EVENTS:
            percent = 10 + 90 * done // len(todo)
            emit_event("progress", percent=percent, message=f"compiling {name} for {target}")
        known[name] = inspected_for(target, known[name], opened.module, one, opened.compilers)
        if form is StreamFormat.EVENTS:
            emit_event("inspected", kernel=dump(known[name]))
    return {"path": opened.module.path, "kernels": [dump(one) for one in known.values()]}


def _stage(opened: _Opened, kernel: str, targets: Sequence[Target], stage: str) -> dict[str, Any]:
    if len(targets) != 1:
        raise InputError("--emit shows one target's stage; give --target once")
    known = STAGES[targets[0].backend]
    if stage not in (*known, "native"):
        raise InputError(f"{targets[0]} has no stage {stage}; it has {', '.join(known) or 'none'}")
    one = opened.kernels(kernel)[0]
    if not one.launches:
        raise InputError(
            f"it is not known what to compile {one.kernel.name} with: {'; '.join(one.notes)}",
            opened.module.path,
            one.kernel.range.line,
        )
    wanted = None if stage == "native" else stage
    view = stage_view(one.launches[0], targets[0], wanted, opened.compilers)
    return {**view, "origin": one.origin, "why": one.why, "notes": list(one.notes)}


def _print_stage(value: dict[str, Any]) -> None:
    text = (
        value["text"] if value["text"] is not None else f"no {value['stage']}: {value['missing']}"
    )
    OUT.out(text, highlight=False)


def _print(value: dict[str, Any]) -> None:
    for kernel in value["kernels"]:
        _print_kernel(value["path"], kernel)


def _print_kernel(path: str, kernel: dict[str, Any]) -> None:
    why = f": {kernel['why']}" if kernel["why"] else ""
    known = f" (launches: {kernel['origin']}{why})" if kernel["origin"] else ""
    OUT.print(f"{path}:{kernel['line']}: {kernel['name']}{known}", markup=False)
    for report, estimate in zip(kernel["reports"], kernel["estimates"], strict=True):
        target = f"{report['target']['backend']}:{report['target']['arch']}"
        told = [f"{report[name]} {unit}" for name, unit in _FIGURES if report[name] is not None]
        said = ", ".join(told) or "compiles" if report["ok"] else "does not compile"
        if estimate is not None:
            said += f", {estimate['us']:,.1f} us by estimate, not measured"
        OUT.print(f"  {target}: {said} ({report['toolchain']})", markup=False)
    for issue in kernel["issues"]:
        place = f"{path}:{issue['range']['line']}"
        OUT.print(f"  {place}: {issue['id']}: {issue['message']}", markup=False)
    for note in kernel["notes"]:
        OUT.print(f"  note: {note}", markup=False)


_FIGURES = (
    ("registers", "registers"),
    ("spill_bytes", "B spilled"),
    ("shared_bytes", "B shared"),
)
