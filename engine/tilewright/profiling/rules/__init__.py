"""One function a kind of finding: what was observed in, findings out."""

from collections.abc import Callable, Iterator, Sequence

from tilewright.profiling.model import Finding
from tilewright.profiling.observed import Observed
from tilewright.profiling.rules import arithmetic, memory, programs, roof, whole

Rule = Callable[[Observed], Iterator[Finding]]

RULES: Sequence[Rule] = (
    roof.reached,
    roof.estimated,
    roof.disagreement,
    memory.traffic,
    memory.asked_again,
    memory.narrow,
    memory.scattered,
    memory.spills,
    memory.conflicts,
    arithmetic.no_tensor_unit,
    arithmetic.widened,
    arithmetic.tensor_idle,
    programs.stalls,
    programs.hot_line,
    programs.occupancy,
    programs.few,
    whole.host_bound,
    whole.shares,
)
MOST = 6
"""Sentences that a person is shown."""


def findings_of(seen: Observed) -> tuple[Finding, ...]:
    """What is worth saying, the heaviest first."""
    found = [finding for rule in RULES for finding in rule(seen)]
    return tuple(sorted(found, key=lambda finding: -finding.weight)[:MOST])
