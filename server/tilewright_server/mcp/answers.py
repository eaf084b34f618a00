"""Results of the tools: what a client gets as structured content, with a schema each.

The verdict comes first, then the evidence with its numbers, then what was not verified.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """What every result begins with."""

    model_config = ConfigDict(frozen=True)

    verdict: Annotated[str, Field(description="The result in one sentence.")]
    notes: list[str] = []


class Found(BaseModel):
    """An issue in a kernel."""

    id: str
    severity: Annotated[int, Field(description="1 hint ... 5 wrong result or failure.")]
    stage: str
    kernel: str | None
    path: str
    line: Annotated[int, Field(description="From 1.")]
    message: str
    gain: Annotated[str | None, Field(description="Measured gain of the fix elsewhere.")] = None


class CheckAnswer(Answer):
    """Result of ``check``."""

    issues: list[Found]
    left_out: Annotated[int, Field(description="Issues beyond those listed.")] = 0
    unreadable: Annotated[list[str], Field(description="What could not be checked, and why.")] = []


class Listed(BaseModel):
    """An issue type in the list of all."""

    id: str
    title: str
    stage: str
    severity: int


class ExplainAnswer(Answer):
    """Result of ``explain``: one page, or the list of issues."""

    page: Annotated[str | None, Field(description="Markdown.")] = None
    issues: list[Listed] = []


class Compiled(BaseModel):
    """A kernel compiled for one chip."""

    target: str
    compiles: bool
    registers: int | None
    spill_bytes: int | None
    shared_bytes: int | None
    estimated_us: Annotated[float | None, Field(description="An estimate, not a measurement.")]
    bound: Annotated[str | None, Field(description="What limits the estimate.")]
    toolchain: str
    messages: list[str]


class CompiledKernel(BaseModel):
    """A kernel with its compilations."""

    kernel: str
    line: int
    launches: Annotated[str, Field(description="Where shapes and types come from.")]
    targets: list[Compiled]
    issues: list[str]
    notes: list[str]


class CompileAnswer(Answer):
    """Result of ``compile``."""

    kernels: list[CompiledKernel]


class Step(BaseModel):
    """One step of the cascade."""

    step: str
    status: Annotated[str, Field(description="passed, failed, skipped or error.")]
    message: str = ""


class Speedup(BaseModel):
    """A ratio of times with its interval."""

    value: float
    low: float
    high: float
    original_us: float
    candidate_us: float
    device: str
    case: str


class Comparison(BaseModel):
    """Comparisons of results on one case, in numbers."""

    case: str
    count: int
    oracle: str
    max_abs_error: float | None = None
    rtol: float | None = None
    atol: float | None = None
    wrong: Annotated[float | None, Field(description="Elements that differ.")] = None


class VerifyAnswer(Answer):
    """Result of ``verify``."""

    accepted: Annotated[
        bool | None,
        Field(description="None: not judged, for a reason that is not the candidate's."),
    ]
    level: Annotated[str, Field(description="rejected, parsed, compiled, correct or faster.")]
    required: str
    failed: Annotated[Step | None, Field(description="The step that prevented acceptance.")]
    speedup: Speedup | None
    steps: list[Step]
    comparisons: list[Comparison]
    device: str | None
    target: str | None
    isolation: str | None
    not_verified: list[str]
    evidence: Annotated[str, Field(description="Id for the tool `evidence`.")]


class Measured(BaseModel):
    """A measured time."""

    median_us: float
    low_us: float
    high_us: float
    device: str
    case: str


class ProfiledKernel(BaseModel):
    """What is known of a kernel after it was compiled, checked and timed."""

    kernel: str
    line: int
    correct: Annotated[bool | None, Field(description="None: not judged.")]
    why: str | None
    time: Annotated[Measured | None, Field(description="None: not measured.")]
    bottleneck: str | None
    findings: list[str]
    notes: list[str]


class ProfileAnswer(Answer):
    """Result of ``profile``."""

    device: str | None
    kernels: list[ProfiledKernel]
    call: Annotated[list[str], Field(description="Findings on the whole call.")] = []


class Tried(BaseModel):
    """One candidate of an optimization."""

    number: int
    stage: str
    proposer: str
    rationale: str
    level: str
    kept: bool
    reason: str
    speedup: float | None


class OptimizeAnswer(Answer):
    """Result of ``optimize``; no file is written."""

    changed: bool
    level: str | None
    speedup: Speedup | None
    diff: Annotated[str, Field(description="Unified diff of the verified edit.")]
    diff_complete: bool
    trials: list[Tried]
    remaining: Annotated[list[str], Field(description="Issues that are still there.")]
    device: str | None
    target: str | None
    not_verified: list[str]
    evidence: Annotated[str | None, Field(description="Id for the tool `evidence`.")]


class Certified(BaseModel):
    """A kernel and its certificate."""

    kernel: str
    path: str
    line: int
    status: Annotated[str, Field(description="current, stale or none.")]
    level: str | None
    summary: str | None
    certificate: str | None
    changes: list[str]


class EvidenceAnswer(Answer):
    """Result of ``evidence``: one candidate's certificate, or those of a file's kernels."""

    kernels: list[Certified] = []
    certificate: Annotated[
        dict[str, Any] | None,
        Field(description="Steps, checks with errors and tolerances, seeds, versions, isolation."),
    ] = None
    repeated: Annotated[
        str | None,
        Field(description="With `repeat`: holds, verified elsewhere, fails, stale or cannot."),
    ] = None
