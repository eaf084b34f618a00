"""The second step: may the candidate change what it changes?

A candidate may rewrite kernels, their configurations and their launches, and host code as far as
launching needs it (``tilewright.evaluation.rules``). This is a filter that explains; what really
ran is established by the later steps.
"""

from collections.abc import Collection

from tilewright.evaluation.certain import certain_faults
from tilewright.evaluation.constraints import constraint_violations
from tilewright.evaluation.model import StepName, StepResult, StepStatus
from tilewright.evaluation.rules import held_against
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
