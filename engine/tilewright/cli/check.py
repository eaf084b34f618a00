"""``tilewright check``: issues found from source, nothing run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.cli.inputs import python_files, read_source, target_of
from tilewright.cli.output import OUT, Exit, Format, emit_json
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.strategies.present import dump_issue


def check(
    paths: Annotated[list[Path], typer.Argument(help="Python files, or folders of them.")],
    target: Annotated[str | None, typer.Option(help="Chip, e.g. cuda:90.")] = None,
    form: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.TEXT,
) -> None:
    """Find issues in kernels from their source. Exits with 1 if there are any."""
    context = AnalysisContext(target=target_of(target))
    checked: list[tuple[Module, tuple[Issue, ...]]] = []
    for path in python_files(paths):
        module = parse_module(read_source(path), str(path))
        checked.append((module, analyze(module, context)))
    if form is Format.JSON:
        emit_json({"files": [_as_json(module, issues) for module, issues in checked]})
    else:
        _print(checked)
    found = any(issues or module.problems for module, issues in checked)
    raise typer.Exit(Exit.FINDINGS if found else Exit.DONE)


def _as_json(module: Module, issues: tuple[Issue, ...]) -> dict[str, Any]:
    return {
        "path": module.path,
        "kernels": [kernel.name for kernel in module.kernels],
        "issues": [dump_issue(issue) for issue in issues],
        "problems": [
            {"line": p.range.line, "column": p.range.column, "message": p.message}
            for p in module.problems
        ],
    }


def _print(checked: list[tuple[Module, tuple[Issue, ...]]]) -> None:
    total = kernels = 0
    for module, issues in checked:
        kernels += len(module.kernels)
        total += len(issues)
        for problem in module.problems:
            place = f"{module.path}:{problem.range.line}:{problem.range.column}"
            OUT.print(f"{place}: not Python, the rest was checked: {problem.message}", markup=False)
        for issue in issues:
            place = f"{module.path}:{issue.range.line}:{issue.range.column}"
            OUT.print(f"{place}: {issue.id} [{issue.stage}]: {issue.message}", markup=False)
    OUT.print(f"{total} issues in {kernels} kernels in {len(checked)} files", markup=False)
