"""Launches of kernels that another file defines: their faults, as both files show them.

An editor analyses a file alone; a check reads the files that it imports kernels from as well.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tilewright.analysis.model import Issue
from tilewright.analysis.run import analyze_kernels
from tilewright.checking.checked import Checked
from tilewright.checking.configuration import Rules
from tilewright.errors import InputError
from tilewright.navigation.imported_kernels import WithImported, with_imported_kernels
from tilewright.navigation.imports import Sources
from tilewright.source import parse_module
from tilewright.textfile import utf8_text

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

    def read(path: Path) -> str | None:
        return texts.get(path) or _text(path)

    sources = Sources(read)
    return [_with_launches(sources, file, rules) for file in files]


def _with_launches(sources: Sources, file: Checked, rules: Callable[[Path], Rules]) -> Checked:
    path = Path(file.module.path)
    both = with_imported_kernels(sources, path.resolve()) if file.cells is None else None
    if both is None or both.module.problems:
        return file
    names = {kernel.name for kernel in both.kernels}
    found = analyze_kernels(both.module, file.context, names, _OF_LAUNCHES)
    issues = tuple(_as_of_file(found, both))
    if not issues:
        return file
    # A text that names no tile language was not parsed.
    module = file.module if file.module.text else parse_module(both.text, file.module.path)
    return replace(file, module=module).with_issues(issues, rules(path))


def _as_of_file(issues: Collection[Issue], both: WithImported) -> Iterator[Issue]:
    """The issues in a file's own lines, with the place of each kernel in the message."""
    places = {kernel.name: f"{kernel.path.name}:{kernel.line}" for kernel in both.kernels}
    for issue in issues:
        if issue.range.line <= both.lines and issue.kernel in places:
            place = f"{issue.kernel} is defined in {places[issue.kernel]}."
            yield replace(issue, message=f"{issue.message} {place}", related=())


def _text(path: Path) -> str | None:
    try:
        return utf8_text(path, _LARGEST)
    except InputError:
        return None
