"""What compilers made of kernels, found again only under the very source that was compiled."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import time as now
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tilewright.analysis.model import Issue
from tilewright.serialize import load
from tilewright.source.model import Module
from tilewright.source.text import Range
from tilewright.targets.model import CompileReport, LineReport

if TYPE_CHECKING:
    from tilewright.costs import Estimate

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Function:
    """A jit function as it stood when it was compiled: its text's hash and its lines."""

    name: str
    content_hash: str
    first: int
    last: int


@dataclass(frozen=True)
class CompiledFacts:
    """One kernel, for every target it was compiled for.

    Lines are those of the text that was compiled; ``functions`` say where each stood in it.

    Attributes:
        targets: that it was compiled for; one without a report has a note that says why.
        origin: where the launches come from: "spec", "captured", "inferred"; None if there is none.
        why: why there are no better launches; empty where that needs no reason.
        estimates: of each report's time, None where there is none; nothing of it is measured.
    """

    kernel: str
    targets: tuple[str, ...]
    origin: str | None
    reports: tuple[CompileReport, ...]
    issues: tuple[Issue, ...]
    notes: tuple[str, ...]
    functions: tuple[Function, ...]
    estimates: "tuple[Estimate | None, ...]" = ()
    why: str = ""
    taken: float = field(default_factory=now)

    def of_target(self, target: str) -> tuple[CompileReport, ...]:
        """The reports for one target, a launch each."""
        return tuple(report for report in self.reports if str(report.target) == target)

    def estimate_of(self, report: CompileReport) -> "Estimate | None":
        """What a report's launch is estimated to take."""
        pairs = zip(self.reports, self.estimates, strict=False)
        return next((found for one, found in pairs if one is report), None)

    def issues_in(self, module: Module) -> Iterator[Issue]:
        """The issues where the text stands now; none of a function that has changed since."""
        for issue in self.issues:
            lines = self._moved(module, issue.range)
            if lines is not None:
                yield replace(issue, range=lines, related=())

    def lines_at(self, module: Module, line: int) -> tuple[tuple[CompileReport, LineReport], ...]:
        """What was reported of a line of the text as it is now."""
        then = self._line_then(module, line)
        return tuple(
            (report, one) for report in self.reports for one in report.lines if one.line == then
        )

    def line_now(self, module: Module, line: int) -> int | None:
        """Where a line of the compiled text stands now; None if its function is not the same."""
        for function, first in self._functions_now(module):
            if function.first <= line <= function.last:
                return line - function.first + first
        return None

    def _line_then(self, module: Module, line: int) -> int | None:
        for function, first in self._functions_now(module):
            if first <= line <= first + function.last - function.first:
                return line - first + function.first
        return None

    def _moved(self, module: Module, place: Range) -> Range | None:
        line = self.line_now(module, place.line)
        if line is None:
            return None
        return replace(place, line=line, end_line=place.end_line + line - place.line)

    def _functions_now(self, module: Module) -> Iterator[tuple[Function, int]]:
        """Each function that is still the same, and its first line now."""
        for function in self.functions:
            kernel = module.kernel(function.name)
            if kernel is not None and kernel.content_hash == function.content_hash:
                yield function, kernel.range.line


def functions_of(module: Module) -> tuple[Function, ...]:
    """Where the jit functions of a module stand."""
    return tuple(
        Function(k.name, k.content_hash, k.range.line, k.range.end_line) for k in module.kernels
    )


def read_compiled(data: Mapping[str, Any], functions: tuple[Function, ...]) -> CompiledFacts | None:
    """One kernel of what ``inspect`` tells; None, with a word in the log, if it cannot be read."""
    from tilewright.costs import Estimate

    try:
        return CompiledFacts(
            kernel=str(data["name"]),
            targets=tuple(f"{t['backend']}:{t['arch']}" for t in data["targets"]),
            origin=data.get("origin"),
            reports=tuple(load(CompileReport, report) for report in data["reports"]),
            issues=tuple(load(Issue, issue) for issue in data["issues"]),
            notes=tuple(str(note) for note in data["notes"]),
            functions=functions,
            why=str(data.get("why") or ""),
            estimates=tuple(
                None if one is None else load(Estimate, one) for one in data.get("estimates", ())
            ),
        )
    except (KeyError, TypeError, ValidationError) as error:
        logger.warning("the engine's compile report cannot be read: %s", error)
        return None
