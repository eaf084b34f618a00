"""A trial of a candidate, and what it found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, Required, TypedDict, final

from .envelope import Job
from .nki import InstructionRecord
from .parts import Case, Confinement, Entries, Entry, Plan


class _Asked(TypedDict):
    name: str
    case: Case
    seed: int
    values: str
    layout: str
    order: str
    repeats: int
    launch_options: dict[str, Any]
    training: bool
    gradients: str
    required: bool
    simpler: list[Check]
    config_index: NotRequired[int]
    weights: NotRequired[int]
    record: NotRequired[bool]
    exact_seed: NotRequired[int]
    launching: NotRequired[dict[str, Plan]]


@final
class Check(_Asked):
    """A comparison: of a case with inputs of a seed and a family, in a layout and an order of
    programs. ``simpler``: what may be asked in its place where the original does not stand it;
    ``record``: list the instructions of NKI kernels; ``exact_seed``: in place of the seed and the
    trial's."""


class More(TypedDict, total=False):
    """What a runner gets with a check: to ``do`` what, on ``inputs`` and ``state`` that
    are lent.

    ``number``: of the call; ``observe``: what it does is noted; ``keep_state``: its weights are
    asked for; ``nudges``: seeds of inputs off by an ulp; ``shadow_dtype``: types to compute in by
    the types of inputs; ``skip_launches``: launches do nothing; ``fill``: what takes the place of
    what is not finite, in ``filled_input`` alone where that is named; ``second``, ``calls``,
    ``limit_s``, ``watched``: of calls in a row; ``twice``, ``baseline``, ``plan``, ``turn``: of a
    contest; ``tried``: the configuration is tried first.
    """

    do: str
    inputs: Entries
    state: Entries | None
    number: int
    observe: bool
    keep_state: bool
    nudges: list[int]
    shadow_dtype: dict[str, str] | None
    guard: bool
    poison: bool
    contiguous: bool
    skip_launches: bool
    fill: float
    filled_input: str | None
    second: Entries
    calls: int
    limit_s: float
    watched: list[int]
    twice: bool
    baseline: str
    plan: dict[str, str]
    turn: int
    tried: bool


class Message(_Asked, More, total=False):
    """A check as a runner is asked it."""


class Reached(TypedDict):
    """The inputs that launches read or stored into, by which lines."""

    inputs: list[str]
    lines: list[str]
    changes: NotRequired[bool]


class Unwritten(TypedDict):
    """What was loaded before it was written; ``name`` is None unless it came back."""

    name: str | None
    text: str
    elements: int
    lines: list[str]


class Interpreted(TypedDict, total=False):
    """How launches were computed (``interpreter.batched_launch.Tally``)."""

    programs: int
    steps: int
    alone: dict[str, str]


class LaunchSeen(TypedDict):
    """Launches of a kernel; ``programs`` are those of the largest."""

    count: int
    programs: int
    file: str
    line: NotRequired[int]


class OperatorSeen(TypedDict):
    """Calls of an operator; ``bytes`` are those of the largest, ``where`` the first place."""

    calls: int
    bytes: int
    where: str


class Facts(TypedDict, total=False):
    """What a version was seen doing (``tamper.merged`` says what the fields are)."""

    launches: dict[str, LaunchSeen]
    aside: int
    operators: dict[str, OperatorSeen]
    made: dict[str, str]
    events: dict[str, str]
    settings: list[str]
    replaced: list[str]
    threads: int
    native_threads: int
    kept: dict[str, int]
    state: list[str]
    unseen: list[str]
    shared: list[str]
    packed: dict[str, int]
    unpacked: list[str]
    steady: list[str]
    skipped_same: float


class KernelFault(TypedDict):
    """What an NKI kernel does wrong though it ran to its end."""

    kind: str
    severity: str
    message: str
    line: int


class Called(TypedDict, total=False):
    """What a runner says of a call; ``nudged`` are the same of inputs off by an ulp.

    ``out_of_bounds`` and ``races`` are sentences, with their lines parallel.
    """

    outputs: Entries
    changed_inputs: Entries
    output_tree: dict[str, Any]
    inputs_changed: list[str]
    state: Entries
    facts: Facts | None
    configs: dict[str, int]
    caveats: list[str]
    seconds: float
    launches: dict[str, int]
    interpreted: Interpreted
    out_of_bounds: list[str]
    out_of_bounds_lines: list[list[str]]
    races: list[str]
    races_lines: list[list[str]]
    unwritten: list[Unwritten]
    stored_inputs: list[Reached]
    loaded_inputs: list[Reached]
    instructions: list[InstructionRecord]
    kernel_faults: list[KernelFault]
    nudged: list[Called]


class Repeated(TypedDict):
    """What a runner says of calls in a row: results of the first two, and of one in new memory."""

    first: Entries
    second: Entries
    third: Entries
    calls: int
    facts: Facts


class Prepared(TypedDict, total=False):
    """What a runner says once its file is imported; ``reached``: when it had got how far."""

    seconds: float
    facts: Facts | None
    confinement: Confinement | None
    reached: dict[str, float]


class Record(TypedDict, total=False):
    """A check that was begun, with what there is to say of it; ``skipped``: why it was not made.

    Without them ``values``, ``layout`` and ``order`` were the usual ones. ``compare.comparison``
    says what the figures are.
    """

    name: str
    case: str
    seed: int
    config: int
    oracle: str
    rtol: float
    atol: float
    values: str
    layout: str
    order: str
    repeats: int
    training: bool
    gradients: bool
    note: str
    fault: str
    skipped: str
    caveats: list[str]


@final
class Reference(TypedDict):
    """What results are compared with, in addition to the original's."""

    module: str
    entry: Entry


class _RunnerPart(TypedDict):
    device: str
    entry: Entry


@final
class RunnerPart(_RunnerPart):
    """What all runners of a trial have in common."""


class Cached(TypedDict, total=False):
    """Folders that are Triton's caches: one to write into, and others."""

    cache: str
    caches: list[str]


class RunnerJob(_RunnerPart, Cached, total=False):
    """One version of a file for a runner: ``baseline`` is the file it is timed against; it
    ``compiles`` alone, with so many ``processes``, or is not
    ``observe``d."""

    module: Required[str]
    allow: Sequence[str]
    baseline: str
    compiles: bool
    processes: int
    observe: bool


class InterpreterPass(TypedDict):
    """What is called once more in the interpreter, for its accesses of memory alone."""

    runner: RunnerPart
    checks: list[Check]


class TimedCase(TypedDict):
    """A case to time, with the noise floors that are known."""

    check: Check
    budget_s: float
    noise: dict[str, Any]


class TrialTiming(TypedDict):
    """What is timed, against the file ``baseline``."""

    baseline: str
    cases: list[TimedCase]


class Contest(TypedDict, total=False):
    """What timing a case found (``timing.controller``); ``blocks`` has microseconds of both."""

    case: str
    failed: dict[str, str] | None
    wrong: str | None
    faults: list[str]
    noise: float | None
    survey: dict[str, Any]
    blocks: list[list[float]]
    host_us: dict[str, float]
    host_bound: dict[str, bool]
    candidate_us: float
    verdict: str | None
    low: float | None
    not_refreshed: list[str]
    checked: int


class Found(TypedDict, total=False):
    """What a trial found.

    Only ``fault`` speaks against the candidate; ``checks`` and ``watched`` have a record of each
    check. A trial whose status is not ok says nothing of it: error (the original, its inputs or its
    reference failed), out_of_memory (no room to compare), timeout, crashed, fault (the harness).
    """

    fault: str | None
    checks: list[Record]
    prepared: Prepared | None
    watched: list[Record]
    repetition: dict[str, int | str] | None
    skipped_same: dict[str, float] | None
    honesty: dict[str, Facts]
    own_rule: dict[str, Any]
    instructions: dict[str, list[InstructionRecord]]
    timing: list[Contest]
    permitted: list[str]
    unjudged: str
    left_out: list[str]
    interpreted: Interpreted
    spent_s: dict[str, float]
    checked_s: float
    waited_s: float
    heard_s: float


class OwnRule(TypedDict):
    """The verdict of a benchmark itself: seeds of numpy, most of an output's relative error."""

    name: str
    tolerance: float
    seeds: list[int]


class TrialJob(Job[Found]):
    """Compare a candidate with its original and time it; ``each_config``: a check to make for each
    configuration of what is autotuned; ``thorough``: make every check, even of what is slower."""

    kind: Literal["trial"]
    original: str
    candidate: str
    inputs_from: str
    reference: Reference | None
    entry: Entry
    seed: int
    runner: RunnerPart
    compiled_cases: list[dict[str, Case]]
    allow: list[str]
    checks: list[Check]
    thorough: bool
    each_config: NotRequired[Check | None]
    timing: NotRequired[TrialTiming]
    watched: NotRequired[InterpreterPass]
    own_rule: NotRequired[OwnRule]
