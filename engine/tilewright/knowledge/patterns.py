"""Patterns: one transformation each, with what must hold before it may be made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from tilewright.knowledge.model import UNMEASURED, AppliesTo, Example, Parameter
from tilewright.knowledge.stages import Stage

_STRICT = ConfigDict(extra="forbid")
_Text = Annotated[str, Field(min_length=1)]
_Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
PreconditionName = Literal[
    "calls",
    "calls_in_loop",
    "calls_none",
    "has_loop",
    "is_tuned",
    "not_tuned",
    "launched_here",
    "option_unstated",
    "state_argument",
    "captured",
    "program_axes",
    "warps_at_most",
    "tile_elements",
    "operand_bits",
    "rows_contiguous",
    "rows_aligned",
    "outputs_distinct",
    "loop_without_writes",
    "package",
    "nki_complete",
    "nki_side",
    "nki_dtype",
    "nki_memory",
]
STATEMENTS: Mapping[str, str] = {
    "calls": "the kernel calls {calls}",
    "calls_in_loop": "the kernel calls {calls} in a loop",
    "calls_none": "the kernel does not call {calls}",
    "has_loop": "the kernel has a loop that is not unrolled",
    "is_tuned": "the kernel is tuned by triton.autotune",
    "not_tuned": "the kernel is not tuned yet",
    "launched_here": "this file has every launch of the kernel, with all its arguments",
    "option_unstated": "no launch and no configuration states {option}",
    "state_argument": "a launch passes an attribute of self, such as a weight",
    "captured": "the shapes of the problem are known from a captured launch",
    "program_axes": "the kernel asks for the program ids of {axes} grid axes",
    "warps_at_most": "no launch and no configuration has more than {maximum} warps",
    "tile_elements": "the largest tile has from {least} to {most} elements",
    "operand_bits": "the operands of tl.dot have {bits} bits",
    "rows_contiguous": "the last axis of every two-dimensional tile has stride 1",
    "rows_aligned": "the rows of every captured matrix lie a multiple of {bytes} bytes apart",
    "outputs_distinct": "the memory written is not the memory read",
    "loop_without_writes": "no loop that loads also stores",
    "package": "the file imports the {package} package",
    "nki_complete": "the kernel calls nothing whose effects on tensors are unknown",
    "nki_side": "some {operand} of {call} has from {least} to {most} elements along axis {axis}",
    "nki_dtype": "some {operand} of {call} has one of the types {dtypes}",
    "nki_memory": "some {operand} of {call} is in {memory}",
}
"""What each precondition states; the words in braces are its parameters."""

_ALIASES = {"triton.language.": "tl.", "nki.language.": "nl.", "nki.isa.": "nisa."}


@dataclass(frozen=True)
class Precondition:
    """A named question about a kernel, with its parameters; ``STATEMENTS`` says what it asks.

    ``tilewright.analysis.preconditions`` answers it: it holds, it does not, or it is not known.
    """

    __pydantic_config__ = _STRICT

    name: PreconditionName
    parameters: Mapping[str, Parameter] = field(default_factory=dict)

    @property
    def statement(self) -> str:
        """What must hold, in words."""
        return STATEMENTS[self.name].format_map({k: _shown(v) for k, v in self.parameters.items()})


def _shown(value: Parameter) -> str:
    items = [_short(str(item)) for item in (value if isinstance(value, tuple) else (value,))]
    return " or ".join(filter(None, (", ".join(items[:-1]), items[-1])))


def _short(name: str) -> str:
    """A dotted name as kernels write it: ``tl.dot``."""
    for long, short in _ALIASES.items():
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name


@dataclass(frozen=True)
class Pattern:
    """A transformation of a kernel or of what launches it.

    Attributes:
        issues: ids of the issues that it answers.
        do: what to change.
        preconditions: what a machine can check; where one does not hold, it is not to be done.
        judge: what only a person or a measurement can tell; None where nothing is left.
        numerics: what it may do to results; "corrects" where they were wrong before.
        gain, gain_source: as of an issue: measured, or "unmeasured".
        claim: what others say it brings, and who; not measured here.
        example: the lines that change; whole kernels in it compile.
    """

    __pydantic_config__ = _STRICT

    id: _Identifier
    stage: Stage
    title: _Text
    issues: Annotated[tuple[_Identifier, ...], Field(min_length=1)]
    do: _Text
    preconditions: Annotated[tuple[Precondition, ...], Field(min_length=1)]
    numerics: Literal["exact", "reassociating", "precision_reducing", "corrects"]
    example: Example
    judge: _Text | None = None
    gain: _Text = UNMEASURED
    gain_source: str | None = None
    claim: _Text | None = None
    applies_to: AppliesTo = field(default_factory=AppliesTo)
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class PatternFile:
    """One file of ``knowledge/patterns``."""

    __pydantic_config__ = _STRICT

    patterns: tuple[Pattern, ...]
