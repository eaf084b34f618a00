"""What clients are sent of optimizations: a run's head as it goes on, and each of its candidates.

``tilewright/run`` has a ``RunHead`` whenever it changes, at most four times a second.
``tilewright/runCandidate`` has a ``CandidateMessage``: when a candidate begins to be judged, and
again with its verdict. ``tilewright.runs`` answers with a ``RunView`` for each run that is known,
oldest first; ``tilewright.runText`` with a candidate's text. All keys are those of the fields;
None is null and means that it is not known.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

RUN = "tilewright/run"
RUN_CANDIDATE = "tilewright/runCandidate"


class Verdict(StrEnum):
    """What became of a candidate; ``BROKE_OFF``: nothing can be said of it."""

    ORIGINAL = "original"
    JUDGING = "judging"
    KEPT = "kept"
    REFUSED = "refused"
    BROKE_OFF = "brokeOff"


class RunState(StrEnum):
    """Where a run is. ``OFFERED``: its edit waits for a person; ``INTERRUPTED``: the process that
    worked on it is gone, and it can be resumed."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    OFFERED = "offered"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def is_over(self) -> bool:
        return self in (
            RunState.DONE, RunState.FAILED, RunState.CANCELLED, RunState.INTERRUPTED
        )  # fmt: skip


@dataclass(frozen=True)
class KernelFigures:
    """What compilers say of one kernel of a text, over its configurations.

    Attributes:
        configurations, compiled: how many launches there are, and how many of them compile.
        registers, spill_bytes, shared_bytes: least and most over those that compile; registers and
            spilled bytes of a thread, shared memory of a program.
        estimate_us: least and most time of a launch by the cost model, in microseconds; an
            estimate, never a measurement.
    """

    kernel: str
    configurations: int = 0
    compiled: int = 0
    registers: tuple[int, int] | None = None
    spill_bytes: tuple[int, int] | None = None
    shared_bytes: tuple[int, int] | None = None
    estimate_us: tuple[float, float] | None = None


@dataclass(frozen=True)
class CandidateView:
    """A node of a run's tree.

    Attributes:
        id: the identity of its text; the original's has the verdict ``original`` and no parent.
        parent: ``id`` of the text that it changes.
        number: of its trial, from 1; None for the original, and while it is judged.
        level: rejected, parsed, compiled, correct or faster; None before there is a verdict.
        reason: why it was kept or refused, in a sentence.
        best: it was the best so far as it was kept.
        speedup: measured over its parent: ``value``, ``low``, ``high``, ``original_us``,
            ``candidate_us``, ``device``, ``case``; None where nothing was measured.
        estimate: by a cost model: ``value``, ``words``; None where there is none.
        figures: one entry for each kernel; empty where it was not compiled.
        seconds: that its verdict took.
    """

    id: str
    parent: str | None
    verdict: Verdict
    number: int | None = None
    stage: str | None = None
    proposer: str = ""
    rationale: str = ""
    level: str | None = None
    reason: str = ""
    best: bool = False
    speedup: Mapping[str, Any] | None = None
    estimate: Mapping[str, Any] | None = None
    figures: tuple[KernelFigures, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True)
class RunHead:
    """How far a run is.

    Attributes:
        run: the identity of the run in this window, and of its job.
        record: its identity in the engine's store (``tilewright show RECORD``); None until known.
        position: how many runs go before it; 0 for the one that runs, None for one that is over.
        stage, message: what is being done; ``message`` is for a person.
        judged, budget: candidates that were judged, and that may be.
        best: the product of the measured speed-ups that were kept; None where nothing was timed.
        kept: candidates that were kept so far.
        percent: from 0 to 100.
        elapsed_s: since it began to run, without the wait for its turn.
        left_s: how long it may still take, always an estimate; None where there is no ground.
        cost: what models cost so far, as the engine counts it (``calls``, ``dollars``, ...).
        evidence: how far its result was verified; None where there is none.
        moved: what the document's text has become since: ``same``, ``elsewhere`` (the result still
            fits) or ``kernel`` (it does not).
    """

    run: str
    uri: str
    target: str | None
    state: RunState
    record: str | None = None
    kernel: str | None = None
    device: str | None = None
    position: int | None = None
    stage: str | None = None
    message: str = ""
    judged: int = 0
    budget: int | None = None
    best: float | None = None
    kept: int = 0
    percent: int | None = None
    elapsed_s: float = 0.0
    left_s: float | None = None
    cost: Mapping[str, Any] | None = None
    evidence: str | None = None
    moved: str = "same"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class CandidateMessage:
    """Of ``tilewright/runCandidate``."""

    run: str
    candidate: CandidateView

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class RunView:
    """A run with its tree: the original first, then candidates in the order they were begun."""

    head: RunHead
    candidates: tuple[CandidateView, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
