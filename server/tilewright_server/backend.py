"""The engine's functions that the server calls in its own process, behind one replaceable value.

Imported when first used, so that the server starts before the knowledge is read.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.suppression import Notice, notices, visible_issues
from tilewright.rewrites.model import Rewrite
from tilewright.source.model import Module

if TYPE_CHECKING:
    from tilewright.checking.fixes import Fixed
    from tilewright.knowledge.model import IssueType

# What is inferred of a kernel is shared between detectors, rewrites and hovers and is filled in as
# they ask: two threads in it at once would take each other's unfinished work for unknown.
ONE_AT_A_TIME = threading.RLock()

# Of every issue, those that comments suppress with them.
Analyzer = Callable[[Module, AnalysisContext], tuple[Issue, ...]]


class Findings(NamedTuple):
    """What is said of a module: issues, and notices of what was written for Tilewright in it."""

    issues: tuple[Issue, ...] = ()
    notices: tuple[Notice, ...] = ()


def _analyze(module: Module, context: AnalysisContext) -> tuple[Issue, ...]:
    from tilewright.analysis.run import analyze

    return analyze(module, context, suppressed=True)


def _rewrites_for(issue_id: str) -> tuple[Rewrite, ...]:
    from tilewright.rewrites import rewrites_for

    return rewrites_for(issue_id)


def _fix_all(
    module: Module, context: AnalysisContext, silenced: frozenset[str], only: str | None = None
) -> "Fixed":
    """What ``check --fix`` makes of a text, of one issue ``only`` where it is named; a captured
    launch is no ground to fix another text."""
    from tilewright.checking.configuration import Rules
    from tilewright.checking.fixes import fix_text
    from tilewright.knowledge.base import taxonomy

    wanted = frozenset(taxonomy()) if only is None else frozenset({only})
    rules = Rules(wanted - silenced)
    path = str(Path(module.path).with_suffix(".py"))
    with ONE_AT_A_TIME:
        return fix_text(module.text, path, rules, replace(context, launches=()))


def _issue_type(issue_id: str) -> "IssueType | None":
    from tilewright.knowledge.base import taxonomy

    return taxonomy().get(issue_id)


@dataclass(frozen=True)
class Engine:
    """What the server asks of the engine; tests replace single fields."""

    analyze: Analyzer = _analyze
    rewrites_for: Callable[[str], tuple[Rewrite, ...]] = _rewrites_for
    fix_all: Callable[[Module, AnalysisContext, frozenset[str], str | None], "Fixed"] = _fix_all
    issue_type: Callable[[str], "IssueType | None"] = _issue_type

    def findings(
        self, module: Module, context: AnalysisContext, silenced: frozenset[str]
    ) -> Findings:
        """What is shown of a module; of issues those that neither project nor comments silence."""
        if not module.kernels:
            return Findings()
        with ONE_AT_A_TIME:
            found = self.analyze(module, context)
        return Findings(visible_issues(module, found, silenced), notices(module))
