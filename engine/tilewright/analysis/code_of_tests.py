"""What a file's tests and demonstrations are, and what a finding weighs there.

They compare and print: their host code is to wait, and to read results back. A kernel in one may
also be the one that is shipped. So nothing is said about the speed of their host code, and what
is said about that of their kernels is advice. So is what depends on the sizes and the grid of a
launch: a test launches a kernel at the sizes of its blocks, or all programs on one tile. And so is
all that is found in the kernels of a file which expects errors of the compiler. Other findings that
results are wrong stay as they are. In a file that is a backup, or for debugging, all is advice at
most.
"""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath

from tilewright.analysis.model import Issue
from tilewright.analysis.nodes import nodes_of
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.model import ADVICE, HINT
from tilewright.source.model import Module
from tilewright.source.node_memo import per_text

DEPENDS_ON_LAUNCH = frozenset(
    {
        "columns_left_out",
        "grid_axis_unused",
        "missing_boundary_check",
        "output_not_fully_written",
        "race_on_store",
        "undefined_other",
        "unstable_softplus",
        "unstable_tanh",
    }
)
"""Wrong results of launches that a test does not make."""
_REFUSALS = ("CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct")
"""Triton's errors, in a test of what the compiler does not take."""
_SPARE = frozenset({"bak", "backup", "debug"})
"""Words in the names of files in which readers found one of seven reports right."""
_FOLDERS = frozenset({"test", "tests", "unittest", "unittests", "unit_tests"})
_PLAIN = frozenset({"int", "float", "bool", "str"})
_DEPTH = 3
"""How many folders above a file may say that it is a test: above those the project may lie."""


def weighed(module: Module, issues: Iterable[Issue]) -> list[Issue]:
    """Issues without those of speed in host code of tests; others may be advice there."""
    if _is_spare_file(module.path):
        issues = [replace(issue, severity=min(issue.severity, ADVICE)) for issue in issues]
    whole = is_test_file(module.path)
    tests = None if whole else _Tests(module)
    is_refused = whole and any(map(module.lookup.says, _REFUSALS))
    found = []
    for issue in issues:
        line = issue.range.line
        is_tested = tests is None or tests.cover(line)
        is_on_purpose = is_refused and module.kernel_at(line) is not None
        if is_tested and (is_on_purpose or issue.id in DEPENDS_ON_LAUNCH):
            found.append(replace(issue, severity=min(issue.severity, HINT)))
        elif not is_tested or not _is_of_speed(issue):
            found.append(issue)
        elif module.kernel_at(line) is not None:
            found.append(replace(issue, severity=min(issue.severity, HINT)))
    return found


def is_test_file(path: str) -> bool:
    """Whether a file holds tests, by its name or by the folders around it."""
    *folders, name = PurePath(path).parts or ("",)
    stem = name.partition(".")[0].lower()
    if stem.startswith("test_") or stem.endswith("_test") or stem == "conftest":
        return True
    return any(folder.lower() in _FOLDERS for folder in folders[-_DEPTH:])


def _is_spare_file(path: str) -> bool:
    """Whether a file is a backup, or for debugging, by its name or that of its folder."""
    names = PurePath(path).with_suffix("").parts[-2:]
    return any(_SPARE & set(re.split(r"[^a-z]+", name.lower())) for name in names)


def _is_of_speed(issue: Issue) -> bool:
    return not taxonomy()[issue.id].is_fault


class _Tests:
    """The lines of a file's tests; only statements that are asked about are read."""

    def __init__(self, module: Module) -> None:
        self._body = module.tree.body
        self._starts = [statement.lineno for statement in self._body]

    def cover(self, line: int) -> bool:
        """Whether a 1-based line is in a test."""
        for place in range(bisect_right(self._starts, line) - 1, -1, -1):
            below = line - self._starts[place]
            if any(first <= below <= last for first, last in _spans_within(self._body[place])):
                return True
            if below:  # Statements above end before this one begins.
                return False
        return False


@per_text
def _spans_within(statement: ast.stmt) -> tuple[tuple[int, int], ...]:
    """The lines of tests in a statement, counted from its first."""
    spans = _spans((statement,))
    return tuple((first - statement.lineno, last - statement.lineno) for first, last in spans)


def _spans(body: Iterable[ast.stmt]) -> Iterator[tuple[int, int]]:
    """First and last line of each: functions, classes, and what runs as a script only."""
    for statement in body:
        if _is_test(statement):
            yield statement.lineno, statement.end_lineno or statement.lineno
        elif isinstance(statement, ast.ClassDef):
            yield from _spans(statement.body)


def _is_test(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef(name=name):
            return name.startswith("test_") or _is_demonstration(statement)
        case ast.AsyncFunctionDef(name=name):
            return name.startswith("test_")
        case ast.Expr(value=ast.Call()) | ast.For() | ast.With():
            # The file is run, or the statement runs at the import, once.
            return True
        case ast.ClassDef(bases=bases, body=body):
            is_case = any("TestCase" in ast.unparse(base) for base in bases)
            return is_case or (statement.name.startswith("Test") and any(map(_is_test, body)))
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
    return False


def _is_demonstration(function: ast.FunctionDef) -> bool:
    """Whether a function makes its own inputs and keeps its results to itself.

    It has no parameters but numbers and names, returns nothing, and changes no name of the file.
    """
    given = function.args
    takes = (*given.posonlyargs, *given.args, *given.kwonlyargs)
    if given.vararg or given.kwarg or function.decorator_list:
        return False
    if not all(isinstance(a.annotation, ast.Name) and a.annotation.id in _PLAIN for a in takes):
        return False
    return not any(
        isinstance(node, ast.Global | ast.Nonlocal | ast.Yield)
        or (isinstance(node, ast.Return) and node.value is not None)
        for node in nodes_of(function)
    )
