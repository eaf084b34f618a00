"""What a deterministic rewrite is."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.source.model import Module


class Numerics(StrEnum):
    """What a rewrite may do to results: nothing, another order of the same sums, or fewer bits."""

    EXACT = "exact"
    REASSOCIATING = "reassociating"
    PRECISION_REDUCING = "precision_reducing"


@dataclass(frozen=True)
class Refusal:
    """Why a rewrite does not apply here: the precondition that does not hold, in one sentence."""

    reason: str


@dataclass(frozen=True)
class Rewrite:
    """A rewrite of one issue.

    Attributes:
        name: "dot_accumulator"; also the proposer's name.
        issue: the taxonomy id it fixes.
        title: imperative, for a light bulb: "Accumulate inside tl.dot".
        apply: gives the whole new text, or the precondition that does not hold.
        needs_launch: refuses wherever no launch of the issue's kernel was captured.
    """

    name: str
    issue: str
    title: str
    numerics: Numerics
    apply: Callable[[Module, Issue, AnalysisContext], str | Refusal]
    needs_launch: bool = False
