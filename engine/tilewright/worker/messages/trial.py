"""A trial of a candidate, and what it found."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from .envelope import Job
from .nki import InstructionRecord
from .parts import Case, Entry, Plan


class Check(TypedDict):
    """A comparison: of a case with inputs of a seed and a family, in a layout and an order of
    programs. ``simpler``: what may be asked in its place where the original does not stand it;
    ``record``: list the instructions of NKI kernels."""

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
    launching: NotRequired[dict[str, Plan]]


class Reference(TypedDict):
    """What results are compared with, beside the original's."""

    module: str
    entry: Entry


class RunnerPart(TypedDict):
    """What all runners of a trial have in common."""

    device: str
    entry: Entry


class InterpreterPass(TypedDict):
    """What is called once more in the interpreter, for its accesses of memory alone."""

    performer: RunnerPart
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
    failed: dict[str, Any]
    wrong: str | None
    faults: list[str]
    noise: float | None
    survey: dict[str, Any]
    blocks: list[list[float]]
    host_us: dict[str, float]
    host_bound: dict[str, bool]
    candidate_us: float
    not_refreshed: list[str]
    checked: int


class Found(TypedDict, total=False):
    """What a trial found.

    Only ``fault`` speaks against the candidate; ``checks`` and ``watched`` have a record of each
    check. A trial whose status is not ok says nothing of it: error (the original, its inputs or its
    reference failed), out_of_memory (no room to compare), timeout, crashed, fault (the harness).
    """

    fault: str | None
    checks: list[dict[str, Any]]
    prepared: dict[str, Any] | None
    watched: list[dict[str, Any]]
    repetition: dict[str, Any]
    honesty: dict[str, dict[str, Any]]
    own_rule: dict[str, Any]
    instructions: dict[str, list[InstructionRecord]]
    timing: list[Contest]
    permitted: list[str]
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
    performer: RunnerPart
    compiled_cases: list[dict[str, Case]]
    allow: list[str]
    checks: list[Check]
    thorough: bool
    each_config: NotRequired[Check | None]
    timing: NotRequired[TrialTiming]
    watched: NotRequired[InterpreterPass]
    own_rule: NotRequired[OwnRule]
