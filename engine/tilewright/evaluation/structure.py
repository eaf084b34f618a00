"""The second step: may the candidate change what it changes?

A candidate may rewrite kernels, their configurations and their launches, and host code as far as
launching needs it (``tilewright.evaluation.rules``). This is a filter that explains; what really
ran is established by the later steps.
"""

from collections import Counter
from collections.abc import Collection, Iterator

from tilewright.analysis import Issue, analyze
from tilewright.evaluation.constraints import constraint_violations
from tilewright.evaluation.model import StepName, StepResult, StepStatus
from tilewright.evaluation.rules import held_against
from tilewright.knowledge import taxonomy
from tilewright.problems.model import Entry
from tilewright.source.model import Module
from tilewright.targets.model import Target


def check_structure(
    original: Module,
    candidate: Module,
    entry: Entry | None,
    target: Target | None,
    triton_version: tuple[int, int] | None = None,
    allow: Collection[str] = (),
) -> StepResult:
    """Compare the candidate's structure with the original's; every violation is named.

    ``data["evidence_needed"]`` lists what only running the candidate can settle, and
    ``data["permitted"]`` what it does by leave of the project's ``allow``.
    """
    if candidate.text == original.text:
        return StepResult(StepName.STRUCTURE, StepStatus.PASSED)
    verdict = held_against(original, candidate, entry, allow)
    faults = (
        *verdict.faults,
        *constraint_violations(original, candidate, target, triton_version),
        *certain_faults(original, candidate),
    )
    told = {"evidence_needed": list(verdict.questions), "permitted": list(verdict.permitted)}
    data = {name: texts for name, texts in told.items() if texts}
    status = StepStatus.FAILED if faults else StepStatus.PASSED
    return StepResult(StepName.STRUCTURE, status, "; ".join(faults), data=data)


def certain_faults(original: Module, candidate: Module) -> tuple[str, ...]:
    """Each new one with its line. Comments that suppress it in the candidate change nothing."""
    before = Counter(issue.id for issue in _certain(original))
    after = tuple(_certain(candidate))
    counts = Counter(issue.id for issue in after)
    return tuple(
        f"line {issue.range.line}: {issue.message} ({issue.id}; the original has no such "
        f"fault, see `tilewright explain {issue.id}`)"
        for issue in after
        if counts[issue.id] > before[issue.id]
    )


def _certain(module: Module) -> Iterator[Issue]:
    types = taxonomy()
    return (one for one in analyze(module, suppressed=True) if types[one.id].certain)
