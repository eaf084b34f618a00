"""What an optimization run is asked, and what it gives back."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.evaluation.model import (
    Candidate,
    Certificate,
    Evaluation,
    StepResult,
    text_hash,
)
from tilewright.knowledge.stages import Stage
from tilewright.models.model import Limits, Reply, Role, Spent
from tilewright.search.node import Node
from tilewright.source.model import Module


@dataclass(frozen=True)
class ProposalRequest:
    """What every proposer is given: this kernel, these issues, this target.

    Attributes:
        others: the issues of the other stages.
        trials: of the run so far. It grows while the proposer is asked: one that is resumed finds
            there what became of the candidate it gave.
        present: gives the evaluation of the module's text against itself.
        attempt: reports that a try of this stage begins, by its number.
    """

    module: Module
    issues: tuple[Issue, ...]
    stage: Stage
    context: AnalysisContext
    trials: Sequence["Trial"] = ()
    present: Callable[[], Evaluation] | None = None
    attempt: Callable[[int], None] = lambda number: None
    others: tuple[Issue, ...] = ()


class Proposer(Protocol):
    """A deterministic rewrite, a tuner or a language model: what would you try?

    ``independent``: its proposals follow from the request alone, whatever became of those before,
    so that several can be tried at once.
    """

    @property
    def name(self) -> str: ...

    @property
    def independent(self) -> bool: ...

    def propose(self, request: ProposalRequest) -> Iterable[Candidate]: ...


@dataclass(frozen=True)
class Trial:
    """One candidate and what became of it.

    Attributes:
        kept: it was the best so far that may be returned.
        reason: why it was kept or not.
        fixes: it is kept as the fix of a fault.
        node: its place in the tree; None where the search keeps a single text.
    """

    number: int
    stage: Stage
    candidate: Candidate
    evaluation: Evaluation
    kept: bool
    reason: str
    fixes: bool = False
    node: Node | None = None


@dataclass(frozen=True)
class CallRecord:
    """One model call of a run, without its texts.

    Attributes:
        key: of the unit on record, which holds the reply.
        attempt: the number of the try in its stage; None outside the loop of tries.
        reply: None where there was none; ``error`` says why.
    """

    key: str
    role: Role
    model: str
    stage: Stage | None
    attempt: int | None
    sample: int
    reply: Reply | None
    error: str = ""


@dataclass(frozen=True)
class ModelUse:
    """What a run asked of language models.

    Attributes:
        suspected: issues that a model reported; no detector confirms them.
        ended: the limit that ended the calls; None if none did.
        notes: how the calls were made, where that is not as asked.
    """

    limits: Limits
    spent: Spent
    calls: tuple[CallRecord, ...]
    suspected: tuple[Issue, ...] = ()
    ended: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SearchUse:
    """How a run searched.

    Attributes:
        spec: the specification as JSON.
        ended: why each step ended, in words.
        population: the members at the end, as JSON.
    """

    spec: Mapping[str, Any]
    ended: tuple[str, ...] = ()
    population: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class OptimizeResult:
    """The end of a run. ``certificate`` is None where nothing beat the original.

    ``run``: its id in the store. ``harness_faults``: steps that broke off through faults of our
    own; the run is not to be called done then. ``models``: None where no model was to be asked.
    ``search``: None where the run went through stages alone.
    """

    path: str
    original: str
    final: str
    target: str | None
    device: str | None
    issues: tuple[Issue, ...]
    remaining: tuple[Issue, ...]
    plan: tuple[Stage, ...]
    trials: tuple[Trial, ...]
    certificate: Certificate | None
    notes: tuple[str, ...]
    seconds: float
    harness_faults: tuple[StepResult, ...] = ()
    models: ModelUse | None = None
    run: str = ""
    search: SearchUse | None = None

    @property
    def changed(self) -> bool:
        return self.final != self.original

    @property
    def edits(self) -> tuple[Trial, ...]:
        """The trials that lead from the original to the final text."""
        by_hash = {trial.candidate.hash: trial for trial in self.trials if trial.node is not None}
        found: list[Trial] = []
        trial = by_hash.get(text_hash(self.final))
        while trial is not None and trial.node is not None and trial not in found:
            found.insert(0, trial)
            trial = by_hash.get(trial.node.parent or "")
        staged = [trial for trial in self.trials if trial.kept and trial.node is None]
        return (*staged, *found)

    @property
    def diff(self) -> str:
        """Unified diff from original to final; empty when nothing changed."""
        return "".join(
            difflib.unified_diff(
                self.original.splitlines(keepends=True),
                self.final.splitlines(keepends=True),
                f"a/{self.path}",
                f"b/{self.path}",
            )
        )
