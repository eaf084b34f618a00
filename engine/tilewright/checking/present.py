"""Checked files as JSON and as lines of text."""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.analysis.model import Issue, IssueLevel
from tilewright.checking.checked import Checked
from tilewright.errors import InputError
from tilewright.knowledge.base import taxonomy
from tilewright.source.model import Kernel, Language, Module
from tilewright.source.text import Range
from tilewright.textfile import one_line

if TYPE_CHECKING:
    from tilewright.checking.fixes import Fix


def as_json(checked: Checked) -> dict[str, Any]:
    """A file's kernels, issues and what was odd; lines are 1-based, columns 0-based.

    In a notebook lines count within a cell, and ``cell`` counts cells from 1.
    """
    module = checked.module
    return {
        "path": module.path,
        "kernels": [kernel.name for kernel in module.kernels],
        "entries": [
            {"kernel": kernel.name, "line": kernel.name_range.line} for kernel in _entries(module)
        ],
        "issues": [_issue(checked, issue) for issue in checked.issues],
        "problems": [{**_place(checked, p.range), "message": p.message} for p in module.problems],
        "remarks": [
            {"id": r.id, "kernel": r.kernel, **_place(checked, r.range), "message": r.message}
            for r in checked.remarks
        ],
        "notices": [{**_place(checked, n.range), "message": n.message} for n in checked.notices],
    }


def _entries(module: Module) -> Iterator[Kernel]:
    """Kernels that host code calls; of an NKI file, whose host code may be elsewhere, all."""
    launched = {kernel.name for kernel in module.entry_kernels()}
    for kernel in module.kernels:
        if kernel.name in launched or kernel.language is Language.NKI:
            yield kernel


def fault_as_json(fault: InputError) -> dict[str, Any]:
    """What is wrong with a file that could not be read or used; no line where it is not known."""
    return {"path": fault.path, "line": fault.line, "message": fault.message}


def _issue(checked: Checked, issue: Issue) -> dict[str, Any]:
    kind = taxonomy()[issue.id]
    related = [{**_place(checked, r.range), "message": r.message} for r in issue.related]
    return {
        "id": issue.id,
        "stage": issue.stage.value,
        "severity": issue.severity,
        "level": issue.level.value,
        "message": issue.message,
        "kernel": issue.kernel,
        **_place(checked, issue.range),
        "end_line": checked.place(issue.range.end_line)[1],
        "end_column": issue.range.end_column,
        "gain": kind.gain,
        "gain_source": kind.gain_source,
        "unless": kind.unless,
        "related": related,
    }


def _place(checked: Checked, where: Range) -> dict[str, int]:
    cell, line = checked.place(where.line)
    place = {"line": line, "column": where.column}
    return place if cell is None else {"cell": cell, **place}


def as_lines(checked: Checked) -> Iterator[str]:
    """``path:line:column: ...`` with 1-based lines and columns, as editors and grep read it."""
    return map(one_line, _as_lines(checked))


def _as_lines(checked: Checked) -> Iterator[str]:
    for problem in checked.module.problems:
        place = _location_text(checked, problem.range)
        yield f"{place}: not Python, the rest was checked: {problem.message}"
    for notice in checked.notices:
        yield f"{_location_text(checked, notice.range)}: {notice.message}"
    for issue in checked.issues:
        place, what = _location_text(checked, issue.range), f"{issue.id} [{issue.stage}]"
        yield f"{place}: {issue.level}: {what}: {issue.message}"
    for remark in checked.remarks:
        yield f"{_location_text(checked, remark.range)}: note: {remark.message}"


def _location_text(checked: Checked, where: Range) -> str:
    cell, line = checked.place(where.line)
    inside = "" if cell is None else f"cell {cell}:"
    return f"{checked.module.path}:{inside}{line}:{where.column + 1}"


def summary(files: Sequence[Checked], faults: int = 0) -> str:
    """The last line: how much was found in how much, and how much could not be read or used."""
    levels = Counter(issue.level for c in files for issue in c.issues)
    kernels = sum(len(c.module.kernels) for c in files)
    issues = _many(levels.total(), "issue")
    if levels:
        issues += f" ({', '.join(_of_level(levels[x], x) for x in IssueLevel if levels[x])})"
    found = f"{issues} in {_many(kernels, 'kernel')} in {_many(len(files), 'file')}"
    return f"{found}; {_many(faults, 'file')} could not be read or used" if faults else found


def _of_level(count: int, level: IssueLevel) -> str:
    return f"{count} {level}" if level is IssueLevel.ADVICE else _many(count, level)


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def fix_line(path: str, fix: "Fix") -> str:
    """What was done, and how far it was verified."""
    where = fix.issue.range
    place = f"{path}:{where.line}:{where.column + 1}"
    return f"{place}: {fix.issue.id}: {fix.rewrite.title} (exact by its rule; parsed, not run)"


def diff_of(path: str, before: str, after: str) -> str:
    """A unified diff; empty where nothing changed."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(_ended(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")))


def _ended(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
