"""A candidate, how far it got, and the evidence."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tilewright.figures import ratio
from tilewright.knowledge.stages import Stage


class Level(StrEnum):
    """How far an edit was verified; each level includes the ones before it."""

    REJECTED = "rejected"
    PARSED = "parsed"
    COMPILED = "compiled"
    CORRECT = "correct"
    FASTER = "faster"

    @property
    def rank(self) -> int:
        return tuple(Level).index(self)

    def reaches(self, other: "Level") -> bool:
        return self.rank >= other.rank


class StepName(StrEnum):
    """The cascade's steps, cheap ones first. ``ESTIMATE`` is of NKI kernels alone."""

    SYNTAX = "syntax"
    STRUCTURE = "structure"
    COMPILE = "compile"
    CORRECTNESS = "correctness"
    ESTIMATE = "estimate"
    SPEED = "speed"


class StepStatus(StrEnum):
    """``ERROR``: the step broke off for a ``Cause`` that is not the candidate's."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    ERROR = "error"


class Cause(StrEnum):
    """Whose fault it is that nothing can be said of a candidate."""

    HARNESS = "harness"
    ORIGINAL = "original"
    MACHINE = "machine"


def text_hash(text: str) -> str:
    """The identity of a source text: first 32 hex digits of SHA-256 over its UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Promise:
    """What a screening lets one expect of a candidate; rough times, no evidence.

    Attributes:
        us: its own median in microseconds.
        present_us: that of the text which it is to beat, screened alike.
    """

    us: float
    present_us: float

    @property
    def gain(self) -> float:
        """Above 1 is faster, as in ``Speedup.value``."""
        return self.present_us / self.us


@dataclass(frozen=True)
class Candidate:
    """A whole new source for the file, who proposed it and why.

    Attributes:
        text: the full file.
        parent: hash of the text it was made from; None for the original.
        proposer: e.g. "rewrite:dot_accumulator", "tuner:launch".
        rationale: one sentence for a person.
        issues: taxonomy ids it means to fix.
        promise: of its screening, to hold the measurement against; None if it was not screened.
        call: key of the model call that it came from; None where no model proposed it.
        unusable: why a model's reply gives no text; ``text`` is then that of the parent.
    """

    text: str
    parent: str | None
    proposer: str
    rationale: str
    stage: Stage | None = None
    issues: tuple[str, ...] = ()
    promise: Promise | None = None
    call: str | None = None
    unusable: str = ""

    @property
    def hash(self) -> str:
        return text_hash(self.text)


@dataclass(frozen=True)
class StepResult:
    """One step of the cascade. ``message``: what failed or why it was skipped; ``data`` is JSON.

    Of an error, ``data`` has its ``cause``, and the ``report`` that goes with the harness's.
    """

    step: StepName
    status: StepStatus
    message: str = ""
    seconds: float = 0.0
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Speedup:
    """A ratio of times with its interval, and what it was measured on. Never a bare float.

    Attributes:
        value: median of original time over candidate time; above 1 is faster.
        low, high: bootstrap interval of that ratio.
        confidence: of the interval, e.g. 0.99.
        noise: half-width of the ratio of the original against itself, measured alike; None if
            it was not measured.
        original_us, candidate_us: medians in microseconds.
        baseline: hash of the source it is measured against.
        device, case: where and on which inputs.
        samples: pairs of timings.
        detectable: the least gain that so many samples as noisy as these would have shown, 0.03 for
            3 %; None if it was not reckoned.
        original_host_us, candidate_host_us: what the host needs to hand over a call; only the
            device's time is judged. None if it was not measured.
    """

    value: float
    low: float
    high: float
    confidence: float
    noise: float | None
    original_us: float
    candidate_us: float
    baseline: str
    device: str
    case: str
    samples: int
    detectable: float | None = None
    original_host_us: float | None = None
    candidate_host_us: float | None = None

    @property
    def words(self) -> str:
        """``1.938x [1.931, 1.944]``."""
        return ratio(self.value, self.low, self.high, 3)

    @property
    def is_faster(self) -> bool:
        """The interval lies above 1 by more than the noise of this device."""
        return self.low > 1.0 + (self.noise or 0.0)

    @property
    def is_slower(self) -> bool:
        return self.high < 1.0 - (self.noise or 0.0)


@dataclass(frozen=True)
class EstimatedGain:
    """Times of two texts by a cost model; nothing of it was measured.

    Attributes:
        value: estimated time of the baseline over that of the candidate; above 1 is faster.
        error: factor within which the model does not tell two texts apart, above 1.
        before_us, after_us: (low, usual, high) in microseconds.
        bottlenecks: the busiest engine of the baseline and of the candidate.
        target: the chip that it is estimated for.
        case: the inputs that the instructions are of.
        baseline: hash of the source that it is compared with.
    """

    value: float
    error: float
    before_us: tuple[float, float, float]
    after_us: tuple[float, float, float]
    bottlenecks: tuple[str, str]
    target: str
    case: str
    baseline: str

    @property
    def is_faster(self) -> bool:
        """Faster by more than the model's error."""
        return self.value > self.error

    @property
    def is_slower(self) -> bool:
        return self.value < 1 / self.error

    @property
    def verdict(self) -> str:
        """Whether the model tells the two apart; never a word of a measurement."""
        if self.is_faster:
            return "estimated faster"
        if self.is_slower:
            return "estimated slower"
        return f"not separated by the cost model, whose error is {self.error:g}x"

    @property
    def words(self) -> str:
        """``1.42x by the cost model for neuron:trn2, 41.2 us [33.8, 70.6] -> 29.0 us [...]``."""
        before, after = (_span(*times) for times in (self.before_us, self.after_us))
        return f"{self.value:.2f}x by the cost model for {self.target}, {before} -> {after}"


def _span(low: float, usual: float, high: float) -> str:
    return f"{usual:,.3g} us [{low:,.3g}, {high:,.3g}]"


@dataclass(frozen=True)
class Evaluation:
    """What the cascade made of one candidate."""

    candidate: str
    baseline: str
    level: Level
    steps: tuple[StepResult, ...]
    speedup: Speedup | None = None
    estimate: EstimatedGain | None = None

    @property
    def failed(self) -> StepResult | None:
        return next((s for s in self.steps if s.status is StepStatus.FAILED), None)

    @property
    def error(self) -> StepResult | None:
        """The step that broke off; then it is neither accepted nor refused."""
        return next((s for s in self.steps if s.status is StepStatus.ERROR), None)

    @property
    def harness_fault(self) -> StepResult | None:
        """The error, where it is the harness's own."""
        error = self.error
        return error if error and error.data.get("cause") == Cause.HARNESS else None

    def step(self, name: StepName) -> StepResult | None:
        return next((s for s in self.steps if s.step is name), None)


@dataclass(frozen=True)
class Certificate:
    """The evidence that goes with an accepted edit: facts of the run that made it.

    Attributes:
        isolation: ``level`` (strong, partial, weak) and ``reasons``; None where not recorded.
        unverified: what it leaves open, in sentences.
    """

    level: Level
    original: str
    candidate: str
    problem: str | None
    target: str | None
    device: str | None
    toolchain: Mapping[str, str]
    steps: tuple[StepResult, ...]
    speedup: Speedup | None
    seeds: tuple[int, ...]
    created: str
    tilewright: str
    isolation: Mapping[str, Any] | None = None
    unverified: tuple[str, ...] = ()
    estimate: EstimatedGain | None = None
