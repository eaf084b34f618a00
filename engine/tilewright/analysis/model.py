"""What the instant tier says of a module."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.knowledge.model import ADVICE, POSSIBLE, WRONG_RESULT
from tilewright.knowledge.stages import Stage
from tilewright.source.text import Range
from tilewright.targets.model import ArgumentFacts, LaunchFacts, Target


@dataclass(frozen=True)
class Related:
    """Another place that belongs to an issue, such as the launch that fixes a stride."""

    message: str
    range: Range


@dataclass(frozen=True)
class Finding:
    """What a detector saw. ``message`` is one sentence: what is so here, and why it costs.

    ``severity`` is stated where less is certain than the issue's own severity says.
    """

    range: Range
    message: str
    kernel: str | None = None
    related: tuple[Related, ...] = ()
    severity: int | None = None


class IssueLevel(StrEnum):
    """How a severity is told: a certain fault, what may be one or costs much, what may help."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"
    HINT = "hint"


@dataclass(frozen=True)
class Issue:
    """A finding with its place in the taxonomy. ``severity`` is 1 (hint) to 5 (wrong result).

    ``data`` is what compilers and models that report an issue say in addition.
    """

    id: str
    stage: Stage
    severity: int
    message: str
    kernel: str | None
    range: Range
    related: tuple[Related, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)

    @property
    def level(self) -> IssueLevel:
        """What computes or launches wrongly is an error; the cost of the rest decides its level."""
        is_fault = self.stage is Stage.CORRECTNESS or self.severity == WRONG_RESULT
        if is_fault and self.severity > POSSIBLE:
            return IssueLevel.ERROR
        if self.severity >= POSSIBLE:
            return IssueLevel.WARNING
        return IssueLevel.ADVICE if self.severity == ADVICE else IssueLevel.HINT


@dataclass(frozen=True)
class EntryFacts:
    """What the problem's spec says of the host function (or module class) it calls.

    ``arguments`` are the call's tensors and numbers, in order, with shapes and types; for a
    class, those of its ``forward``. A name is "" where the spec gives none.
    """

    function: str
    arguments: tuple[ArgumentFacts, ...]


@dataclass(frozen=True)
class AnalysisContext:
    """Facts in addition to the text. Without them a detector reports nothing, or hedges.

    Attributes:
        target: the chip the person chose.
        triton_version: (major, minor) of the user's Triton, from its metadata.
        launches: launches captured at the problem's shapes (shapes, strides, dtypes, scalars).
        entry: the host function that the problem calls, with what it is given.
    """

    target: Target | None = None
    triton_version: tuple[int, int] | None = None
    launches: tuple[LaunchFacts, ...] = ()
    entry: EntryFacts | None = None
