"""Issues from compile reports of a file's kernels, for ``compile`` and ``check --compiled``."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.captures.folder import Captures
from tilewright.checking import Checked, configuration_for
from tilewright.checking.checked import NOTEBOOK
from tilewright.checking.configuration import Rules
from tilewright.checking.present import as_json, as_lines
from tilewright.cli.compile_options import launches_of
from tilewright.cli.inputs import target_of
from tilewright.cli.output import ERR, OUT, working
from tilewright.compiled.claims import reports_of, settled
from tilewright.compiled.issues import compiled_issues
from tilewright.compiled.model import REFUSED
from tilewright.errors import InputError, TilewrightError
from tilewright.inspection.variants import Launches, by_reason
from tilewright.source import parse_module
from tilewright.source.model import Language, Module
from tilewright.targets.compilation import compile_many
from tilewright.targets.model import CompileReport, Target
from tilewright.targets.toolchains import NoToolchainError


def judged(path: Path, launches: Launches, reports: Sequence[CompileReport]) -> Checked:
    """The issues that reports of a file show and that its project wants to hear of."""
    module = parse_module(launches.text, str(path))
    wanted = configuration_for(path).rules_for(path).issues
    found = tuple(i for i in _issues(module, launches, reports) if i.id in wanted)
    return Checked(module, found, (), AnalysisContext())


def issues_as_json(checked: Checked) -> list[object]:
    """Issues as ``check --format json`` has them."""
    found: list[object] = as_json(checked)["issues"]
    return found


def print_issues(checked: Checked) -> None:
    """A line an issue; what a compiler refuses, its messages have said."""
    rest = tuple(issue for issue in checked.issues if issue.id != REFUSED)
    for line in as_lines(replace(checked, issues=rest)):
        OUT.print(line)


def targets_of(written: str) -> tuple[Target, ...]:
    """``cuda:90,hip:gfx942``.

    Raises:
        InputError: an unknown target, or none.
    """
    names = [name.strip() for name in written.split(",") if name.strip()]
    found = tuple(target for target in map(target_of, names) if target is not None)
    if not found:
        raise InputError("which chips? write --compiled cuda:90,hip:gfx942")
    return found


def with_compiled(
    checked: Checked,
    path: Path,
    rules: Rules,
    targets: Sequence[Target],
    captured: tuple[Captures, Path] | None,
    far: str = "",
) -> Checked:
    """A checked file with what compiling it shows; what cannot be compiled is said and left out.

    ``far`` is how far the whole check is, for who watches a terminal.
    """
    module = checked.module
    if not has_triton_kernels(checked, path, "compiled"):
        return checked
    try:
        with working(f"compiling {path}{far}"), _opened(module, path, captured) as launches:
            reports = _reports(path, launches, targets)
            found = _issues(module, launches, reports)
    except TilewrightError as error:
        ERR.print(f"{path}: not compiled: {_without_place(error, path)}")
        return checked
    alike = reports_of(checked.context.triton_version, reports)
    told, more = settled(module, checked.issues, found, alike, launches.inferred)
    return replace(checked, issues=tuple(told)).with_issues(more, rules)


def has_triton_kernels(checked: Checked, path: Path, done: str) -> bool:
    """Whether a file is a Python file with kernels of Triton; of a notebook with some, say so."""
    is_triton = any(kernel.language is Language.TRITON for kernel in checked.module.kernels)
    if is_triton and path.suffix == NOTEBOOK:
        ERR.print(f"{path}: not {done}: a notebook's kernels are only checked")
        return False
    return is_triton


def _issues(
    module: Module, launches: Launches, reports: Sequence[CompileReport]
) -> tuple[Issue, ...]:
    return compiled_issues(module, reports, launches.compilers.try_report, launches.inferred)


def _opened(
    module: Module, path: Path, captured: tuple[Captures, Path] | None
) -> AbstractContextManager[Launches]:
    """Captured launches where there are any of the file as it is; else its problem's, or none."""
    if captured is not None and captured[0].launches_of(module, path).launches():
        return launches_of(path, captured=captured[1])
    return launches_of(path)


def _reports(path: Path, launches: Launches, targets: Sequence[Target]) -> list[CompileReport]:
    bench = launches.compilers.bench
    placed = str(bench.place(launches.text))
    wanted = [(placed, launch, target) for target in targets for launch in launches.launches]
    found = compile_many(bench.device, wanted)
    pairs = zip(wanted, found, strict=True)
    refused = [(x[1].kernel, str(e)) for x, e in pairs if isinstance(e, NoToolchainError)]
    every = {launch.kernel for launch in launches.launches}
    for kernels, why in by_reason([*launches.left_out, *refused]):
        which = "" if set(kernels) == every else f"{', '.join(kernels)}: "
        ERR.print(f"{path}: {which}{why}")
    return [each for each in found if isinstance(each, CompileReport)]


def _without_place(error: TilewrightError, path: Path) -> str:
    return str(error).removeprefix(f"{path}: ")
