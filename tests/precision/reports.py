"""What the instant tier reports on the corpora, each report known by where it stands."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corpora import CORPORA, corpus, covers, files

from tilewright.analysis import AnalysisContext, analyze
from tilewright.analysis.model import Issue
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.stages import Stage
from tilewright.source import Module, parse_module
from tilewright.targets.model import Target

# What `tilewright check --target cuda:90 --triton 3.9` takes for known.
CONTEXT = AnalysisContext(Target("cuda", "90"), (3, 9))
# What could be faster hangs on the chip: these add their reports to the sample.
OTHERS = tuple(
    AnalysisContext(target, CONTEXT.triton_version)
    for target in (Target("xpu", "bmg-g31"), Target("hip", "gfx942"), None)
)
SAMPLED = 200
AT_LEAST_OF_EACH = 5


@dataclass(frozen=True, order=True)
class Report:
    """One report, without its line number: a file may grow above it.

    ``line`` is the text the report starts at, and ``nth`` counts equal lines of one kernel.
    """

    corpus: str
    file: str
    kernel: str
    issue: str
    line: str
    nth: int = 1

    def place(self) -> str:
        """Where it is, as a person would look it up."""
        return f"{self.corpus}/{self.file}::{self.kernel or '-'}"

    def key(self) -> str:
        """A number that stays the same from run to run; the sample is drawn by it."""
        text = "\n".join(
            (self.corpus, self.file, self.kernel, self.issue, self.line, str(self.nth))
        )
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Found:
    """A report with what was said, to judge it by."""

    report: Report
    stage: Stage
    severity: int
    message: str
    number: int

    def is_about_correctness(self) -> bool:
        """Whether it says that the kernel is wrong; all others say that it could be faster."""
        return taxonomy()[self.report.issue].is_fault


@cache
def found_in_corpora() -> tuple[Found, ...]:
    """Every report on every corpus, in order."""
    return tuple(
        found
        for package in CORPORA
        for path in files(package)
        for found in found_in(package, str(path.relative_to(corpus(package))), path)
    )


def found_in(package: str, file: str, path: Path) -> Iterator[Found]:
    """The reports on one file for the first target, and what others add about performance."""
    module = parse_module(path.read_text(), file)
    # These are published packages: what does not parse would be our fault.
    assert not module.problems, path
    known: set[Report] = set()
    for context in (CONTEXT, *OTHERS):
        for found in found_for(context, package, file, module):
            is_new = found.report not in known
            known.add(found.report)
            if is_new and (context is CONTEXT or not found.is_about_correctness()):
                yield found


def found_for(context: AnalysisContext, package: str, file: str, module: Module) -> Iterator[Found]:
    """The reports on one file for one target."""
    lines = module.text.splitlines()
    seen: Counter[Report] = Counter()
    for issue in sorted(analyze(module, context), key=_position):
        assert covers(module, issue), issue
        text = lines[issue.range.line - 1].strip() if issue.range.line <= len(lines) else ""
        first = Report(package, file, issue.kernel or "", issue.id, text)
        seen[first] += 1
        report = Report(package, file, issue.kernel or "", issue.id, text, seen[first])
        yield Found(report, issue.stage, issue.severity, issue.message, issue.range.line)


def about_correctness(found: Iterable[Found]) -> list[Found]:
    """Those that say that a kernel is wrong: each one is reviewed."""
    return [f for f in found if f.is_about_correctness()]


def sampled(found: Iterable[Found]) -> list[Found]:
    """Those about performance that are reviewed: some of each issue, the others by their keys."""
    drawn = sorted((f for f in found if not f.is_about_correctness()), key=lambda f: f.report.key())
    of_each: Counter[str] = Counter()
    first, rest = [], []
    for candidate in drawn:
        of_each[candidate.report.issue] += 1
        few = of_each[candidate.report.issue] <= AT_LEAST_OF_EACH
        (first if few else rest).append(candidate)
    return sorted((first + rest)[:SAMPLED], key=lambda f: (f.report.issue, f.report))


def _position(issue: Issue) -> tuple[int, int]:
    return issue.range.line, issue.range.column
