"""What a certificate file says. It may be read back from JSON that lacks optional fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tilewright.figures import ratio

VERSION: Literal[1] = 1

PartKind = Literal["kernel", "function", "class", "value", "statement"]
ProblemKind = Literal["spec", "module", "captured"]


@dataclass(frozen=True)
class Part:
    """One top-level statement of the file that the certificate is of.

    Attributes:
        name: what it defines; of a statement that defines nothing, its first words.
        hash: of its text and of the imports it uses.
        lines: four hex digits for each of its lines, to tell later which of them changed.
    """

    name: str
    kind: PartKind
    hash: str
    lines: str = ""


@dataclass(frozen=True)
class Subject:
    """The verified text.

    Attributes:
        file: its path, relative to the certificate's folder.
        hash: of the whole text; other parts of the file may change without harm.
        roots: names that are called from outside: the entry point, and what the problem uses.
        kernels: those that the roots reach, which is what was verified.
        parts: all that the roots reach in the file, in its order.
    """

    file: str
    hash: str
    roots: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Original:
    """What it was compared with.

    Attributes:
        hash: of the whole text.
        packed: the text, zlib in base 85; None where it is too long for a small file.
        git_blob: object name the text has in a git repository.
    """

    hash: str
    packed: str | None = None
    git_blob: str | None = None


@dataclass(frozen=True)
class ProblemFacts:
    """What it was run on. ``path`` is relative to the certificate's folder."""

    path: str
    kind: ProblemKind
    hash: str
    reference: str | None = None


@dataclass(frozen=True)
class DeviceFacts:
    """Where it ran: its id on its host, the chip's name, its target (none for the interpreter)."""

    id: str
    name: str
    target: str | None = None
    can_time: bool = False


@dataclass(frozen=True)
class Isolation:
    """How far the candidate was kept from everything else: strong, partial, weak, and why."""

    level: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """One step of the cascade and how it ended."""

    step: str
    status: Literal["passed", "failed", "skipped"]
    message: str = ""


@dataclass(frozen=True)
class CompiledFigures:
    """A kernel's least and most over its configurations that compile; None: unknown."""

    kernel: str
    configurations: int
    compiled: int
    registers: tuple[int, int] | None = None
    spill_bytes: tuple[int, int] | None = None
    shared_bytes: tuple[int, int] | None = None


@dataclass(frozen=True)
class CheckFigures:
    """The comparisons on one case.

    Attributes:
        count: how many.
        seeds: seeds of the inputs, counted from the certificate's first.
        oracle: what the results were compared with.
        families: kinds of values, layouts and orders that were tried in addition to the plain ones;
            and extents that are not the spec's.
        max_abs_error, max_rel_error: the largest of all of them; None if none was finite.
        error_ratio: the largest error over the original's own; None where not reckoned.
    """

    case: str
    count: int
    seeds: tuple[int, ...] = ()
    oracle: str | None = None
    families: tuple[str, ...] = ()
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    error_ratio: float | None = None
    rtol: float | None = None
    atol: float | None = None


@dataclass(frozen=True)
class SpeedFigures:
    """The ratio of the original's time to the candidate's on one case; times in microseconds.

    ``noise`` is what two identical kernels differ by there; ``detectable`` the least gain that
    would have been found in 80 of 100 cases; ``…_host_us`` what the host needs to hand over a call,
    which is not judged. None where that was not measured.
    """

    case: str
    value: float
    low: float
    high: float
    confidence: float
    original_us: float
    candidate_us: float
    samples: int
    noise: float | None = None
    detectable: float | None = None
    original_host_us: float | None = None
    candidate_host_us: float | None = None

    @property
    def words(self) -> str:
        """``1.94x [1.93, 1.94]``."""
        return ratio(self.value, self.low, self.high)


@dataclass(frozen=True)
class EstimateFigures:
    """What a cost model says of the original and of the text; nothing of it was measured.

    Attributes:
        case: whose sizes the estimate is of.
        target: the chip that it is for.
        value: estimated time of the original over that of the text.
        error: factor within which the model does not tell two texts apart.
        original_us, candidate_us: low, usual and high end in microseconds.
        bottlenecks: the busiest engine of the original, and of the text.
    """

    case: str
    target: str
    value: float
    error: float
    original_us: tuple[float, float, float]
    candidate_us: tuple[float, float, float]
    bottlenecks: tuple[str, str]


@dataclass(frozen=True)
class Edit:
    """One edit on the way from the original to the verified text.

    Attributes:
        proposer: "rewrite:NAME", "tuner:NAME" or "model:NAME".
        rationale: of the proposer, on one line; what a model writes here is not verified.
    """

    stage: str
    proposer: str
    rationale: str


@dataclass(frozen=True, kw_only=True)
class CertificateFile:
    """How far a text was verified, where, with what, and what was not.

    Attributes:
        hash: of everything else in the file: shows an accidental change, and is no signature.
        summary: the level with its figures in one sentence.
        seeds: of the inputs; enough to make those of the spec's own cases again.
        edits: that an optimization kept, in their order; empty for a text of another origin.
        honesty: what was watched while the candidate ran, in words.
        unverified: what this certificate does not say, in sentences.
    """

    version: Literal[1]
    hash: str
    level: Literal["compiled", "correct", "faster"]
    summary: str
    device: DeviceFacts
    target: str | None = None
    created: str
    tilewright: str
    toolchain: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    speed: tuple[SpeedFigures, ...] = ()
    checks: tuple[CheckFigures, ...] = ()
    compiled: tuple[CompiledFigures, ...] = ()
    isolation: Isolation | None = None
    honesty: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    problem: ProblemFacts
    subject: Subject
    original: Original
    edits: tuple[Edit, ...] = ()
    estimate: EstimateFigures | None = None

    @property
    def slowest(self) -> SpeedFigures | None:
        """The case with the least gain, which is the one that counts."""
        return min(self.speed, key=lambda one: one.low, default=None)
