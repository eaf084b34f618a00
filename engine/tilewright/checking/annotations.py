"""Checked files as workflow commands, which GitHub shows next to the changed lines."""

from collections.abc import Iterator, Mapping

from tilewright.analysis.model import IssueLevel
from tilewright.checking.checked import Checked
from tilewright.errors import InputError
from tilewright.knowledge.base import taxonomy
from tilewright.source.text import Range
from tilewright.textfile import one_line

# https://docs.github.com/actions, "Workflow commands": data and properties escape differently.
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}
COMMANDS = {
    IssueLevel.ERROR: "error",
    IssueLevel.WARNING: "warning",
    IssueLevel.ADVICE: "notice",
    IssueLevel.HINT: "notice",
}


def annotations(checked: Checked) -> Iterator[str]:
    """One ``::error`` or ``::warning`` or ``::notice`` line for each thing found."""
    for problem in checked.module.problems:
        yield _command("warning", checked, problem.range, "not Python", problem.message)
    for notice in checked.notices:
        yield _command("warning", checked, notice.range, "tilewright", notice.message)
    for issue in checked.issues:
        title = f"{issue.id}: {taxonomy()[issue.id].title}"
        yield _command(COMMANDS[issue.level], checked, issue.range, title, issue.message)
    for remark in checked.remarks:
        title = remark.id.replace("_", " ")
        yield _command(remark.level, checked, remark.range, title, remark.message)


def fault_annotation(fault: InputError) -> str:
    """The line for a file that could not be read or used."""
    fields = {"file": fault.path or "", "line": str(fault.line or 1), "title": "not checked"}
    return _line("error", fields, fault.message)


def _command(level: str, checked: Checked, where: Range, title: str, message: str) -> str:
    cell, line = checked.place(where.line)
    fields = {"file": checked.module.path}
    if cell is not None:
        # The lines of a notebook's JSON say nothing to a person.
        message = f"cell {cell}, line {line}: {message}"
    elif where.end_line != where.line:
        # Columns of a stretch over several lines are refused.
        fields |= {"line": str(where.line), "endLine": str(where.end_line)}
    else:
        columns = {"col": str(where.column + 1), "endColumn": str(where.end_column + 1)}
        fields |= {"line": str(where.line), "endLine": str(where.end_line), **columns}
    fields["title"] = title
    return _line(level, fields, message)


def _line(level: str, fields: Mapping[str, str], message: str) -> str:
    given = ",".join(f"{k}={_escaped(v, _PROPERTY)}" for k, v in fields.items())
    return one_line(f"::{level} {given}::{_escaped(message, _DATA)}")


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(c, c) for c in text)
