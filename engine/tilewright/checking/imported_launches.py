"""Launches of kernels that another file defines: their faults, as both files show them.

The analysis of a file asks no other one. A check reads the files that kernels are imported from as
well, and so does the editor when a file is opened or saved, and when the typing pauses.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.run import analyze_kernels
from tilewright.checking.checked import Checked
from tilewright.checking.configuration import Rules
from tilewright.navigation.imported_kernels import WithImported, with_imported_kernels
from tilewright.navigation.imports import Sources
from tilewright.source import parse_module
from tilewright.textfile import utf8_text_or_none

_OF_LAUNCHES = ("launch_arguments", "duplicate_launch_option", "grid_ignores_tuned_block")
_LARGEST = 4 * 1024 * 1024


def with_imported_launches(
    files: Sequence[Checked], rules: Callable[[Path], Rules]
) -> list[Checked]:
    """Files with what is wrong in their launches of kernels that they import.

    Args:
        rules: those of a file's project.
    """
    texts = {Path(file.module.path).resolve(): file.module.text for file in files}
    sources = Sources(lambda path: texts.get(path) or utf8_text_or_none(path, _LARGEST))
    return [_with_launches(sources, file, rules) for file in files]


def _with_launches(sources: Sources, file: Checked, rules: Callable[[Path], Rules]) -> Checked:
    path = Path(file.module.path)
    issues = imported_launches(sources, path.resolve(), file.context) if file.cells is None else ()
    if not issues:
        return file
    # A text that names no tile language was not parsed.
    text = file.module.text or sources.text(path.resolve()) or ""
    module = file.module if file.module.text else parse_module(text, str(path))
    return replace(file, module=module).with_issues(issues, rules(path))


def imported_launches(sources: Sources, path: Path, context: AnalysisContext) -> tuple[Issue, ...]:
    """What is wrong in the launches of a file of kernels that it imports, by position."""
    both = with_imported_kernels(sources, path)
    if both is None or both.module.problems:
        return ()
    names = {kernel.name for kernel in both.kernels}
    return tuple(_as_of_file(analyze_kernels(both.module, context, names, _OF_LAUNCHES), both))


def _as_of_file(issues: Collection[Issue], both: WithImported) -> Iterator[Issue]:
    """The issues in a file's own lines, with the place of each kernel in the message."""
    places = {kernel.name: f"{kernel.path.name}:{kernel.line}" for kernel in both.kernels}
    for issue in issues:
        if issue.range.line <= both.lines and issue.kernel in places:
            place = f"{issue.kernel} is defined in {places[issue.kernel]}."
            yield replace(issue, message=f"{issue.message} {place}", related=())
