"""What the knowledge base holds: issue types and constraints, as their YAML states them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from tilewright.knowledge.stages import Stage

UNMEASURED = "unmeasured"
VERSIONS = r"^(any|(<|<=|>|>=|==)\d+\.\d+(,(<|<=|>|>=|==)\d+\.\d+)*)$"
_STRICT = ConfigDict(extra="forbid")
_Text = Annotated[str, Field(min_length=1)]
HINT, ADVICE, POSSIBLE, WRONG_RESULT = 1, 2, 3, 5
"""The greatest severities of what helps a little, of what helps, and of what may be excluded
elsewhere; that of what goes wrong."""
_Severity = Annotated[int, Field(ge=1, le=5)]
_Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Language = Literal["triton", "nki"]
Backend = Literal["cuda", "hip", "xpu", "neuron"]
CheckName = Literal[
    "option_power_of_two",
    "option_maximum",
    "option_maximum_when",
    "option_values",
    "option_forbidden",
    "tile_power_of_two",
    "tile_maximum_elements",
    "dot_minimum",
    "call_forbidden",
    "keyword_forbidden",
    "launch_repeats_tuned",
]
Parameter = int | str | tuple[int | str, ...] | Mapping[str, int]


@dataclass(frozen=True)
class AppliesTo:
    """Where an entry holds.

    Attributes:
        languages, backends: of the kernel and of the target.
        archs: patterns of the target's architecture, as in file names: "gfx9*".
        triton: "any", or bounds on the version: ">=3.8", ">=3.6,<3.8".
    """

    __pydantic_config__ = _STRICT

    languages: tuple[Language, ...] = ("triton",)
    backends: tuple[Backend, ...] = ("cuda", "hip", "xpu")
    archs: tuple[str, ...] = ("*",)
    triton: Annotated[str, Field(pattern=VERSIONS)] = "any"

    @property
    def every_target(self) -> bool:
        """Whether no target is left out."""
        return set(self.backends) == {"cuda", "hip", "xpu"} and "*" in self.archs

    def covers_target(self, target: str) -> bool:
        """Whether it holds for a target such as "cuda:90"."""
        backend, _, arch = target.partition(":")
        return backend in self.backends and any(fnmatchcase(arch, p) for p in self.archs)

    def covers_triton(self, version: tuple[int, int]) -> bool:
        """Whether it holds for a (major, minor) of Triton."""
        return self.triton == "any" or all(
            _satisfies(version, bound) for bound in self.triton.split(",")
        )


def _satisfies(version: tuple[int, int], bound: str) -> bool:
    match = re.fullmatch(r"(<=|>=|==|<|>)(\d+)\.(\d+)", bound)
    if match is None:
        return False
    other = (int(match[2]), int(match[3]))
    answers = {
        "<": version < other,
        "<=": version <= other,
        ">": version > other,
        ">=": version >= other,
        "==": version == other,
    }
    return answers[match[1]]


@dataclass(frozen=True)
class Example:
    """The same few lines with the issue and without it."""

    __pydantic_config__ = _STRICT

    before: _Text
    after: _Text


@dataclass(frozen=True)
class IssueType:
    """One kind of issue.

    Attributes:
        severity: 1 (hint) to 5 (wrong result).
        summary: one sentence, shown in the editor.
        why: the fact about hardware or language that makes it an issue.
        gain: what fixing it brought where it was measured; "unmeasured" otherwise.
        gain_source: who measured, where; None with "unmeasured".
        numerics: what the fix may do to results; "corrects" where they were wrong before.
        unless: when it does not apply although it looks alike; shown to the person.
        detector: whether the instant tier finds it.
        tier: what it takes to find it: the text, or what compilers make of it.
        certain: whether a report is proof enough to refuse a candidate that has it and whose
            original has not.
        some_calls: whether some calls have it and others exclude it: advice where no captured
            launch shows the sizes that decide.
    """

    __pydantic_config__ = _STRICT

    id: _Identifier
    stage: Stage
    severity: _Severity
    title: _Text
    summary: _Text
    why: _Text
    fix: _Text
    numerics: Literal["exact", "reassociating", "precision_reducing", "corrects"]
    gain: _Text = UNMEASURED
    gain_source: str | None = None
    applies_to: AppliesTo = field(default_factory=AppliesTo)
    references: tuple[str, ...] = ()
    example: Example | None = None
    unless: _Text | None = None
    detector: bool = False
    tier: Literal["source", "compiled"] = "source"
    certain: bool = False
    some_calls: bool = False

    @property
    def is_fault(self) -> bool:
        """Whether it says that a kernel is wrong or fails, and not only that it is slow."""
        return self.stage is Stage.CORRECTNESS or self.severity == WRONG_RESULT


@dataclass(frozen=True)
class Check:
    """A named check and its parameters. What each name means:

    - ``option_power_of_two {option}``: a compiler option is a power of two.
    - ``option_maximum {option, maximum}``: it is at most ``maximum``.
    - ``option_maximum_when {option, maximum, when, values}``: the same, where the option ``when``
      has one of ``values``.
    - ``option_values {option, values}``: it is one of ``values`` (compared as text).
    - ``option_forbidden {option}``: it may not be given at all.
    - ``tile_power_of_two {}``: extents of ``arange``, ``zeros`` and ``full`` are powers of two.
    - ``tile_maximum_elements {maximum}``: a tensor has no more elements.
    - ``dot_minimum {m, n, k}``: least extents of ``tl.dot``; ``k`` maps bits of an element to it.
    - ``call_forbidden {calls}``: none of these dotted names is called.
    - ``keyword_forbidden {call, keyword}``: that call does not pass that keyword.
    - ``launch_repeats_tuned {}``: a launch passes no keyword that the autotuner sets.
    """

    __pydantic_config__ = _STRICT

    name: CheckName
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


@dataclass(frozen=True)
class Constraint:
    """A rule that a candidate must keep; ``statement`` says it for a person."""

    __pydantic_config__ = _STRICT

    id: _Identifier
    severity: Literal["error", "warning"]
    statement: _Text
    check: Check
    applies_to: AppliesTo = field(default_factory=AppliesTo)
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaxonomyFile:
    """One file of ``knowledge/taxonomy``."""

    __pydantic_config__ = _STRICT

    issues: tuple[IssueType, ...]


@dataclass(frozen=True)
class ConstraintFile:
    """One file of ``knowledge/constraints``."""

    __pydantic_config__ = _STRICT

    constraints: tuple[Constraint, ...]
