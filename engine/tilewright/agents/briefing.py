"""All that a prompt may say of a run and of the text that it has reached."""

from dataclasses import dataclass, field
from pathlib import PurePath

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.problems.model import Entry
from tilewright.targets.model import Target


@dataclass(frozen=True)
class Briefing:
    """Facts for the prompt builders; the code that runs the search assembles them.

    Attributes:
        path: of the file; a prompt shows its last part alone.
        original: the user's text.
        text: what the search has reached, which the model is to change.
        context: the target, the version of Triton and the captured launches, as detectors get them.
        entry: what the problem calls; None where there is no problem.
        problem: entry point, reference, shapes, types and tolerance, in words.
        issues: what the detectors and the analyzer say of ``text``.
        facts: time, share of the roof, bottleneck, compile table: one sentence or row each, the
            most important first.
        guidance: advice that the run tries out, one sentence each.
        schedule: what the run has done so far and plans, one line each.
        tried: earlier candidates, one line each, the newest first.
        experiences: what earlier runs have shown, one paragraph each, the most relevant first.
        permissions: what the project permits (``problems.permissions``).
        measured: whether candidates are timed.
    """

    path: str
    original: str
    text: str
    context: AnalysisContext = field(default_factory=AnalysisContext)
    entry: Entry | None = None
    problem: str = ""
    issues: tuple[Issue, ...] = ()
    facts: tuple[str, ...] = ()
    guidance: tuple[str, ...] = ()
    schedule: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    experiences: tuple[str, ...] = ()
    permissions: frozenset[str] = frozenset()
    measured: bool = True

    @property
    def target(self) -> Target | None:
        return self.context.target

    @property
    def triton_version(self) -> tuple[int, int] | None:
        return self.context.triton_version

    @property
    def file_name(self) -> str:
        return PurePath(self.path).name
