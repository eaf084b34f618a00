"""Patterns of an issue, each with what is known of its preconditions in one kernel."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import tilewright.analysis.preconditions.nki as nki
import tilewright.analysis.preconditions.text as text
import tilewright.analysis.preconditions.tiles as tiles
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.preconditions.model import Answer, Question, Subject
from tilewright.knowledge.base import patterns_of
from tilewright.knowledge.model import AppliesTo
from tilewright.knowledge.patterns import Pattern, Precondition
from tilewright.source.model import Kernel, Module

CHECKS: Mapping[str, Question] = MappingProxyType(
    {
        question.__name__: question
        for question in (
            text.calls,
            text.calls_in_loop,
            text.calls_none,
            text.has_loop,
            text.is_tuned,
            text.not_tuned,
            text.launched_here,
            text.option_unstated,
            text.state_argument,
            text.captured,
            text.program_axes,
            text.warps_at_most,
            text.package,
            tiles.tile_elements,
            tiles.operand_bits,
            tiles.rows_contiguous,
            tiles.rows_aligned,
            tiles.outputs_distinct,
            tiles.loop_without_writes,
            nki.nki_complete,
            nki.nki_side,
            nki.nki_dtype,
            nki.nki_memory,
        )
    }
)
"""What answers each precondition, by its name."""


@dataclass(frozen=True)
class Verdict:
    """A precondition, whether it holds (None: not known), and why."""

    statement: str
    holds: bool | None
    reason: str


@dataclass(frozen=True)
class Applicable:
    """A pattern whose preconditions were asked of one kernel."""

    pattern: Pattern
    verdicts: tuple[Verdict, ...]

    @property
    def holds(self) -> bool | None:
        """Whether all preconditions hold; None where some are not known and none fails."""
        answers = [verdict.holds for verdict in self.verdicts]
        if False in answers:
            return False
        return None if None in answers else True


def patterns_for(
    issue: str, module: Module, kernel: Kernel, context: AnalysisContext
) -> tuple[Applicable, ...]:
    """The patterns that answer an issue and are not excluded for this kernel.

    Those whose preconditions all hold stand first.
    """
    found = [
        judged(pattern, module, kernel, context)
        for pattern in patterns_of(issue)
        if kernel.language.value in pattern.applies_to.languages
    ]
    left = [each for each in found if each.holds is not False]
    return tuple(sorted(left, key=lambda each: each.holds is None))


def judged(
    pattern: Pattern, module: Module, kernel: Kernel, context: AnalysisContext
) -> Applicable:
    """One pattern with what is known of its preconditions in one kernel."""
    where = _where(pattern.applies_to, context)
    asked = (check(each, module, kernel, context) for each in pattern.preconditions)
    first = Verdict("the target is one it is for", where.holds, where.reason)
    return Applicable(pattern, (first, *asked))


def check(
    precondition: Precondition, module: Module, kernel: Kernel, context: AnalysisContext
) -> Verdict:
    """What is known of one precondition in one kernel."""
    subject = Subject(module, kernel, context)
    answer = CHECKS[precondition.name](subject, precondition.parameters)
    return Verdict(precondition.statement, answer.holds, answer.reason)


def _where(where: AppliesTo, context: AnalysisContext) -> Answer:
    """Whether the chosen chip and the installed Triton are covered."""
    if "triton" not in where.languages:
        return Answer(True, "NKI kernels run on AWS Neuron")
    if context.target is not None and not where.covers_target(str(context.target)):
        return Answer(False, f"{context.target} is not covered")
    version = context.triton_version
    if version is not None and not where.covers_triton(version):
        return Answer(False, f"Triton {version[0]}.{version[1]} is not covered")
    if context.target is None and not where.every_target:
        return Answer(None, "no target is chosen")
    if version is None and where.triton != "any":
        return Answer(None, "the version of Triton is not known")
    return Answer(True, f"{context.target or 'every target'} is covered")
