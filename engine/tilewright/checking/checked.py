"""One file, checked: a Python file or a notebook."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tilewright.analysis.model import AnalysisContext, Issue, IssueLevel
from tilewright.analysis.suppression import Notice, has_directives, notices
from tilewright.checking.configuration import Rules
from tilewright.checking.target import Around, chosen_target
from tilewright.errors import InputError
from tilewright.source import parse_module
from tilewright.source.device_names import device_names
from tilewright.source.languages import may_hold_kernels
from tilewright.source.model import Module
from tilewright.source.notebook import CellMap, in_cells, notebook_module
from tilewright.source.text import Range
from tilewright.targets.model import Target

NOTEBOOK = ".ipynb"
LARGEST = 4_000_000
"""Characters of the largest text that is parsed: some hundred thousand lines."""


@dataclass(frozen=True)
class Remark:
    """Something to know of a kernel that is no finding.

    Attributes:
        id: what kind of remark: "stale_certificate", "no_certificate", "bad_certificate".
        level: "notice", "warning" or "error", as it is shown where findings are.
    """

    id: str
    level: str
    message: str
    range: Range
    kernel: str | None = None


@dataclass(frozen=True)
class Checked:
    """A file with the issues its project wants to hear of, and what is odd in its directives.

    ``remarks`` are information that does not make a check fail.
    ``cells`` tells the cells of a notebook, whose module is all of them one after another.
    """

    module: Module
    issues: tuple[Issue, ...]
    notices: tuple[Notice, ...]
    context: AnalysisContext
    cells: CellMap | None = None
    remarks: tuple[Remark, ...] = ()

    def place(self, line: int) -> tuple[int | None, int]:
        """The cell, counted from 1, and the line in it; no cell in a Python file."""
        place = None if self.cells is None else self.cells.place(line)
        return (None, line) if place is None else (place[0] + 1, place[1])

    def at_least(self, level: IssueLevel) -> "Checked":
        """With the issues of a level and those above it only."""
        told = list(IssueLevel)[: list(IssueLevel).index(level) + 1]
        return replace(self, issues=tuple(i for i in self.issues if i.level in told))

    def with_issues(self, found: Iterable[Issue], rules: Rules) -> "Checked":
        """With what else was found, as far as the project wants to hear of it."""
        more = _with_cell_lines((issue for issue in found if issue.id in rules.issues), self.cells)
        merged = sorted((*self.issues, *more), key=lambda i: (i.range, i.id, i.message))
        return replace(self, issues=tuple(merged))


def check_text(
    text: str, path: str, rules: Rules, context: AnalysisContext, *, once: bool = False
) -> Checked:
    """Analyse a text under the rules of its project; what ``context`` states goes before them.

    ``once`` says that no other version of the file follows in this process.

    Of a text that names no tile language nothing is said, not even that it is no Python, unless
    it holds directives of ours.

    Raises:
        InputError: ``path`` is a notebook's and ``text`` is none, or it is too much to parse.
    """
    from tilewright.analysis import analyze  # brings every detector along

    module, cells = _parsed(text, path)
    context = replace(
        context,
        target=context.target or _target(module, rules),
        triton_version=context.triton_version or rules.triton,
    )
    found = (i for i in analyze(module, context, once=once) if i.id in rules.issues)
    return Checked(module, _with_cell_lines(found, cells), notices(module), context, cells)


def _with_cell_lines(issues: Iterable[Issue], cells: CellMap | None) -> tuple[Issue, ...]:
    """Issues whose messages count lines as a reader of the file does."""
    if cells is None:
        return tuple(issues)
    firsts = [cell.first for cell in cells.cells]
    return tuple(replace(i, message=in_cells(i.message, i.range.line, firsts)) for i in issues)


def _target(module: Module, rules: Rules) -> Target | None:
    """The chip that the file is for, as far as it or its project says."""
    named = ((rules.target, "the project's [tool.tilewright]"),) if rules.target else ()
    return chosen_target(device_names(module), Around(settings=named)).target


def _parsed(text: str, path: str) -> tuple[Module, CellMap | None]:
    if path.endswith(NOTEBOOK):
        return notebook_module(text, path)
    wanted = may_hold_kernels(text) or has_directives(text)
    if wanted and len(text) > LARGEST:
        way_out = "split it, or name it under `exclude` in [tool.tilewright]"
        raise InputError(
            f"has more than {LARGEST:,} characters and is not checked; {way_out}", path
        )
    return parse_module(text if wanted else "", path), None
